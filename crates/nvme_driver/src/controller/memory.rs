//! Memory of the caller that the device reaches: mapped through the controller, because it owns the device.

use iolab_pci_device::{DmaBuffer, DmaMapper, MapError, SharedBytes};

use super::Controller;

impl DmaMapper for Controller {
    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError> {
        self.shared.lock().device.map(memory)
    }

    /// Every command that names the memory has been reaped.
    fn unmap(&mut self, address: u64) -> Result<(), MapError> {
        self.shared.lock().device.unmap(address)
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, MapError> {
        self.shared.lock().device.allocate(bytes)
    }
}
