//! What a controller and its dispatchers share: registers, interrupts, the fatal flag, and letters.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use iolab_nvme_spec::Status;
use iolab_nvme_spec::le::{U16, U32, U64};
use iolab_nvme_spec::log::ErrorLogEntry;
use iolab_pci_device::InterruptTable;

use crate::mailbox::Mailbox;
use crate::refusal::Refusal;
use crate::registers::Registers;

/// Entries that the error log keeps.
pub(crate) const ERROR_LOG_ENTRIES: usize = 64;

/// What a controller is told by its dispatchers and by the subsystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A dispatcher has done what it was ordered to.
    Done { token: u32, done: bool },
    /// A doorbell got a value that is no entry of its queue.
    InvalidDoorbellValue,
    /// A doorbell was written that no queue has.
    InvalidDoorbellRegister,
    /// Identify of a namespace returns something new.
    NamespaceChanged { namespace: u32 },
    /// The device has changed zones by itself.
    ZonesChanged { namespace: u32 },
    /// A reading of the health log has changed.
    HealthChanged,
    /// The subsystem was reset through another controller.
    SubsystemReset,
}

/// One per controller.
#[derive(Debug)]
pub(crate) struct ControllerShared {
    pub(crate) id: u16,
    pub(crate) registers: Registers,
    pub(crate) interrupts: InterruptTable,
    pub(crate) inbox: Mailbox<Notice>,
    pub(crate) errors: ErrorLog,
    is_fatal: AtomicBool,
}

impl ControllerShared {
    pub(crate) fn new(id: u16, registers: Registers, interrupts: InterruptTable) -> ControllerShared {
        ControllerShared {
            id,
            registers,
            interrupts,
            inbox: Mailbox::default(),
            errors: ErrorLog::default(),
            is_fatal: AtomicBool::new(false),
        }
    }

    /// Whether nothing may be processed any more until a reset (CSTS.CFS).
    #[inline]
    pub(crate) fn is_fatal(&self) -> bool {
        self.is_fatal.load(Ordering::Acquire)
    }

    /// The controller has failed: a queue cannot be reached, or a fault says so.
    #[cold]
    pub(crate) fn fail(&self) {
        if !self.registers.is_gone() {
            self.registers.set_status(self.registers.status().with_cfs(true));
        }
        self.is_fatal.store(true, Ordering::Release);
    }

    /// After a reset.
    pub(crate) fn recover(&self) {
        self.is_fatal.store(false, Ordering::Release);
    }

    /// The device is pulled out.
    #[cold]
    pub(crate) fn remove(&self) {
        self.is_fatal.store(true, Ordering::Release);
        self.registers.remove();
    }

    /// Signals a vector unless it is masked.
    pub(crate) fn interrupt(&self, vector: u16) {
        if vector >= 32 || self.registers.mask() >> vector & 1 == 0 {
            self.interrupts.signal(vector);
        }
    }
}

/// A failed command, for the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failure {
    pub(crate) queue: u16,
    pub(crate) cid: u16,
    pub(crate) namespace: u32,
    pub(crate) refusal: Refusal,
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
    pub(crate) fn add(&self, failure: Failure) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if entries.len() == ERROR_LOG_ENTRIES {
            entries.pop_back();
        }
        entries.push_front(ErrorLogEntry {
            error_count: U64::new(number),
            sqid: U16::new(failure.queue),
            cid: U16::new(failure.cid),
            status: U16::new(logged(failure.refusal.status)),
            parameter_error_location: U16::new(failure.refusal.location),
            lba: U64::new(failure.refusal.lba),
            nsid: U32::new(failure.namespace),
            vendor_log_page: 0,
            trtype: 0,
            reserved30: [0; 2],
            command_specific: U64::ZERO,
            transport_specific: U16::ZERO,
            reserved42: [0; 22],
        });
    }

    /// Failures since the controller was made.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The newest ones, newest first.
    pub(crate) fn entries(&self) -> Vec<ErrorLogEntry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}

/// The status field as the log has it: bits 15:1.
const fn logged(status: Status) -> u16 {
    status.0 << 1
}
