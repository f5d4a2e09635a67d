//! The fake device as a PCI function.

use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::time::Duration;

use iolab_clock::Clock;
use iolab_nvme_spec::registers::{Capabilities, Register, Version};
use iolab_pci_device::{
    DmaBuffer, DmaMapper, DmaTable, Interrupt, InterruptTable, MapError, PciError, PciFunction, SharedBytes,
};

use super::script::Script;
use super::state::State;

const DOORBELLS: u32 = 0x1000;

#[derive(Debug)]
pub(crate) struct Fake {
    table: DmaTable,
    doorbells: SharedBytes,
    script: Script,
    interrupts: InterruptTable,
    state: RefCell<State>,
    clock: Clock,
}

impl Fake {
    pub(crate) fn new(table: DmaTable, script: Script, clock: Clock) -> Fake {
        let doorbells = SharedBytes::anonymous(4096).unwrap();
        let interrupts = InterruptTable::with_vectors(4);
        let state = State::new(table.clone(), doorbells.clone(), script.clone(), interrupts.clone());
        Fake { table, doorbells, script, interrupts, state: RefCell::new(state), clock }
    }

    fn cap(&self) -> u64 {
        // Queues of up to 128 entries, two seconds to become ready, and several command sets.
        Capabilities(0).with_mqes(127).with_cqr(true).with_to(4).with_css(0x41).with_mpsmax(4).0
    }
}

impl PciFunction for Fake {
    fn read_u32(&self, offset: u32) -> u32 {
        let mut state = self.state.borrow_mut();
        if state.vanished {
            return u32::MAX;
        }
        match Register(offset) {
            Register::CAP => self.cap() as u32,
            Register(4) => (self.cap() >> 32) as u32,
            Register::VS => Version::V1_4.0,
            Register::CC => state.cc.0,
            Register::CSTS => state.status(),
            other => panic!("the driver reads {other:?}"),
        }
    }

    fn write_u32(&self, offset: u32, value: u32) {
        let mut state = self.state.borrow_mut();
        match Register(offset) {
            Register::CC => state.configure(value),
            Register::AQA => state.aqa = value,
            Register::ASQ => state.asq = state.asq & !0xffff_ffff | u64::from(value),
            Register(0x2c) => state.asq = state.asq & 0xffff_ffff | u64::from(value) << 32,
            Register::ACQ => state.acq = state.acq & !0xffff_ffff | u64::from(value),
            Register(0x34) => state.acq = state.acq & 0xffff_ffff | u64::from(value) << 32,
            Register(at) if at >= DOORBELLS => {
                self.doorbells.store_u32((at - DOORBELLS) as usize, value, Ordering::Release)
            }
            other => panic!("the driver writes {other:?}"),
        }
    }

    fn mapped_registers(&self, offset: u32) -> Option<SharedBytes> {
        if Script::is_set(&self.script.no_mapping) {
            return None;
        }
        let offset = offset.checked_sub(DOORBELLS)? as usize;
        self.doorbells.window(offset, self.doorbells.len().checked_sub(offset)?)
    }

    fn interrupt(&mut self, vector: u16) -> Result<Interrupt, PciError> {
        let interrupt = Interrupt::new().map_err(|source| PciError::System { what: "eventfd".into(), source })?;
        if self.interrupts.connect(vector, Some(interrupt.clone())) {
            return Ok(interrupt);
        }
        Err(PciError::NoVector { vector, available: self.interrupts.count() })
    }

    fn reset(&mut self) -> Result<(), PciError> {
        self.state.get_mut().configure(0);
        Ok(())
    }

    fn pause(&self, _at_most: Duration) {
        if !self.state.borrow_mut().work() {
            // The device has no work, so time passes until it has some.
            self.clock.advance(1_000_000);
        }
    }
}

impl DmaMapper for Fake {
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
