//! State shared by a controller of this front and its dispatchers: registers, interrupts, the fatal
//! flag, and reports.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iolab_pci_device::InterruptTable;

use super::super::registers::Registers;
use crate::controller_record::ControllerRecord;
use crate::mailbox::Mailbox;

/// A dispatcher's report that it has executed an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    /// The token of the order.
    pub(crate) token: u32,
    /// Whether the dispatcher had the object of the order.
    pub(crate) done: bool,
}

/// The shared state of one controller.
#[derive(Debug)]
pub(crate) struct ControllerShared {
    pub(crate) record: Arc<ControllerRecord>,
    pub(crate) registers: Registers,
    pub(crate) interrupts: InterruptTable,
    pub(crate) reports: Mailbox<Report>,
    is_fatal: AtomicBool,
}

impl ControllerShared {
    pub(crate) fn new(
        record: Arc<ControllerRecord>,
        registers: Registers,
        interrupts: InterruptTable,
    ) -> ControllerShared {
        ControllerShared {
            record,
            registers,
            interrupts,
            reports: Mailbox::default(),
            is_fatal: AtomicBool::new(false),
        }
    }

    /// Whether processing must stop until a reset (CSTS.CFS).
    #[inline]
    pub(crate) fn is_fatal(&self) -> bool {
        self.is_fatal.load(Ordering::Acquire)
    }

    /// Marks the controller as failed: a queue is unreachable, or a fault requires it.
    #[cold]
    pub(crate) fn fail(&self) {
        if !self.registers.is_gone() {
            self.registers.set_status(self.registers.status().with_cfs(true));
        }
        self.is_fatal.store(true, Ordering::Release);
    }

    /// Clears the failure after a reset.
    pub(crate) fn recover(&self) {
        self.is_fatal.store(false, Ordering::Release);
    }

    /// Removes the device.
    #[cold]
    pub(crate) fn remove(&self) {
        self.is_fatal.store(true, Ordering::Release);
        self.registers.remove();
    }

    /// Signals a vector, unless it is masked.
    pub(crate) fn interrupt(&self, vector: u16) {
        if vector >= 32 || self.registers.mask() >> vector & 1 == 0 {
            self.interrupts.signal(vector);
        }
    }
}
