//! MSI-X vectors as eventfds.
//!
//! Kernels before 6.5 allocate a function's vectors only once, when the first one is enabled.
//! Therefore all vectors that may ever be needed are allocated then, without events, and each gets
//! its event when it is requested. No signal of the device is lost.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use iolab_pci_device::{Interrupt, PciError};

use crate::abi::{self, DEVICE_SET_IRQS};
use crate::system_call;

/// More vectors than a controller has queues here. Some functions have thousands of vectors.
const MOST_VECTORS: u16 = 256;
/// A vector without an event.
const NO_EVENT: i32 = -1;

#[derive(Debug)]
pub(crate) struct Interrupts {
    /// How many vectors the function has.
    available: u16,
    /// How many the kernel has allocated; 0 before the first request.
    taken: u16,
    events: BTreeMap<u16, Interrupt>,
}

impl Interrupts {
    pub(crate) fn new(available: u16) -> Interrupts {
        Interrupts { available, taken: 0, events: BTreeMap::new() }
    }

    /// The event of a vector.
    pub(crate) fn connect(&mut self, device: impl AsFd, vector: u16) -> Result<Interrupt, PciError> {
        if let Some(event) = self.events.get(&vector) {
            return Ok(event.clone());
        }
        let refused = |source| PciError::System { what: format!("interrupt vector {vector}"), source };
        if self.taken == 0 && self.available > 0 {
            self.taken = take_vectors(&device, self.available.min(MOST_VECTORS)).map_err(refused)?;
        }
        if vector >= self.taken {
            return Err(PciError::NoVector { vector, available: self.taken });
        }
        let event = Interrupt::new().map_err(refused)?;
        let mut order = abi::set_events(u32::from(vector), &[event.as_fd().as_raw_fd()]);
        system_call::with_words(&device, DEVICE_SET_IRQS, &mut order).map_err(refused)?;
        self.events.insert(vector, event.clone());
        Ok(event)
    }
}

/// Allocates `wanted` vectors, or as many as the kernel has, and returns their number.
fn take_vectors(device: impl AsFd, wanted: u16) -> io::Result<u16> {
    let mut order = abi::set_events(0, &vec![NO_EVENT; usize::from(wanted)]);
    // A positive answer is a refusal with the number of available vectors.
    match system_call::with_words(&device, DEVICE_SET_IRQS, &mut order)? {
        0 => Ok(wanted),
        fewer => match u16::try_from(fewer) {
            Ok(fewer) if fewer < wanted => take_vectors(device, fewer),
            _ => Err(io::ErrorKind::OutOfMemory.into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_without_vectors_says_so() {
        let file = tempfile::tempfile().unwrap();
        let error = Interrupts::new(0).connect(&file, 0).unwrap_err();
        assert!(matches!(error, PciError::NoVector { vector: 0, available: 0 }), "{error}");
        let error = Interrupts::new(4).connect(&file, 0).unwrap_err();
        assert!(matches!(error, PciError::System { .. }), "a file is no device: {error}");
    }
}
