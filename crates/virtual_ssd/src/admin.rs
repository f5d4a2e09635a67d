//! Admin commands (Base, section 5): who does what.
//!
//! Guarantees: an optional command that Identify does not announce is an invalid opcode; every reserved or unsupported
//! value that would change the meaning of a command is an invalid field. Deliberately not here: the queue.

mod events;
mod features;
mod identify;
mod logs;
mod namespaces;
mod queues;

pub(crate) use events::Events;
pub(crate) use features::Features;

use iolab_nvme_spec::command::AbortDword10;
use iolab_nvme_spec::submission::DataPointerKind;
use iolab_nvme_spec::{AdminOpcode, Status, SubmissionEntry};
use iolab_pci_device::HostMemory;

use crate::controller::Controller;
use crate::dispatcher::Order;
use crate::refusal::{Refusal, place};
use crate::transfer::{read_pieces, resolve_admin, write_pieces};

/// What became of an admin command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    /// It is done, with this dword 0.
    Now(u32),
    /// It waits for an event.
    Later,
    /// It waits for so many reports of dispatchers.
    AfterOrders { token: u32, dispatchers: usize },
}

/// Commands that Abort may have outstanding are none at all: each is done at once. Less one, for Identify.
pub(crate) const ABORT_LIMIT: u8 = 3;

impl<M: HostMemory> Controller<M> {
    /// Executes an admin command.
    pub(crate) fn execute_admin(&mut self, command: &SubmissionEntry) -> Result<Reply, Refusal> {
        if command.cdw0().fuse() != 0 {
            return Err(Refusal::field(place::FLAGS, 0));
        }
        if DataPointerKind(command.cdw0().psdt()) != DataPointerKind::PRP {
            return Err(Refusal::field(place::FLAGS, 6));
        }
        match AdminOpcode(command.opc()) {
            AdminOpcode::IDENTIFY => self.identify(command),
            AdminOpcode::CREATE_IO_CQ => self.create_completions(command),
            AdminOpcode::CREATE_IO_SQ => self.create_submissions(command),
            AdminOpcode::DELETE_IO_CQ => self.delete_completions(command),
            AdminOpcode::DELETE_IO_SQ => self.delete_submissions(command),
            AdminOpcode::GET_FEATURES => self.get_features(command),
            AdminOpcode::SET_FEATURES => self.set_features(command),
            AdminOpcode::GET_LOG_PAGE => self.get_log_page(command),
            AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST => self.events.request(command.cid()).map(|()| Reply::Later),
            AdminOpcode::ABORT => self.abort(command),
            AdminOpcode::KEEP_ALIVE => Ok(Reply::Now(0)),
            AdminOpcode::FORMAT_NVM => self.format(command),
            AdminOpcode::NAMESPACE_ATTACHMENT => self.attach_namespace(command),
            AdminOpcode::NAMESPACE_MANAGEMENT => self.manage_namespace(command),
            AdminOpcode::DOORBELL_BUFFER_CONFIG => self.configure_shadow_doorbells(command),
            // Firmware, security, sanitize, self-test, directives and virtualisation are not announced.
            _ => Err(Refusal::lasting(Status::INVALID_OPCODE).at(place::OPCODE, 0)),
        }
    }

    /// What a command answers when its dispatchers have reported; `any_done` if one of them found what was meant.
    pub(crate) fn finish_admin(&mut self, command: &SubmissionEntry, any_done: bool) -> Result<u32, Refusal> {
        match AdminOpcode(command.opc()) {
            // Bit 0 says that nothing was aborted (Base, section 5.1).
            AdminOpcode::ABORT => Ok(u32::from(!any_done)),
            AdminOpcode::CREATE_IO_CQ | AdminOpcode::CREATE_IO_SQ if !any_done => {
                self.forget_queue(command);
                Err(Refusal::passing(Status::INTERNAL_ERROR))
            }
            AdminOpcode::DOORBELL_BUFFER_CONFIG if !any_done => {
                Err(Refusal::lasting(Status::INVALID_FIELD).at(place::PRP1, 0))
            }
            _ => Ok(0),
        }
    }

    fn abort(&mut self, command: &SubmissionEntry) -> Result<Reply, Refusal> {
        let meant = AbortDword10(command.cdw(10));
        if meant.sqid() == 0 {
            // Of admin commands only requests for events stay around.
            return Ok(Reply::Now(u32::from(!self.abort_event_request(meant.cid()))));
        }
        let Some(completions) = self.queues.submissions.get(usize::from(meant.sqid()) - 1).copied().flatten() else {
            return Ok(Reply::Now(1));
        };
        let token = self.next_token();
        self.owner(completions).send(Order::Abort { queue: meant.sqid(), cid: meant.cid(), token });
        Ok(Reply::AfterOrders { token, dispatchers: 1 })
    }

    /// Copies data to where the command's PRPs say.
    pub(crate) fn send_data(&mut self, command: &SubmissionEntry, data: &[u8]) -> Result<(), Refusal> {
        let shift = self.page_shift();
        resolve_admin(&mut self.memory, command, data.len(), shift, &mut self.pieces)?;
        write_pieces(&mut self.memory, &self.pieces, data)
    }

    /// Copies data from where the command's PRPs say.
    pub(crate) fn receive_data(&mut self, command: &SubmissionEntry, data: &mut [u8]) -> Result<(), Refusal> {
        let shift = self.page_shift();
        resolve_admin(&mut self.memory, command, data.len(), shift, &mut self.pieces)?;
        read_pieces(&mut self.memory, &self.pieces, data)
    }
}
