//! Creating and deleting I/O queues, and Doorbell Buffer Config (Base, sections 5.3 to 5.7).

use iolab_nvme_spec::command::{CreateCqDword11, CreateSqDword11, QueueDword10};
use iolab_nvme_spec::completion::COMPLETION_ENTRY_BYTES;
use iolab_nvme_spec::registers::ControllerConfiguration;
use iolab_nvme_spec::submission::SUBMISSION_ENTRY_BYTES;
use iolab_nvme_spec::{AdminOpcode, Status, SubmissionEntry};
use iolab_pci_device::{Access, HostMemory};

use super::Reply;
use crate::controller::Controller;
use crate::dispatcher::Order;
use crate::queue::{CompletionSpec, SubmissionSpec};
use crate::refusal::{Refusal, place};

const fn invalid_id() -> Refusal {
    Refusal::lasting(Status::INVALID_QUEUE_ID).at(place::CDW10, 0)
}

impl<M: HostMemory> Controller<M> {
    pub(super) fn create_completions(&mut self, command: &SubmissionEntry) -> Result<Reply, Refusal> {
        let dword = QueueDword10(command.cdw(10));
        let attributes = CreateCqDword11(command.cdw(11));
        let number = self.new_queue(dword.qid())?;
        if self.queues.completions[number] {
            return Err(invalid_id());
        }
        let entries = self.queue_entries(dword)?;
        let has_sizes = 1 << self.configuration().iocqes() == COMPLETION_ENTRY_BYTES;
        self.check_ring(command, attributes.pc(), has_sizes)?;
        if attributes.ien() && attributes.iv() >= self.shared.interrupts.count() {
            return Err(Refusal::lasting(Status::INVALID_INTERRUPT_VECTOR).at(place::CDW11 + 2, 0));
        }
        self.check_mapped(command, entries as usize * COMPLETION_ENTRY_BYTES, Access::ReadWrite)?;
        self.queues.completions[number] = true;
        let vector = attributes.ien().then_some(attributes.iv());
        let spec = CompletionSpec { id: dword.qid(), base: command.prp1(), entries, vector };
        let token = self.next_token();
        self.owner(dword.qid()).send(Order::CreateCompletions { spec, token });
        Ok(Reply::AfterOrders { token, dispatchers: 1 })
    }

    pub(super) fn create_submissions(&mut self, command: &SubmissionEntry) -> Result<Reply, Refusal> {
        let dword = QueueDword10(command.cdw(10));
        let attributes = CreateSqDword11(command.cdw(11));
        let completion = attributes.cqid();
        let exists = |number: usize| self.queues.completions.get(number).copied().unwrap_or(false);
        if completion == 0 || !exists(usize::from(completion) - 1) {
            return Err(Refusal::lasting(Status::COMPLETION_QUEUE_INVALID).at(place::CDW11 + 2, 0));
        }
        let number = self.new_queue(dword.qid())?;
        if self.queues.submissions[number].is_some() {
            return Err(invalid_id());
        }
        let entries = self.queue_entries(dword)?;
        let has_sizes = 1 << self.configuration().iosqes() == SUBMISSION_ENTRY_BYTES;
        self.check_ring(command, attributes.pc(), has_sizes)?;
        self.check_mapped(command, entries as usize * SUBMISSION_ENTRY_BYTES, Access::Read)?;
        self.queues.submissions[number] = Some(completion);
        let spec = SubmissionSpec { id: dword.qid(), completion, base: command.prp1(), entries };
        let token = self.next_token();
        self.owner(completion).send(Order::CreateSubmissions { spec, token });
        Ok(Reply::AfterOrders { token, dispatchers: 1 })
    }

    /// The index of a queue identifier that can exist.
    fn new_queue(&self, id: u16) -> Result<usize, Refusal> {
        let number = usize::from(id).wrapping_sub(1);
        if self.configuration().css() == ControllerConfiguration::CSS_ADMIN_ONLY || number >= self.features.pairs() {
            return Err(invalid_id());
        }
        Ok(number)
    }

    fn queue_entries(&self, dword: QueueDword10) -> Result<u32, Refusal> {
        let entries = u32::from(dword.qsize()) + 1;
        if entries < 2 || entries > self.subsystem.config.queue_entries {
            return Err(Refusal::lasting(Status::INVALID_QUEUE_SIZE).at(place::CDW10 + 2, 0));
        }
        Ok(entries)
    }

    /// Queues are contiguous (CAP.CQR), page aligned, and of entries of the size that CC says.
    fn check_ring(&self, command: &SubmissionEntry, contiguous: bool, has_sizes: bool) -> Result<(), Refusal> {
        if !contiguous {
            return Err(Refusal::field(place::CDW11, 0));
        }
        if !command.prp1().is_multiple_of(1 << self.page_shift()) {
            return Err(Refusal::lasting(Status::PRP_OFFSET_INVALID).at(place::PRP1, 0));
        }
        if has_sizes { Ok(()) } else { Err(Refusal::lasting(Status::INVALID_QUEUE_SIZE)) }
    }

    /// A queue that is not mapped at all is refused now; later it would be fatal.
    fn check_mapped(&mut self, command: &SubmissionEntry, bytes: usize, access: Access) -> Result<(), Refusal> {
        let base = command.prp1();
        let is_within = base.checked_add(bytes as u64).is_some();
        if !is_within || self.memory.window(base, COMPLETION_ENTRY_BYTES, access).is_err() {
            return Err(Refusal::field(place::PRP1, 0));
        }
        Ok(())
    }

    pub(super) fn delete_submissions(&mut self, command: &SubmissionEntry) -> Result<Reply, Refusal> {
        let id = QueueDword10(command.cdw(10)).qid();
        let entry = self.queues.submissions.get_mut(usize::from(id).wrapping_sub(1));
        let completion = entry.and_then(Option::take).ok_or(invalid_id())?;
        let token = self.next_token();
        self.owner(completion).send(Order::DeleteSubmissions { id, token });
        Ok(Reply::AfterOrders { token, dispatchers: 1 })
    }

    pub(super) fn delete_completions(&mut self, command: &SubmissionEntry) -> Result<Reply, Refusal> {
        let id = QueueDword10(command.cdw(10)).qid();
        let exists = self.queues.completions.get(usize::from(id).wrapping_sub(1)).copied().unwrap_or(false);
        if !exists {
            return Err(invalid_id());
        }
        if self.queues.submissions.contains(&Some(id)) {
            return Err(Refusal::lasting(Status::INVALID_QUEUE_DELETION).at(place::CDW10, 0));
        }
        self.queues.completions[usize::from(id) - 1] = false;
        let token = self.next_token();
        self.owner(id).send(Order::DeleteCompletions { id, token });
        Ok(Reply::AfterOrders { token, dispatchers: 1 })
    }

    /// A dispatcher could not create a queue.
    pub(super) fn forget_queue(&mut self, command: &SubmissionEntry) {
        let number = usize::from(QueueDword10(command.cdw(10)).qid()).wrapping_sub(1);
        let is_submission = AdminOpcode(command.opc()) == AdminOpcode::CREATE_IO_SQ;
        if is_submission && let Some(entry) = self.queues.submissions.get_mut(number) {
            *entry = None;
        } else if let Some(entry) = self.queues.completions.get_mut(number) {
            *entry = false;
        }
    }

    pub(super) fn configure_shadow_doorbells(&mut self, command: &SubmissionEntry) -> Result<Reply, Refusal> {
        let (doorbells, events) = (command.prp1(), command.prp2());
        let page_bytes = 1u64 << self.page_shift();
        if doorbells == 0 || !doorbells.is_multiple_of(page_bytes) {
            return Err(Refusal::field(place::PRP1, 0));
        }
        if events == 0 || !events.is_multiple_of(page_bytes) {
            return Err(Refusal::field(place::PRP2, 0));
        }
        let token = self.next_token();
        let orders = self.all_orders();
        orders.iter().for_each(|one| one.send(Order::ShadowDoorbells { doorbells, events, token }));
        Ok(Reply::AfterOrders { token, dispatchers: orders.len() })
    }
}
