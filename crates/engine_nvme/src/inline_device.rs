//! An embedded device that the driver's cold part and the lane both reach: it works whenever either of them asks it to.
//!
//! The lock is never waited for: a lane and its driver are one thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolab_memory::SharedBytes;
use iolab_pci_device::{DmaBuffer, DmaMapper, Interrupt, MapError, PciError, PciFunction};
use iolab_virtual_ssd::Embedded;

/// A handle on the device.
#[derive(Debug, Clone)]
pub(crate) struct InlineDevice {
    device: Arc<Mutex<Embedded>>,
}

impl InlineDevice {
    pub(crate) fn new(device: Embedded) -> InlineDevice {
        InlineDevice { device: Arc::new(Mutex::new(device)) }
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Embedded> {
        // A device that panicked is as broken as a real one may be: the driver's time-outs deal with it.
        self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the device work.
    #[inline]
    pub(crate) fn poll(&self) {
        self.lock().poll();
    }
}

impl PciFunction for InlineDevice {
    fn read_u32(&self, offset: u32) -> u32 {
        self.lock().read_u32(offset)
    }

    fn write_u32(&self, offset: u32, value: u32) {
        self.lock().write_u32(offset, value);
    }

    fn mapped_registers(&self, offset: u32) -> Option<SharedBytes> {
        self.lock().mapped_registers(offset)
    }

    fn interrupt(&mut self, vector: u16) -> Result<Interrupt, PciError> {
        self.lock().interrupt(vector)
    }

    fn reset(&mut self) -> Result<(), PciError> {
        self.lock().reset()
    }

    fn pause(&self, at_most: Duration) {
        self.lock().pause(at_most);
    }
}

impl DmaMapper for InlineDevice {
    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError> {
        self.lock().map(memory)
    }

    fn unmap(&mut self, address: u64) -> Result<(), MapError> {
        self.lock().unmap(address)
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, MapError> {
        self.lock().allocate(bytes)
    }
}
