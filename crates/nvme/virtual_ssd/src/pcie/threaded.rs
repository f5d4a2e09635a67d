//! A virtual SSD as a PCI device of this process with its own threads: one for the controller, one
//! for each dispatcher, and optional copiers.
//!
//! ```text
//! driver threads ─ doorbells ─▶ dispatcher threads (I/O queues)
//!                                  └─ data ─▶ copier threads
//!                ─ registers ─▶ controller thread (CC, admin queue)
//! ```
//!
//! Guarantees: the threads end with the device. Idle threads spin for a while and then yield, which
//! keeps latency low on an idle machine and wastes little time on a busy one. A simulated clock is
//! not supported; it needs a device in the driver's thread ([`crate::Embedded`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use iolab_clock::Clock;
use iolab_memory::SharedBytes;
use iolab_nvme_spec::registers::Register;
use iolab_pci_device::{DmaBuffer, DmaMapper, DmaTable, Interrupt, InterruptTable, MapError, PciError, PciFunction};

use crate::pcie::controller::{Controller, Wiring};
use crate::pcie::embedded::{EmbeddedError, VECTORS};
use crate::pcie::registers::{REGISTER_BYTES, Registers};
use crate::subsystem::Subsystem;

/// Polls without work before a thread yields: if each thread has its own processor, and if not.
const PATIENCE: (u32, u32) = (20_000, 20);

/// The number of threads of a device, besides that of its controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadCounts {
    /// Dispatchers: one or more.
    pub dispatchers: usize,
    /// Copiers of each dispatcher, which copy data; without copiers, the dispatcher copies.
    pub copiers: usize,
}

/// A device with threads.
#[derive(Debug)]
pub struct Threaded {
    registers: Registers,
    table: DmaTable,
    interrupts: InterruptTable,
    queue_pairs: u16,
    stop: Arc<AtomicBool>,
    patience: u32,
    threads: Vec<JoinHandle<()>>,
}

impl Threaded {
    /// A new controller of `subsystem` with the given number of threads.
    pub fn new(subsystem: &Arc<Subsystem>, clock: &Clock, threads: ThreadCounts) -> Result<Threaded, EmbeddedError> {
        let registers = SharedBytes::anonymous(REGISTER_BYTES).map_err(EmbeddedError::Memory)?;
        let table = DmaTable::new();
        let interrupts = InterruptTable::with_vectors(VECTORS);
        let wiring = Wiring { registers, interrupts: interrupts.clone(), memory: table.clone() };
        let (mut controller, dispatchers) = Controller::with_dispatchers(subsystem, wiring, threads.dispatchers)?;
        let registers = controller.registers().clone();
        let queue_pairs = subsystem.config.queue_pairs;
        let wanted = 2 + threads.dispatchers * (1 + threads.copiers);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let patience = if wanted <= processors { PATIENCE.0 } else { PATIENCE.1 };
        let stop = Arc::default();
        let mut device = Threaded { registers, table, interrupts, queue_pairs, stop, patience, threads: Vec::new() };
        device.spawn(clock, "nvme-control", move |now_ns| controller.poll(now_ns))?;
        for mut dispatcher in dispatchers {
            for mut copier in dispatcher.add_copiers(threads.copiers) {
                device.spawn(clock, "nvme-copies", move |_| copier.poll())?;
            }
            device.spawn(clock, "nvme-queues", move |now_ns| dispatcher.poll(now_ns))?;
        }
        Ok(device)
    }

    fn spawn(
        &mut self,
        clock: &Clock,
        name: &str,
        mut poll: impl FnMut(u64) -> bool + Send + 'static,
    ) -> Result<(), EmbeddedError> {
        let (clock, stop, patience) = (clock.clone(), Arc::clone(&self.stop), self.patience);
        let work = move || {
            let mut idle = 0u32;
            while !stop.load(Ordering::Relaxed) {
                idle = if poll(clock.now_ns()) { 0 } else { idle.saturating_add(1) };
                if idle < patience {
                    std::hint::spin_loop();
                } else {
                    std::thread::yield_now();
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work).map_err(EmbeddedError::Thread)?;
        self.threads.push(thread);
        Ok(())
    }
}

impl Drop for Threaded {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has already reported it, and this function cannot return an
            // error.
            let _ = thread.join();
        }
    }
}

impl PciFunction for Threaded {
    fn read_u32(&self, offset: u32) -> u32 {
        self.registers.read(offset)
    }

    fn write_u32(&self, offset: u32, value: u32) {
        self.registers.write_checked(offset, value, self.queue_pairs);
    }

    fn mapped_registers(&self, offset: u32) -> Option<SharedBytes> {
        let offset = offset as usize;
        self.registers.memory().window(offset, REGISTER_BYTES.checked_sub(offset)?)
    }

    fn interrupt(&mut self, vector: u16) -> Result<Interrupt, PciError> {
        super::embedded::connect(&self.interrupts, vector)
    }

    fn reset(&mut self) -> Result<(), PciError> {
        if self.registers.is_gone() {
            return Err(PciError::Gone("it was removed".to_owned()));
        }
        self.registers.write_power_on();
        while self.read_u32(Register::CSTS.0) & 1 != 0 && !self.registers.is_gone() {
            std::thread::yield_now();
        }
        Ok(())
    }

    fn pause(&self, at_most: Duration) {
        if at_most > Duration::from_micros(50) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

impl DmaMapper for Threaded {
    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError> {
        self.table.map(memory)
    }

    fn unmap(&mut self, address: u64) -> Result<(), MapError> {
        self.table.unmap(address)
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, MapError> {
        self.table.allocate(bytes)
    }
}
