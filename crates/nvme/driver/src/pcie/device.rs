//! The PCI function, shared by the transport and its queues.
//!
//! This is not on the hot path: registers, mappings, and calls for doorbells that cannot be mapped.
//! A command whose doorbell is mapped needs nothing from here.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolab_pci_device::PciDevice;

/// A handle on the function.
#[derive(Clone)]
pub(crate) struct DeviceHandle {
    device: Arc<Mutex<Box<dyn PciDevice>>>,
}

impl fmt::Debug for DeviceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceHandle").finish_non_exhaustive()
    }
}

impl DeviceHandle {
    pub(crate) fn new(device: Box<dyn PciDevice>) -> DeviceHandle {
        DeviceHandle { device: Arc::new(Mutex::new(device)) }
    }

    /// Locks the function. If a thread panicked while it held the lock, the next time-out finds out
    /// what is wrong with the device.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Box<dyn PciDevice>> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The function, if no other thread has locked it.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Box<dyn PciDevice>>> {
        self.device.try_lock().ok()
    }
}
