//! A small device for these tests: registers, queues and blocks in memory, and a script that makes
//! it misbehave.
//!
//! The device lives in the thread that drives it and works when the driver pauses. It supports only
//! what the driver uses, and checks what the driver sends: a command that violates the
//! specification causes a panic here.

mod device;
pub(crate) mod script;
mod state;

pub(crate) use device::Fake;
pub(crate) use script::Script;

use iolab_clock::Clock;
use iolab_nvme_driver::{Controller, ControllerOptions, DataWindow, QueueOptions, QueuePair};
use iolab_pci_device::{DmaBuffer, DmaMapper, DmaTable};

/// A controller over a fake device, on a simulated clock.
pub(crate) struct Bench {
    pub(crate) controller: Controller,
    pub(crate) script: Script,
    pub(crate) table: DmaTable,
    pub(crate) clock: Clock,
}

/// One second.
pub(crate) const SECOND: u64 = 1_000_000_000;

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench::with(Script::default())
    }

    pub(crate) fn with(script: Script) -> Bench {
        let clock = Clock::simulated(1);
        let table = DmaTable::new();
        let device = Fake::new(table.clone(), script.clone(), clock.clone());
        let controller = Controller::open(Box::new(device), clock.clone(), options()).expect("the fake device works");
        Bench { controller, script, table, clock }
    }

    pub(crate) fn queue(&self, slots: u16) -> QueuePair {
        let options = QueueOptions { timeout_ns: SECOND, reaps_per_check: 1, ..QueueOptions::with_slots(slots) };
        self.controller.queue_pair(options).expect("the fake device has queues")
    }

    pub(crate) fn buffer(&mut self, bytes: usize) -> DmaBuffer {
        self.table.allocate(bytes).expect("memory")
    }
}

pub(crate) fn options() -> ControllerOptions {
    ControllerOptions { admin_timeout_ns: SECOND, ..ControllerOptions::default() }
}

/// All of a buffer.
pub(crate) fn all(buffer: &DmaBuffer) -> DataWindow {
    DataWindow::of(buffer, 0, buffer.memory.len() as u32).expect("a buffer is not longer than itself")
}
