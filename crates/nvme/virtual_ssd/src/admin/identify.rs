//! Identify: every structure that hosts of NVM Express 1.4 and 2.0 request (Base, section 5.15;
//! Base 2.0, section 5.17).

use iolab_nvme_spec::command::{IdentifyDword10, IdentifyDword11};
use iolab_nvme_spec::identify::{
    AdminCapabilities, Cns, CommandSetVectors, ControllerList, DatasetCapabilities, IDENTIFY_BYTES, IdentifierType,
    IdentifyController, IdentifyNamespace, IdentifyZonedController, IdentifyZonedNamespace, IoCapabilities, LbaFormat,
    NamespaceList, QueueEntrySize, VolatileWriteCache,
};
use iolab_nvme_spec::le::{U16, U32, U64, U128};
use iolab_nvme_spec::opcode::CommandSet;
use iolab_nvme_spec::registers::Version;
use iolab_nvme_spec::{ALL_NAMESPACES, FromZeros, IntoBytes, Status};

use super::events::REQUEST_LIMIT;
use super::logs::ACCESS_GROUP;
use super::{ABORT_LIMIT, AdminCommand, AdminExecutor, AdminReply};
use crate::command_error::{CommandError, place};
use crate::config::FORMAT_SHIFTS;
use crate::controller_record::ERROR_LOG_ENTRIES;
use crate::io::{MOST_COPY_BLOCKS, MOST_COPY_RANGES};
use crate::namespace::Namespace;

/// Which namespaces a list contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listed {
    Active,
    Allocated,
}

/// How long hosts wait for a change of asymmetric access, at most: it takes as long as users like.
const ACCESS_TRANSITION_SECONDS: u8 = 10;

impl AdminExecutor {
    pub(super) fn identify(&mut self, command: &mut AdminCommand<'_>) -> Result<AdminReply, CommandError> {
        let dword = IdentifyDword10(command.cdw(10));
        let set = CommandSet(IdentifyDword11(command.cdw(11)).csi());
        let id = command.nsid();
        let data = match Cns(dword.cns()) {
            Cns::NAMESPACE => self.identify_namespace(id, Listed::Active)?,
            Cns::ALLOCATED_NAMESPACE => self.identify_namespace(id, Listed::Allocated)?,
            Cns::CONTROLLER => self.identify_controller().as_bytes().to_vec(),
            Cns::ACTIVE_NAMESPACES => self.namespaces_after(id, Listed::Active, None)?,
            Cns::ALLOCATED_NAMESPACES => self.namespaces_after(id, Listed::Allocated, None)?,
            Cns::COMMAND_SET_ACTIVE_NAMESPACES => self.namespaces_after(id, Listed::Active, Some(set))?,
            Cns::COMMAND_SET_ALLOCATED_NAMESPACES => self.namespaces_after(id, Listed::Allocated, Some(set))?,
            Cns::NAMESPACE_IDENTIFIERS => self.identifiers(id)?,
            Cns::COMMAND_SET_NAMESPACE => self.set_namespace(id, set, Listed::Active)?,
            Cns::COMMAND_SET_ALLOCATED_NAMESPACE => self.set_namespace(id, set, Listed::Allocated)?,
            Cns::COMMAND_SET_CONTROLLER => self.set_controller(set)?,
            Cns::INDEPENDENT_NAMESPACE => self.independent_namespace(id)?,
            Cns::NAMESPACE_CONTROLLERS => self.controllers(dword.cntid(), Some(id))?,
            Cns::SUBSYSTEM_CONTROLLERS => self.controllers(dword.cntid(), None)?,
            Cns::COMMAND_SETS => command_sets(self.subsystem.config.zones.is_some()),
            _ => return Err(CommandError::field(place::CDW10, 0)),
        };
        debug_assert_eq!(data.len(), IDENTIFY_BYTES);
        command.send(&data)?;
        Ok(AdminReply::Now(0))
    }

    /// Finds a namespace; `None` if it is not listed, so that the structure contains zeroes.
    fn listed(&self, id: u32, listed: Listed) -> Result<Option<&Namespace>, CommandError> {
        let Some(namespace) = self.subsystem.namespace(id) else {
            return Err(CommandError::permanent(Status::INVALID_NAMESPACE).at(place::NSID, 0));
        };
        Ok(self.is_listed(namespace, listed).then_some(namespace))
    }

    fn is_listed(&self, namespace: &Namespace, listed: Listed) -> bool {
        namespace.is_allocated() && (listed == Listed::Allocated || namespace.is_attached(self.record.id()))
    }

    fn identify_namespace(&self, id: u32, listed: Listed) -> Result<Vec<u8>, CommandError> {
        if id == ALL_NAMESPACES {
            // The capabilities common to all namespaces (Base, section 5.15.2.1).
            let mut common = IdentifyNamespace::new_zeroed();
            common.nlbaf = FORMAT_SHIFTS.len() as u8 - 1;
            common.lbaf = lba_formats();
            return Ok(common.as_bytes().to_vec());
        }
        let Some(namespace) = self.listed(id, listed)? else { return Ok(vec![0; IDENTIFY_BYTES]) };
        let shift = namespace.lba_shift();
        let blocks = U64::new(namespace.blocks(shift));
        let mut data = IdentifyNamespace::new_zeroed();
        data.nsze = blocks;
        data.ncap = blocks;
        data.nuse = blocks;
        data.nlbaf = FORMAT_SHIFTS.len() as u8 - 1;
        data.flbas = namespace.format_index();
        data.lbaf = lba_formats();
        data.nmic = 1;
        data.anagrpid = U32::new(if self.subsystem.config.access.is_some() { ACCESS_GROUP } else { 0 });
        data.dlfeat = DatasetCapabilities(0).with_read_behavior(1).with_write_zeroes_deallocates(true).0;
        data.nvmcap = U128::new(u128::from(namespace.bytes()));
        data.mssrl = U16::new(MOST_COPY_BLOCKS as u16);
        data.mcl = U32::new(MOST_COPY_BLOCKS as u32);
        data.msrc = MOST_COPY_RANGES as u8 - 1;
        data.nsattr = u8::from(namespace.is_write_protected());
        data.eui64 = namespace.eui64(self.subsystem.config.seed);
        data.nguid = namespace.nguid(self.subsystem.config.seed);
        Ok(data.as_bytes().to_vec())
    }

    fn identify_controller(&self) -> IdentifyController {
        let config = &self.subsystem.config;
        let mut data = IdentifyController::new_zeroed();
        padded(&mut data.sn, &config.serial);
        padded(&mut data.mn, "iolab virtual SSD");
        padded(&mut data.fr, env!("CARGO_PKG_VERSION"));
        data.rab = 6;
        // The drive may have several controllers and several ports.
        data.cmic = 0b11 | u8::from(config.access.is_some()) << 3;
        if config.access.is_some() {
            // All states are reported. There is one group, and namespaces never change their group.
            data.anacap = 0b101_1111;
            data.anatt = ACCESS_TRANSITION_SECONDS;
            data.anagrpmax = U32::new(ACCESS_GROUP);
            data.nanagrpid = U32::new(1);
        }
        data.mdts = if config.most_bytes == 0 { 0 } else { (config.most_bytes >> 12).trailing_zeros() as u8 };
        data.cntlid = U16::new(self.record.id());
        data.ver = U32::new(Version::V1_4.0);
        // Namespace attribute notices; notices of asymmetric access and of zones if there are any.
        data.oaes =
            U32::new(1 << 8 | u32::from(config.access.is_some()) << 11 | u32::from(config.zones.is_some()) << 27);
        data.cntrltype = 1;
        let admin = AdminCapabilities(0)
            .with_format(true)
            .with_namespace_management(true)
            .with_doorbell_buffer(self.front.has_memory_queues);
        data.oacs = U16::new(admin.0);
        data.acl = ABORT_LIMIT;
        data.aerl = REQUEST_LIMIT;
        // There is one read-only firmware slot.
        data.frmw = 0b11;
        // There is no health log per namespace; the effects log and extended data are supported.
        data.lpa = 0b110;
        data.elpe = ERROR_LOG_ENTRIES as u8 - 1;
        data.wctemp = U16::new(super::features::WARNING_KELVINS);
        data.cctemp = U16::new(super::features::CRITICAL_KELVINS);
        data.tnvmcap = U128::new(u128::from(config.media_bytes()));
        data.unvmcap = U128::new(u128::from(self.subsystem.unallocated_bytes()));
        data.kas = U16::new(10);
        data.sqes = QueueEntrySize(0).with_required(6).with_maximum(6).0;
        data.cqes = QueueEntrySize(0).with_required(4).with_maximum(4).0;
        data.nn = U32::new(config.namespaces);
        data.mnan = U32::new(config.namespaces);
        data.oncs = U16::new(io_capabilities().0);
        data.vwc = VolatileWriteCache(0).with_present(true).with_flush_all(3).0;
        data.nwpc = 1;
        data.ocfs = U16::new(1);
        data.sgls = U32::new(self.front.sgl.0);
        let name = format!("nqn.2014-08.org.nvmexpress:uuid:{}", self.subsystem.uuid_text());
        data.subnqn[..name.len()].copy_from_slice(name.as_bytes());
        data
    }

    fn namespaces_after(&self, id: u32, listed: Listed, set: Option<CommandSet>) -> Result<Vec<u8>, CommandError> {
        if id >= 0xffff_fffe {
            return Err(CommandError::permanent(Status::INVALID_NAMESPACE).at(place::NSID, 0));
        }
        if let Some(set) = set {
            self.check_set(set)?;
        }
        let mut list = NamespaceList::new_zeroed();
        let all = self.subsystem.namespaces.iter();
        let meant = all
            .filter(|one| one.id > id && self.is_listed(one, listed))
            .filter(|one| set.is_none_or(|set| command_set(one) == set));
        for (entry, namespace) in list.identifiers.iter_mut().zip(meant) {
            *entry = U32::new(namespace.id);
        }
        Ok(list.as_bytes().to_vec())
    }

    fn identifiers(&self, id: u32) -> Result<Vec<u8>, CommandError> {
        let namespace = self.listed(id, Listed::Active)?.ok_or(CommandError::field(place::NSID, 0))?;
        let seed = self.subsystem.config.seed;
        let mut data = Vec::with_capacity(IDENTIFY_BYTES);
        let mut add = |kind: IdentifierType, identifier: &[u8]| {
            data.extend_from_slice(&[kind.0, identifier.len() as u8, 0, 0]);
            data.extend_from_slice(identifier);
        };
        add(IdentifierType::EUI64, &namespace.eui64(seed));
        add(IdentifierType::NGUID, &namespace.nguid(seed));
        add(IdentifierType::UUID, &namespace.uuid(seed));
        add(IdentifierType::CSI, &[command_set(namespace).0]);
        data.resize(IDENTIFY_BYTES, 0);
        Ok(data)
    }

    fn check_set(&self, set: CommandSet) -> Result<(), CommandError> {
        let is_known = set == CommandSet::NVM || set == CommandSet::ZONED && self.subsystem.config.zones.is_some();
        if is_known { Ok(()) } else { Err(CommandError::field(place::CDW11 + 3, 0)) }
    }

    fn set_namespace(&self, id: u32, set: CommandSet, listed: Listed) -> Result<Vec<u8>, CommandError> {
        self.check_set(set)?;
        let Some(namespace) = self.listed(id, listed)? else { return Ok(vec![0; IDENTIFY_BYTES]) };
        if command_set(namespace) != set {
            return match set {
                // A zoned namespace is also an NVM namespace, without protection information.
                CommandSet::NVM => Ok(vec![0; IDENTIFY_BYTES]),
                _ => Err(CommandError::permanent(Status::INVALID_COMMAND_SET).at(place::CDW11 + 3, 0)),
            };
        }
        let Some(zones) = namespace.zones() else { return Ok(vec![0; IDENTIFY_BYTES]) };
        let layout = zones.layout();
        let limit = |most: u32| U32::new(most.wrapping_sub(1));
        let mut data = IdentifyZonedNamespace::new_zeroed();
        // Reads may cross zones.
        data.ozcs = U16::new(1);
        data.mar = limit(layout.max_active);
        data.mor = limit(layout.max_open);
        for (entry, shift) in data.lbafe.iter_mut().zip(FORMAT_SHIFTS) {
            entry.zsze = U64::new(layout.zone_bytes >> shift);
        }
        Ok(data.as_bytes().to_vec())
    }

    fn set_controller(&self, set: CommandSet) -> Result<Vec<u8>, CommandError> {
        self.check_set(set)?;
        // There are no limits except MDTS, in both command sets.
        Ok(IdentifyZonedController::new_zeroed().as_bytes().to_vec())
    }

    /// Fields that all command sets share (Base 2.0, section 5.17.2.8).
    fn independent_namespace(&self, id: u32) -> Result<Vec<u8>, CommandError> {
        let mut data = vec![0; IDENTIFY_BYTES];
        if let Some(namespace) = self.listed(id, Listed::Active)? {
            // NMIC: shared; NSATTR: write protected; NSTAT: ready.
            data[1] = 1;
            data[4] = u8::from(self.subsystem.config.access.is_some()) * ACCESS_GROUP as u8;
            data[13] = u8::from(namespace.is_write_protected());
            data[14] = 1;
        }
        Ok(data)
    }

    fn controllers(&self, from: u16, attached_to: Option<u32>) -> Result<Vec<u8>, CommandError> {
        let namespace = match attached_to {
            Some(id) => Some(self.listed(id, Listed::Allocated)?.ok_or(CommandError::field(place::NSID, 0))?),
            None => None,
        };
        let ids = self.subsystem.controller_ids().into_iter().filter(|id| *id >= from);
        let mut list = ControllerList::new_zeroed();
        let mut count = 0;
        let meant = ids.filter(|id| namespace.is_none_or(|namespace| namespace.is_attached(*id)));
        for (entry, id) in list.identifiers.iter_mut().zip(meant) {
            *entry = U16::new(id);
            count += 1;
        }
        list.count = U16::new(count);
        Ok(list.as_bytes().to_vec())
    }
}

/// Optional I/O commands.
pub(super) fn io_capabilities() -> IoCapabilities {
    IoCapabilities(0)
        .with_compare(true)
        .with_write_uncorrectable(true)
        .with_dataset_management(true)
        .with_write_zeroes(true)
        .with_feature_save(true)
        .with_timestamp(true)
        .with_verify(true)
        .with_copy(true)
}

fn command_set(namespace: &Namespace) -> CommandSet {
    if namespace.is_zoned() { CommandSet::ZONED } else { CommandSet::NVM }
}

fn lba_formats() -> [LbaFormat; 64] {
    let mut formats = [LbaFormat { ms: U16::ZERO, lbads: 0, rp: 0 }; 64];
    for (format, shift) in formats.iter_mut().zip(FORMAT_SHIFTS) {
        format.lbads = shift as u8;
    }
    formats
}

/// The only combination of command sets: all of them together.
fn command_sets(has_zones: bool) -> Vec<u8> {
    let mut sets = CommandSetVectors::new_zeroed();
    sets.vectors[0] = U64::new(1 << CommandSet::NVM.0 | u64::from(has_zones) << CommandSet::ZONED.0);
    sets.as_bytes().to_vec()
}

/// ASCII padded with spaces (Base, section 1.5).
fn padded(field: &mut [u8], text: &str) {
    field.fill(b' ');
    for (to, from) in field.iter_mut().zip(text.bytes()) {
        *to = from;
    }
}
