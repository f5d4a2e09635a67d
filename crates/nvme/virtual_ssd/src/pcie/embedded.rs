//! A virtual SSD as a PCI device of this process, which a driver opens.
//!
//! Its controller works in the calling thread whenever the driver reads a register or pauses. A run
//! with a simulated clock is therefore exact and needs no second core. If there is no completion
//! before the device's next event, a pause advances a simulated clock to that event.
//!
//! It uses no other threads; see [`crate::Threaded`].

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use iolab_clock::Clock;
use iolab_memory::SharedBytes;
use iolab_pci_device::{DmaBuffer, DmaMapper, DmaTable, Interrupt, InterruptTable, MapError, PciError, PciFunction};

use crate::pcie::controller::{Controller, ControllerError, Wiring};
use crate::pcie::registers::{REGISTER_BYTES, Registers};
use crate::subsystem::Subsystem;

/// Vectors of the function: one for the admin queue, and one for each queue pair.
pub(crate) const VECTORS: u16 = 65;

/// A device for a driver in the same thread.
#[derive(Debug)]
pub struct Embedded {
    controller: RefCell<Controller<DmaTable>>,
    registers: Registers,
    subsystem: Arc<Subsystem>,
    table: DmaTable,
    interrupts: InterruptTable,
    clock: Clock,
    is_simulated: bool,
    /// The last reading of the clock, and for how many more polls it is used.
    now_ns: u64,
    looks: u32,
    /// For how many polls a reading is used.
    most_looks: u32,
}

/// Polls between two readings of the clock for a drive without timing. Keep alive timers and
/// interrupt coalescing need no more precision.
const LOOKS: u32 = 64;

impl Embedded {
    /// Creates a device with a new controller of `subsystem`.
    pub fn new(subsystem: &Arc<Subsystem>, clock: Clock) -> Result<Embedded, EmbeddedError> {
        let registers = SharedBytes::anonymous(REGISTER_BYTES).map_err(EmbeddedError::Memory)?;
        let table = DmaTable::new();
        let interrupts = InterruptTable::with_vectors(VECTORS);
        let wiring = Wiring { registers, interrupts: interrupts.clone(), memory: table.clone() };
        let controller = Controller::inline(subsystem, wiring)?;
        let registers = controller.registers().clone();
        let subsystem = Arc::clone(subsystem);
        let is_simulated = clock.name() == "simulated";
        let is_timeless = subsystem.timing.is_ideal() && subsystem.faults.is_none();
        let most_looks = if is_timeless { LOOKS } else { 0 };
        let controller = RefCell::new(controller);
        Ok(Embedded {
            controller,
            registers,
            subsystem,
            table,
            interrupts,
            clock,
            is_simulated,
            now_ns: 0,
            looks: 0,
            most_looks,
        })
    }

    /// The drive behind it.
    pub fn subsystem(&self) -> &Arc<Subsystem> {
        &self.subsystem
    }

    /// Lets the device work, with exclusive access. Returns whether there was any work.
    #[inline(always)]
    pub fn work(&mut self) -> bool {
        if self.looks == 0 {
            self.now_ns = self.clock.now_ns();
            self.looks = self.most_looks;
        } else {
            self.looks -= 1;
        }
        self.controller.get_mut().poll(self.now_ns)
    }

    /// Lets the device work; returns whether there was any work.
    #[inline]
    pub fn poll(&self) -> bool {
        self.controller.borrow_mut().poll(self.clock.now_ns())
    }
}

/// Why an embedded device could not be created.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// Memory for the registers cannot be allocated.
    #[error("memory for registers: {0}")]
    Memory(std::io::Error),
    /// A thread cannot be started.
    #[error("a thread for the device: {0}")]
    Thread(std::io::Error),
    /// The controller cannot be created.
    #[error(transparent)]
    Controller(#[from] ControllerError),
}

/// Creates an eventfd for a vector.
pub(crate) fn connect(interrupts: &InterruptTable, vector: u16) -> Result<Interrupt, PciError> {
    let failed = |source| PciError::System { what: "an event for an interrupt".to_owned(), source };
    let interrupt = Interrupt::new().map_err(failed)?;
    let exists = interrupts.connect(vector, Some(interrupt.clone()));
    exists.then_some(interrupt).ok_or(PciError::NoVector { vector, available: interrupts.count() })
}

impl PciFunction for Embedded {
    fn read_u32(&self, offset: u32) -> u32 {
        self.poll();
        self.registers.read(offset)
    }

    fn write_u32(&self, offset: u32, value: u32) {
        self.registers.write_checked(offset, value, self.subsystem.config.queue_pairs);
    }

    fn mapped_registers(&self, offset: u32) -> Option<SharedBytes> {
        let offset = offset as usize;
        self.registers.memory().window(offset, REGISTER_BYTES.checked_sub(offset)?)
    }

    fn interrupt(&mut self, vector: u16) -> Result<Interrupt, PciError> {
        connect(&self.interrupts, vector)
    }

    fn reset(&mut self) -> Result<(), PciError> {
        if self.registers.is_gone() {
            return Err(PciError::Gone("it was removed".to_owned()));
        }
        self.controller.borrow_mut().reset_function();
        while self.poll() {}
        Ok(())
    }

    #[inline]
    fn pause(&self, at_most: Duration) {
        let mut controller = self.controller.borrow_mut();
        let now_ns = self.clock.now_ns();
        if !self.is_simulated {
            controller.poll(now_ns);
            return;
        }
        let before = controller.posted();
        controller.poll(now_ns);
        if controller.posted() != before {
            return;
        }
        let longest_ns = u64::try_from(at_most.as_nanos()).unwrap_or(u64::MAX);
        let until_ns = controller.next_event_ns().map_or(longest_ns, |next_ns| next_ns.saturating_sub(now_ns));
        self.clock.advance(until_ns.min(longest_ns));
        controller.poll_due(self.clock.now_ns());
    }
}

impl DmaMapper for Embedded {
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
