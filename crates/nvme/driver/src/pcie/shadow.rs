//! The two buffers of shadow doorbells (Doorbell Buffer Config, Base, section 5.7).
//!
//! All I/O queues share them. They are passed to the controller each time it has been enabled.

use std::sync::atomic::{Ordering, fence};

use iolab_nvme_spec::{AdminOpcode, SubmissionEntry};
use iolab_pci_device::{DmaBuffer, MapError, PciDevice};

use super::doorbell::ShadowDoorbell;

/// The buffers, a memory page each.
#[derive(Debug)]
pub(crate) struct ShadowPages {
    values: DmaBuffer,
    events: DmaBuffer,
    page_bytes: u64,
    /// Whether the controller uses them.
    pub(crate) is_active: bool,
}

impl ShadowPages {
    pub(crate) fn allocate(device: &mut dyn PciDevice, page_bytes: u64) -> Result<ShadowPages, MapError> {
        let values = device.allocate(page_bytes as usize)?;
        let events = device.allocate(page_bytes as usize)?;
        Ok(ShadowPages { values, events, page_bytes, is_active: false })
    }

    /// Clears the buffers, and returns the command that hands them to the controller.
    pub(crate) fn command(&self) -> SubmissionEntry {
        for buffer in [&self.values, &self.events] {
            // Threads whose queues have not yet noticed the reset still use these words.
            buffer.memory.fill_words(0, self.page_bytes as usize, 0);
        }
        fence(Ordering::SeqCst);
        SubmissionEntry::new(AdminOpcode::DOORBELL_BUFFER_CONFIG.0, 0)
            .with_prps(self.values.address, self.events.address)
    }

    /// The words that replace the doorbell at this offset, if the controller uses them.
    pub(crate) fn doorbell(&self, offset: u64) -> Option<ShadowDoorbell> {
        if !self.is_active || offset + 4 > self.page_bytes {
            return None;
        }
        let value = self.values.memory.window(offset as usize, 4)?;
        let event = self.events.memory.window(offset as usize, 4)?;
        Some(ShadowDoorbell { value, event, last: 0 })
    }

    /// Bus addresses of the buffers.
    pub(crate) fn addresses(&self) -> [u64; 2] {
        [self.values.address, self.events.address]
    }
}
