//! The admin commands that this front executes itself: creating and deleting I/O queues, Doorbell
//! Buffer Config (Base, sections 5.3 to 5.7), and Abort. Other commands are passed on.

use iolab_nvme_spec::command::{AbortDword10, CreateCqDword11, CreateSqDword11, FeatureDword10, QueueDword10};
use iolab_nvme_spec::completion::COMPLETION_ENTRY_BYTES;
use iolab_nvme_spec::feature::Feature;
use iolab_nvme_spec::registers::ControllerConfiguration;
use iolab_nvme_spec::submission::{DataPointerKind, SUBMISSION_ENTRY_BYTES};
use iolab_nvme_spec::{AdminOpcode, Status, SubmissionEntry};
use iolab_pci_device::{HostMemory, MappingAccess};

use super::Controller;
use crate::admin::AdminReply;
use crate::command_error::{CommandError, place};
use crate::pcie::dispatcher::{Order, ShadowAddresses};
use crate::pcie::queue::{CompletionSpec, SubmissionSpec};

/// How an admin command was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// It is done; this is dword 0 of the answer.
    Now(u32),
    /// It waits for an event.
    Later,
    /// It waits for this many reports of dispatchers.
    AfterOrders { token: u32, dispatchers: usize },
}

const fn invalid_id() -> CommandError {
    CommandError::permanent(Status::INVALID_QUEUE_ID).at(place::CDW10, 0)
}

impl<M: HostMemory> Controller<M> {
    /// Executes an admin command.
    pub(super) fn execute_admin(&mut self, command: &SubmissionEntry) -> Result<Reply, CommandError> {
        if command.cdw0().fuse() != 0 {
            return Err(CommandError::field(place::FLAGS, 0));
        }
        // Admin commands must use PRPs (Base, section 4.2).
        if DataPointerKind(command.cdw0().psdt()) != DataPointerKind::PRP {
            return Err(CommandError::field(place::FLAGS, 6));
        }
        match AdminOpcode(command.opc()) {
            AdminOpcode::CREATE_IO_CQ => self.create_completions(command),
            AdminOpcode::CREATE_IO_SQ => self.create_submissions(command),
            AdminOpcode::DELETE_IO_CQ => self.delete_completions(command),
            AdminOpcode::DELETE_IO_SQ => self.delete_submissions(command),
            AdminOpcode::ABORT => self.abort(command),
            AdminOpcode::DOORBELL_BUFFER_CONFIG => self.configure_shadow_doorbells(command),
            _ => self.execute_behind(command),
        }
    }

    /// Executes a command that is the same for every front.
    fn execute_behind(&mut self, command: &SubmissionEntry) -> Result<Reply, CommandError> {
        self.executor.set_has_io_queues(self.queues.has_any());
        let reply = self.executor.execute(command, &mut self.data)?;
        let feature = Feature(FeatureDword10(command.cdw(10)).fid());
        if AdminOpcode(command.opc()) == AdminOpcode::SET_FEATURES
            && matches!(feature, Feature::INTERRUPT_COALESCING | Feature::INTERRUPT_VECTOR_CONFIGURATION)
        {
            let coalescing = self.executor.coalescing();
            self.orders.iter().for_each(|orders| orders.send(Order::Coalesce(coalescing.clone())));
        }
        Ok(match reply {
            AdminReply::Now(result) => Reply::Now(result),
            AdminReply::Later => Reply::Later,
        })
    }

    /// The answer to a command after its dispatchers have reported; `any_done` says whether one of
    /// them found the target.
    pub(super) fn finish_admin(&mut self, command: &SubmissionEntry, any_done: bool) -> Result<u32, CommandError> {
        match AdminOpcode(command.opc()) {
            // Bit 0 says that nothing was aborted (Base, section 5.1).
            AdminOpcode::ABORT => Ok(u32::from(!any_done)),
            AdminOpcode::CREATE_IO_CQ | AdminOpcode::CREATE_IO_SQ if !any_done => {
                self.forget_queue(command);
                Err(CommandError::transient(Status::INTERNAL_ERROR))
            }
            AdminOpcode::DOORBELL_BUFFER_CONFIG if !any_done => {
                Err(CommandError::permanent(Status::INVALID_FIELD).at(place::PRP1, 0))
            }
            _ => Ok(0),
        }
    }

    fn abort(&mut self, command: &SubmissionEntry) -> Result<Reply, CommandError> {
        let meant = AbortDword10(command.cdw(10));
        if meant.sqid() == 0 {
            // Among admin commands, only requests for events can be outstanding.
            let found = self.executor.withdraw_event_request(meant.cid());
            if found {
                self.post_admin(meant.cid(), Status::ABORT_REQUESTED);
            }
            return Ok(Reply::Now(u32::from(!found)));
        }
        let Some(completions) = self.queues.submissions.get(usize::from(meant.sqid()) - 1).copied().flatten() else {
            return Ok(Reply::Now(1));
        };
        let token = self.next_token();
        self.owner(completions).send(Order::Abort { queue: meant.sqid(), cid: meant.cid(), token });
        Ok(Reply::AfterOrders { token, dispatchers: 1 })
    }

    fn create_completions(&mut self, command: &SubmissionEntry) -> Result<Reply, CommandError> {
        let dword = QueueDword10(command.cdw(10));
        let attributes = CreateCqDword11(command.cdw(11));
        let number = self.new_queue(dword.qid())?;
        if self.queues.completions[number] {
            return Err(invalid_id());
        }
        let entries = self.queue_entries(dword)?;
        let has_sizes = 1 << self.configuration.iocqes() == COMPLETION_ENTRY_BYTES;
        self.check_ring(command, attributes.pc(), has_sizes)?;
        if attributes.ien() && attributes.iv() >= self.shared.interrupts.count() {
            return Err(CommandError::permanent(Status::INVALID_INTERRUPT_VECTOR).at(place::CDW11 + 2, 0));
        }
        self.check_mapped(command, entries as usize * COMPLETION_ENTRY_BYTES, MappingAccess::ReadWrite)?;
        self.queues.completions[number] = true;
        let vector = attributes.ien().then_some(attributes.iv());
        let spec = CompletionSpec { id: dword.qid(), base: command.prp1(), entries, vector };
        let token = self.next_token();
        self.owner(dword.qid()).send(Order::CreateCompletions { spec, token });
        Ok(Reply::AfterOrders { token, dispatchers: 1 })
    }

    fn create_submissions(&mut self, command: &SubmissionEntry) -> Result<Reply, CommandError> {
        let dword = QueueDword10(command.cdw(10));
        let attributes = CreateSqDword11(command.cdw(11));
        let completion = attributes.cqid();
        let exists = |number: usize| self.queues.completions.get(number).copied().unwrap_or(false);
        if completion == 0 || !exists(usize::from(completion) - 1) {
            return Err(CommandError::permanent(Status::COMPLETION_QUEUE_INVALID).at(place::CDW11 + 2, 0));
        }
        let number = self.new_queue(dword.qid())?;
        if self.queues.submissions[number].is_some() {
            return Err(invalid_id());
        }
        let entries = self.queue_entries(dword)?;
        let has_sizes = 1 << self.configuration.iosqes() == SUBMISSION_ENTRY_BYTES;
        self.check_ring(command, attributes.pc(), has_sizes)?;
        self.check_mapped(command, entries as usize * SUBMISSION_ENTRY_BYTES, MappingAccess::Read)?;
        self.queues.submissions[number] = Some(completion);
        let spec = SubmissionSpec { id: dword.qid(), completion, base: command.prp1(), entries };
        let token = self.next_token();
        self.owner(completion).send(Order::CreateSubmissions { spec, token });
        Ok(Reply::AfterOrders { token, dispatchers: 1 })
    }

    /// The index of a queue identifier within the supported range.
    fn new_queue(&self, id: u16) -> Result<usize, CommandError> {
        let number = usize::from(id).wrapping_sub(1);
        if self.configuration.css() == ControllerConfiguration::CSS_ADMIN_ONLY
            || number >= usize::from(self.executor.queue_pairs())
        {
            return Err(invalid_id());
        }
        Ok(number)
    }

    fn queue_entries(&self, dword: QueueDword10) -> Result<u32, CommandError> {
        let entries = u32::from(dword.qsize()) + 1;
        if entries < 2 || entries > self.subsystem.config.queue_entries {
            return Err(CommandError::permanent(Status::INVALID_QUEUE_SIZE).at(place::CDW10 + 2, 0));
        }
        Ok(entries)
    }

    /// Checks that queues are contiguous (CAP.CQR), page aligned, and have the entry size set in
    /// CC.
    fn check_ring(&self, command: &SubmissionEntry, contiguous: bool, has_sizes: bool) -> Result<(), CommandError> {
        if !contiguous {
            return Err(CommandError::field(place::CDW11, 0));
        }
        if !command.prp1().is_multiple_of(1 << self.page_shift()) {
            return Err(CommandError::permanent(Status::PRP_OFFSET_INVALID).at(place::PRP1, 0));
        }
        if has_sizes { Ok(()) } else { Err(CommandError::permanent(Status::INVALID_QUEUE_SIZE)) }
    }

    /// Refuses a queue that is not mapped at all, because it would be fatal later.
    fn check_mapped(
        &mut self,
        command: &SubmissionEntry,
        bytes: usize,
        access: MappingAccess,
    ) -> Result<(), CommandError> {
        let base = command.prp1();
        let is_within = base.checked_add(bytes as u64).is_some();
        if !is_within || !self.data.memory.reaches(base, COMPLETION_ENTRY_BYTES, access) {
            return Err(CommandError::field(place::PRP1, 0));
        }
        Ok(())
    }

    fn delete_submissions(&mut self, command: &SubmissionEntry) -> Result<Reply, CommandError> {
        let id = QueueDword10(command.cdw(10)).qid();
        let entry = self.queues.submissions.get_mut(usize::from(id).wrapping_sub(1));
        let completion = entry.and_then(Option::take).ok_or(invalid_id())?;
        let token = self.next_token();
        self.owner(completion).send(Order::DeleteSubmissions { id, token });
        Ok(Reply::AfterOrders { token, dispatchers: 1 })
    }

    fn delete_completions(&mut self, command: &SubmissionEntry) -> Result<Reply, CommandError> {
        let id = QueueDword10(command.cdw(10)).qid();
        let exists = self.queues.completions.get(usize::from(id).wrapping_sub(1)).copied().unwrap_or(false);
        if !exists {
            return Err(invalid_id());
        }
        if self.queues.submissions.contains(&Some(id)) {
            return Err(CommandError::permanent(Status::INVALID_QUEUE_DELETION).at(place::CDW10, 0));
        }
        self.queues.completions[usize::from(id) - 1] = false;
        let token = self.next_token();
        self.owner(id).send(Order::DeleteCompletions { id, token });
        Ok(Reply::AfterOrders { token, dispatchers: 1 })
    }

    /// Forgets a queue that a dispatcher could not create.
    fn forget_queue(&mut self, command: &SubmissionEntry) {
        let number = usize::from(QueueDword10(command.cdw(10)).qid()).wrapping_sub(1);
        let is_submission = AdminOpcode(command.opc()) == AdminOpcode::CREATE_IO_SQ;
        if is_submission && let Some(entry) = self.queues.submissions.get_mut(number) {
            *entry = None;
        } else if let Some(entry) = self.queues.completions.get_mut(number) {
            *entry = false;
        }
    }

    fn configure_shadow_doorbells(&mut self, command: &SubmissionEntry) -> Result<Reply, CommandError> {
        let (doorbells, events) = (command.prp1(), command.prp2());
        let page_bytes = 1u64 << self.page_shift();
        if doorbells == 0 || !doorbells.is_multiple_of(page_bytes) {
            return Err(CommandError::field(place::PRP1, 0));
        }
        if events == 0 || !events.is_multiple_of(page_bytes) {
            return Err(CommandError::field(place::PRP2, 0));
        }
        let token = self.next_token();
        let orders = &self.orders;
        orders.iter().for_each(|one| {
            one.send(Order::ShadowDoorbells { addresses: ShadowAddresses { doorbells, events }, token })
        });
        Ok(Reply::AfterOrders { token, dispatchers: orders.len() })
    }
}
