//! Format NVM, Namespace Attachment and Namespace Management (Base, sections 5.19, 5.20 and 5.23).
//!
//! Each namespace has its own part of the media, of the size chosen when the drive was created.
//! Deleting a namespace frees its part, and creating one takes the first free part that is large
//! enough.

use iolab_nvme_spec::command::{FormatDword10, NamespaceAttachmentSelect, NamespaceManagementSelect, SecureErase};
use iolab_nvme_spec::identify::{ControllerList, FormattedSize, IdentifyNamespace};
use iolab_nvme_spec::{ALL_NAMESPACES, FromBytes, FromZeros, IntoBytes, Status};

use super::{AdminCommand, AdminExecutor, AdminReply};
use crate::command_error::{CommandError, place};
use crate::config::FORMAT_SHIFTS;
use crate::controller_record::Notice;
use crate::namespace::Namespace;

const fn invalid_namespace() -> CommandError {
    CommandError::permanent(Status::INVALID_NAMESPACE).at(place::NSID, 0)
}

impl AdminExecutor {
    pub(super) fn format(&mut self, command: &mut AdminCommand<'_>) -> Result<AdminReply, CommandError> {
        let dword = FormatDword10(command.cdw(10));
        let shift = FORMAT_SHIFTS.get(usize::from(dword.lbafl()) | usize::from(dword.lbafu()) << 4);
        let invalid = CommandError::permanent(Status::INVALID_FORMAT).at(place::CDW10, 0);
        let shift = *shift.ok_or(invalid)?;
        if dword.pi() != 0 || dword.mset() {
            return Err(invalid);
        }
        if !matches!(SecureErase(dword.ses()), SecureErase::NONE | SecureErase::USER_DATA) {
            return Err(CommandError::field(place::CDW10 + 1, 1));
        }
        let ids: Vec<u32> = match command.nsid() {
            ALL_NAMESPACES => self.attached().map(|namespace| namespace.id).collect(),
            id => {
                let namespace = self.subsystem.namespace(id).ok_or(invalid_namespace())?;
                if !namespace.is_attached(self.record.id()) {
                    return Err(CommandError::field(place::NSID, 0));
                }
                vec![id]
            }
        };
        if ids.iter().filter_map(|id| self.subsystem.namespace(*id)).any(Namespace::is_write_protected) {
            return Err(CommandError::permanent(Status::NAMESPACE_WRITE_PROTECTED));
        }
        for id in &ids {
            self.format_one(*id, shift)?;
        }
        self.subsystem.forget_flash(&ids, self.now_ns);
        Ok(AdminReply::Now(0))
    }

    fn format_one(&self, id: u32, shift: u32) -> Result<(), CommandError> {
        let Some(namespace) = self.subsystem.namespace(id) else { return Ok(()) };
        let erased = self.subsystem.media.discard(namespace.base, namespace.bytes());
        erased.map_err(|_| CommandError::transient(Status::INTERNAL_ERROR))?;
        namespace.set_format(shift);
        self.subsystem.notify_others(Some(self.record.id()), Notice::NamespaceChanged { namespace: id });
        Ok(())
    }

    fn attached(&self) -> impl Iterator<Item = &Namespace> {
        self.subsystem.namespaces.iter().filter(|one| one.is_allocated() && one.is_attached(self.record.id()))
    }

    fn allocated(&self, id: u32) -> Result<&Namespace, CommandError> {
        let namespace = self.subsystem.namespace(id).ok_or(invalid_namespace())?;
        if namespace.is_allocated() { Ok(namespace) } else { Err(CommandError::field(place::NSID, 0)) }
    }

    pub(super) fn attach_namespace(&mut self, command: &mut AdminCommand<'_>) -> Result<AdminReply, CommandError> {
        let attach = match NamespaceAttachmentSelect(command.cdw(10) as u8 & 0xf) {
            NamespaceAttachmentSelect::ATTACH => true,
            NamespaceAttachmentSelect::DETACH => false,
            _ => return Err(CommandError::field(place::CDW10, 0)),
        };
        self.allocated(command.nsid())?;
        let mut list = ControllerList::new_zeroed();
        command.receive(list.as_mut_bytes())?;
        let invalid = CommandError::permanent(Status::CONTROLLER_LIST_INVALID).at(place::PRP1, 0);
        let wanted =
            list.identifiers.get(..usize::from(list.count.get())).filter(|ids| !ids.is_empty()).ok_or(invalid)?;
        let existing = self.subsystem.controller_ids();
        if wanted.iter().any(|id| !existing.contains(&id.get())) {
            return Err(invalid);
        }
        let namespace = self.allocated(command.nsid())?;
        if let Some(other) = wanted.iter().find(|id| namespace.is_attached(id.get()) == attach) {
            let status = if attach { Status::NAMESPACE_ALREADY_ATTACHED } else { Status::NAMESPACE_NOT_ATTACHED };
            return Err(CommandError::permanent(status).on_block(u64::from(other.get())));
        }
        for id in wanted {
            namespace.attach(id.get(), attach);
        }
        let notice = Notice::NamespaceChanged { namespace: namespace.id };
        self.subsystem
            .notify_some(|one| one.id() != self.record.id() && wanted.iter().any(|id| id.get() == one.id()), &notice);
        Ok(AdminReply::Now(0))
    }

    pub(super) fn manage_namespace(&mut self, command: &mut AdminCommand<'_>) -> Result<AdminReply, CommandError> {
        match NamespaceManagementSelect(command.cdw(10) as u8 & 0xf) {
            NamespaceManagementSelect::CREATE => self.create_namespace(command),
            NamespaceManagementSelect::DELETE => self.delete_namespace(command.nsid()),
            _ => Err(CommandError::field(place::CDW10, 0)),
        }
    }

    fn create_namespace(&mut self, command: &mut AdminCommand<'_>) -> Result<AdminReply, CommandError> {
        let mut data = vec![0; size_of::<IdentifyNamespace>()];
        command.receive(&mut data)?;
        let wanted = IdentifyNamespace::read_from_bytes(&data).map_err(|_| CommandError::field(place::PRP1, 0))?;
        let index = usize::from(FormattedSize(wanted.flbas).index());
        let shift =
            FORMAT_SHIFTS.get(index).ok_or(CommandError::permanent(Status::INVALID_FORMAT).at(place::PRP1, 0))?;
        if wanted.dps != 0 {
            return Err(CommandError::permanent(Status::INVALID_FORMAT).at(place::PRP1, 0));
        }
        if wanted.ncap != wanted.nsze {
            return Err(CommandError::permanent(Status::THIN_PROVISIONING_NOT_SUPPORTED).at(place::PRP1, 0));
        }
        let bytes = wanted.nsze.get().checked_mul(1 << shift).filter(|bytes| *bytes > 0);
        let bytes = bytes.ok_or(CommandError::field(place::PRP1, 0))?;
        let mut free = self.subsystem.namespaces.iter().filter(|one| !one.is_allocated()).peekable();
        if free.peek().is_none() {
            return Err(CommandError::permanent(Status::NAMESPACE_ID_UNAVAILABLE));
        }
        let chosen =
            free.find(|one| one.fits(bytes)).ok_or(CommandError::permanent(Status::NAMESPACE_INSUFFICIENT_CAPACITY))?;
        chosen.allocate(bytes, *shift);
        Ok(AdminReply::Now(chosen.id))
    }

    fn delete_namespace(&mut self, id: u32) -> Result<AdminReply, CommandError> {
        let ids: Vec<u32> = match id {
            ALL_NAMESPACES => {
                self.subsystem.namespaces.iter().filter(|one| one.is_allocated()).map(|one| one.id).collect()
            }
            id => vec![self.allocated(id)?.id],
        };
        for id in ids {
            let namespace = self.allocated(id)?;
            let attached: Vec<u16> =
                self.subsystem.controller_ids().into_iter().filter(|id| namespace.is_attached(*id)).collect();
            namespace.release();
            let erased = self.subsystem.media.discard(namespace.base, namespace.bytes());
            erased.map_err(|_| CommandError::transient(Status::INTERNAL_ERROR))?;
            self.subsystem.forget_flash(&[id], self.now_ns);
            let notice = Notice::NamespaceChanged { namespace: id };
            self.subsystem.notify_some(|one| one.id() != self.record.id() && attached.contains(&one.id()), &notice);
        }
        Ok(AdminReply::Now(0))
    }
}
