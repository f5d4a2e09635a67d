//! The record of a controller, independent of the front: its identifier, its notifications, and the
//! log of its errors.
//!
//! It exists as long as any part of the controller. The subsystem notifies it of changes made
//! through other controllers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use iolab_nvme_spec::le::{U16, U32, U64};
use iolab_nvme_spec::log::ErrorLogEntry;
use iolab_nvme_spec::{Status, SubmissionEntry};

use crate::access::SubsystemPort;
use crate::command_error::CommandError;
use crate::mailbox::Mailbox;

/// Entries that the error log keeps.
pub(crate) const ERROR_LOG_ENTRIES: usize = 64;

/// Notifications to a controller from its front or from the subsystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A doorbell received a value that is no entry of its queue.
    InvalidDoorbellValue,
    /// A doorbell was written that belongs to no queue.
    InvalidDoorbellRegister,
    /// The result of Identify for a namespace has changed.
    NamespaceChanged {
        /// Its identifier.
        namespace: u32,
    },
    /// The device has changed zones by itself.
    ZonesChanged {
        /// Identifier of the namespace.
        namespace: u32,
    },
    /// The controllers reach the namespaces in another way.
    AccessChanged,
    /// A value of the health log has changed.
    HealthChanged,
    /// The subsystem was reset through another controller.
    SubsystemReset,
}

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: Status,
    /// The command specific result.
    pub result: u64,
}

impl Answer {
    /// The command succeeded.
    #[inline]
    pub const fn success(result: u64) -> Answer {
        Answer { status: Status::SUCCESS, result }
    }

    /// The command failed.
    pub const fn failure(status: Status) -> Answer {
        Answer { status, result: 0 }
    }
}

/// The record of one controller.
#[derive(Debug)]
pub struct ControllerRecord {
    id: u16,
    /// Where its host connects.
    pub(crate) port: Arc<SubsystemPort>,
    pub(crate) inbox: Mailbox<Notice>,
    pub(crate) errors: ErrorLog,
}

impl ControllerRecord {
    pub(crate) fn new(id: u16, port: Arc<SubsystemPort>) -> ControllerRecord {
        ControllerRecord { id, port, inbox: Mailbox::default(), errors: ErrorLog::default() }
    }

    /// The controller's identifier in its subsystem (CNTLID).
    pub const fn id(&self) -> u16 {
        self.id
    }

    /// Its notifications, oldest first, for the front's [`crate::AdminExecutor::note`].
    pub fn take_notice(&self) -> Option<Notice> {
        self.inbox.take()
    }

    /// Logs a failed command, and returns its answer.
    #[cold]
    pub fn log_failure(&self, queue: u16, command: &SubmissionEntry, error: CommandError) -> Answer {
        let error = CommandError { status: error.status.with_more(true), ..error };
        self.errors.add(FailedCommand { queue, cid: command.cid(), namespace: command.nsid(), error });
        Answer::failure(error.status)
    }
}

/// A failed command, for the log.
#[derive(Debug, Clone, Copy)]
struct FailedCommand {
    queue: u16,
    cid: u16,
    namespace: u32,
    error: CommandError,
}

/// The newest failures.
#[derive(Debug, Default)]
pub(crate) struct ErrorLog {
    count: AtomicU64,
    entries: Mutex<VecDeque<ErrorLogEntry>>,
}

impl ErrorLog {
    /// Adds a failure.
    #[cold]
    fn add(&self, failure: FailedCommand) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if entries.len() == ERROR_LOG_ENTRIES {
            entries.pop_back();
        }
        entries.push_front(ErrorLogEntry {
            error_count: U64::new(number),
            sqid: U16::new(failure.queue),
            cid: U16::new(failure.cid),
            status: U16::new(logged(failure.error.status)),
            parameter_error_location: U16::new(failure.error.location),
            lba: U64::new(failure.error.lba),
            nsid: U32::new(failure.namespace),
            vendor_log_page: 0,
            trtype: 0,
            reserved30: [0; 2],
            command_specific: U64::ZERO,
            transport_specific: U16::ZERO,
            reserved42: [0; 22],
        });
    }

    /// Failures since the controller was created.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The newest ones, newest first.
    pub(crate) fn entries(&self) -> Vec<ErrorLogEntry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}

/// The status field in the form of the log: bits 15:1.
const fn logged(status: Status) -> u16 {
    status.0 << 1
}
