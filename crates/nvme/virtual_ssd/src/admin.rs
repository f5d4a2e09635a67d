//! Admin commands (Base, section 5), independent of the front that received them.
//!
//! Guarantees: an optional command that Identify does not announce is an invalid opcode. Every
//! reserved or unsupported value that would change the meaning of a command is an invalid field.
//! This module does not handle the admin queue, nor what a front does itself: creating and deleting
//! I/O queues, and aborting commands in them.

mod events;
mod features;
mod identify;
mod logs;
mod namespaces;

use std::sync::Arc;

use iolab_nvme_spec::identify::SglSupport;
use iolab_nvme_spec::{AdminOpcode, Status, SubmissionEntry};

use crate::command_error::{CommandError, place};
use crate::controller_record::ControllerRecord;
use crate::data_window::{DataDirection, DataWindow};
use crate::subsystem::Subsystem;
use events::Events;
pub(crate) use features::Coalescing;
use features::Features;

/// How an admin command was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminReply {
    /// It is done; this is dword 0 of the answer.
    Now(u32),
    /// It will be answered when there is an event ([`AdminExecutor::take_event`]).
    Later,
}

/// The number of Abort commands that may be outstanding, less one, for Identify. None is ever
/// outstanding, because each is executed at once.
const ABORT_LIMIT: u8 = 3;

/// Properties of a front that admin commands report to the host or depend on.
#[derive(Debug, Clone, Copy)]
pub struct FrontFeatures {
    /// I/O queue pairs that the host may create.
    pub queue_pairs: u16,
    /// Interrupt vectors.
    pub vectors: u16,
    /// Whether queues are in the host's memory: then admin commands create and delete them, and
    /// shadow doorbells are possible.
    pub has_memory_queues: bool,
    /// How data may be described by SGLs.
    pub sgl: SglSupport,
}

/// Executes the admin commands of one controller, and keeps the state that they set: features, and
/// requests for events.
#[derive(Debug)]
pub struct AdminExecutor {
    subsystem: Arc<Subsystem>,
    record: Arc<ControllerRecord>,
    front: FrontFeatures,
    features: Features,
    events: Events,
    /// Whether I/O queues exist.
    has_io_queues: bool,
    now_ns: u64,
    /// When the keep alive timer was restarted.
    heard_ns: u64,
}

/// An admin command with its data.
struct AdminCommand<'a> {
    entry: &'a SubmissionEntry,
    data: &'a mut dyn DataWindow,
}

impl std::ops::Deref for AdminCommand<'_> {
    type Target = SubmissionEntry;

    fn deref(&self) -> &SubmissionEntry {
        self.entry
    }
}

impl AdminCommand<'_> {
    /// Copies data to the host.
    fn send(&mut self, data: &[u8]) -> Result<(), CommandError> {
        self.data.locate(self.entry, DataDirection::ToHost, data.len())?;
        Ok(self.data.write(data)?)
    }

    /// Copies data from the host.
    fn receive(&mut self, data: &mut [u8]) -> Result<(), CommandError> {
        self.data.locate(self.entry, DataDirection::FromHost, data.len())?;
        Ok(self.data.read(data)?)
    }
}

impl AdminExecutor {
    /// Creates an executor for a controller of `subsystem` behind a front.
    pub fn new(subsystem: Arc<Subsystem>, record: Arc<ControllerRecord>, front: FrontFeatures) -> AdminExecutor {
        AdminExecutor {
            subsystem,
            record,
            front,
            features: Features::new(front.queue_pairs),
            events: Events::default(),
            has_io_queues: false,
            now_ns: 0,
            heard_ns: 0,
        }
    }

    /// Resets everything that the host has set, as a reset of the controller does.
    pub fn reset(&mut self) {
        self.features = Features::new(self.front.queue_pairs);
        self.events = Events::default();
        self.has_io_queues = false;
    }

    /// Sets the current time.
    #[inline]
    pub fn set_time(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    /// The current time.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Sets whether I/O queues exist. Their number can be negotiated only before that.
    pub fn set_has_io_queues(&mut self, has_io_queues: bool) {
        self.has_io_queues = has_io_queues;
    }

    /// The number of I/O queue pairs that the host may create.
    pub fn queue_pairs(&self) -> u16 {
        self.front.queue_pairs
    }

    /// The host's settings for interrupt coalescing.
    pub(crate) fn coalescing(&self) -> Coalescing {
        self.features.coalescing()
    }

    /// Executes a command, and restarts the keep alive timer.
    ///
    /// # Errors
    /// The status with which the command is answered. Commands of the front itself are invalid
    /// opcodes here.
    pub fn execute(&mut self, entry: &SubmissionEntry, data: &mut dyn DataWindow) -> Result<AdminReply, CommandError> {
        self.note_alive();
        if entry.cdw0().fuse() != 0 {
            return Err(CommandError::field(place::FLAGS, 0));
        }
        let command = &mut AdminCommand { entry, data };
        match AdminOpcode(entry.opc()) {
            AdminOpcode::IDENTIFY => self.identify(command),
            AdminOpcode::GET_FEATURES => self.get_features(command),
            AdminOpcode::SET_FEATURES => self.set_features(command),
            AdminOpcode::GET_LOG_PAGE => self.get_log_page(command),
            AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST => self.events.request(command.cid()).map(|()| AdminReply::Later),
            AdminOpcode::KEEP_ALIVE => Ok(AdminReply::Now(0)),
            AdminOpcode::FORMAT_NVM => self.format(command),
            AdminOpcode::NAMESPACE_ATTACHMENT => self.attach_namespace(command),
            AdminOpcode::NAMESPACE_MANAGEMENT => self.manage_namespace(command),
            // Firmware, security, sanitize, self-test, directives and virtualisation are not
            // announced.
            _ => Err(CommandError::permanent(Status::INVALID_OPCODE).at(place::OPCODE, 0)),
        }
    }

    /// Restarts the keep alive timer.
    pub fn note_alive(&mut self) {
        self.heard_ns = self.now_ns;
    }

    /// When the keep alive timer expires, if the host has set one (Base, section 7.12).
    #[inline]
    pub fn keep_alive_deadline_ns(&self) -> Option<u64> {
        let timeout_ns = self.features.keep_alive_ns();
        (timeout_ns > 0).then(|| self.heard_ns.saturating_add(timeout_ns))
    }

    /// Whether there is an event to report, or a keep alive timer runs.
    #[inline]
    pub(crate) fn needs_attention(&self) -> bool {
        self.events.has_pending() || self.features.keep_alive_ns() > 0
    }
}
