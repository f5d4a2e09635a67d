//! Doorbells notify the device of new commands and of consumed completions.
//!
//! A doorbell is rung by a store into mapped registers where they can be mapped, and by a call
//! otherwise. With shadow doorbells (Base, section 5.7) the driver first writes the new value to
//! memory. It writes the register only if the device's EventIdx requests it for a value that was
//! passed.

use iolab_pci_device::{PciDevice, SharedBytes, SharedWord};

use super::device::DeviceHandle;
use super::sync::{Ordering, fence};

/// One doorbell of an I/O queue.
#[derive(Debug)]
pub(crate) struct Doorbell {
    /// The mapped register, if there is no shadow doorbell: then a store rings it.
    plain: Option<SharedWord>,
    /// The mapped register.
    mapped: Option<SharedWord>,
    /// Its offset in BAR 0.
    offset: u32,
    shadow: Option<ShadowDoorbell>,
}

/// The words in memory that replace one doorbell.
#[derive(Debug)]
pub(crate) struct ShadowDoorbell {
    /// The current value, written by the driver.
    pub(crate) value: SharedBytes,
    /// The value after which the device wants the register written.
    pub(crate) event: SharedBytes,
    /// The last written value.
    pub(crate) last: u32,
}

impl Doorbell {
    /// The doorbell at `offset` of BAR 0.
    pub(crate) fn new(device: &dyn PciDevice, offset: u32, shadow: Option<ShadowDoorbell>) -> Doorbell {
        let mapped = device.mapped_registers(offset).and_then(|registers| registers.word(0));
        let plain = if shadow.is_none() { mapped.clone() } else { None };
        Doorbell { plain, mapped, offset, shadow }
    }

    /// The doorbell at `offset` of BAR 0, always rung by a call, even if it is mapped.
    pub(crate) const fn by_call(offset: u32) -> Doorbell {
        Doorbell { plain: None, mapped: None, offset, shadow: None }
    }

    /// Starts at zero again, for a queue that was created again.
    pub(crate) fn restart(&mut self) {
        if let Some(shadow) = &mut self.shadow {
            shadow.last = 0;
            shadow.value.store_u32(0, 0, Ordering::Relaxed);
            shadow.event.store_u32(0, 0, Ordering::Release);
        }
    }

    /// Writes the new value for the device.
    #[inline(always)]
    pub(crate) fn ring(&mut self, device: &DeviceHandle, value: u32) {
        match &self.plain {
            Some(register) => register.store(value, Ordering::Release),
            None => self.ring_otherwise(device, value),
        }
    }

    /// A separate function, so that the doorbells of most queues cost a plain store.
    #[inline(never)]
    fn ring_otherwise(&mut self, device: &DeviceHandle, value: u32) {
        if self.shadow.as_mut().is_some_and(|shadow| !shadow.publish(value)) {
            return;
        }
        match &self.mapped {
            Some(register) => register.store(value, Ordering::Release),
            None => self.ring_by_call(device, value),
        }
    }

    #[cold]
    fn ring_by_call(&self, device: &DeviceHandle, value: u32) {
        device.lock().write_u32(self.offset, value);
    }
}

impl ShadowDoorbell {
    /// Writes the value to memory; returns `true` if the device wants the register written, too.
    fn publish(&mut self, value: u32) -> bool {
        self.value.store_u32(0, value, Ordering::Release);
        // The device writes EventIdx and then reads the value again; the driver writes the value
        // and then reads EventIdx. With a full barrier on both sides, at least one of them sees
        // what the other wrote.
        fence(Ordering::SeqCst);
        let event = self.event.load_u32(0, Ordering::Acquire);
        let before = std::mem::replace(&mut self.last, value);
        passed(event, value, before)
    }
}

/// Whether going from `before` to `value` passes `event`, in 16-bit arithmetic as the specification
/// defines it (Base, section B.5).
fn passed(event: u32, value: u32, before: u32) -> bool {
    let distance = (value as u16).wrapping_sub(event as u16).wrapping_sub(1);
    distance < (value as u16).wrapping_sub(before as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_register_is_written_when_the_event_index_is_passed() {
        for (event, value, before, expected) in [
            (0, 1, 0, true),
            (0, 2, 1, false),
            (1, 2, 1, true),
            (5, 9, 4, true),
            (9, 9, 4, false),
            (3, 9, 4, false),
            // At the end of a queue of eight entries, the value wraps around and the device is
            // notified.
            (7, 1, 6, true),
        ] {
            assert_eq!(passed(event, value, before), expected, "{event} {value} {before}");
        }
    }
}
