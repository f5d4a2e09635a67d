//! An embedded device that the driver's cold part and the lane share. It works whenever one of them
//! polls it.
//!
//! A lane and its driver are one thread, so the device is nearly always free. The lane locks it for
//! every poll, so the lock is one flag. A thread that finds it locked spins for as long as one poll
//! takes.
//!
//! Unsafe because the flag, and not the compiler, excludes simultaneous use.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iolab_memory::SharedBytes;
use iolab_pci_device::{DmaBuffer, DmaMapper, Interrupt, MapError, PciError, PciFunction};
use iolab_virtual_ssd::Embedded;

/// A handle on the device.
#[derive(Debug, Clone)]
pub(crate) struct InlineDevice {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    is_taken: AtomicBool,
    device: UnsafeCell<Embedded>,
}

// SAFETY: the device is only reached through a `Guard`, of which there is one at a time (`take`),
// and may be used by whichever thread holds it, because `Embedded` is `Send`.
unsafe impl Sync for Shared where Embedded: Send {}

/// Exclusive access to the device.
struct Guard<'a> {
    shared: &'a Shared,
}

impl Shared {
    #[inline(always)]
    fn take(&self) -> Guard<'_> {
        while self.is_taken.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        Guard { shared: self }
    }
}

impl Deref for Guard<'_> {
    type Target = Embedded;

    #[inline(always)]
    fn deref(&self) -> &Embedded {
        // SAFETY: whoever has a guard has found the flag free and set it, and no other guard exists
        // until it is dropped.
        unsafe { &*self.shared.device.get() }
    }
}

impl DerefMut for Guard<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Embedded {
        // SAFETY: as in deref; the guard is borrowed for as long as the answer is used.
        unsafe { &mut *self.shared.device.get() }
    }
}

impl Drop for Guard<'_> {
    /// Also unlocks when the device panics. Then it is broken like a failed real device, and the
    /// driver's time-outs handle it.
    #[inline(always)]
    fn drop(&mut self) {
        self.shared.is_taken.store(false, Ordering::Release);
    }
}

impl InlineDevice {
    pub(crate) fn new(device: Embedded) -> InlineDevice {
        InlineDevice { shared: Arc::new(Shared { is_taken: AtomicBool::new(false), device: UnsafeCell::new(device) }) }
    }

    #[inline(always)]
    fn take(&self) -> Guard<'_> {
        self.shared.take()
    }

    /// Lets the device work.
    #[inline]
    pub(crate) fn poll(&self) {
        self.take().work();
    }
}

impl PciFunction for InlineDevice {
    fn read_u32(&self, offset: u32) -> u32 {
        self.take().read_u32(offset)
    }

    fn write_u32(&self, offset: u32, value: u32) {
        self.take().write_u32(offset, value);
    }

    fn mapped_registers(&self, offset: u32) -> Option<SharedBytes> {
        self.take().mapped_registers(offset)
    }

    fn interrupt(&mut self, vector: u16) -> Result<Interrupt, PciError> {
        self.take().interrupt(vector)
    }

    fn reset(&mut self) -> Result<(), PciError> {
        self.take().reset()
    }

    fn pause(&self, at_most: Duration) {
        self.take().pause(at_most);
    }
}

impl DmaMapper for InlineDevice {
    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError> {
        self.take().map(memory)
    }

    fn unmap(&mut self, address: u64) -> Result<(), MapError> {
        self.take().unmap(address)
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, MapError> {
        self.take().allocate(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_clock::Clock;
    use iolab_virtual_ssd::{Config, Subsystem};

    #[test]
    fn threads_take_turns_and_a_panic_lets_go() {
        let drive = Subsystem::new(Config::parse("size=1M media=null").unwrap()).unwrap();
        let device = InlineDevice::new(Embedded::new(&drive, Clock::best().0).unwrap());
        let version = device.read_u32(8);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        device.poll();
                        assert_eq!(device.read_u32(8), version);
                    }
                });
            }
        });
        let other = device.clone();
        let panicked = std::thread::spawn(move || {
            let _guard = other.take();
            std::panic::resume_unwind(Box::new("with the device taken"));
        });
        assert!(panicked.join().is_err());
        assert_eq!(device.read_u32(8), version);
    }
}
