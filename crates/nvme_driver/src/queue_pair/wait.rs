//! Waiting for completions: looking, sleeping, or first one and then the other.

use std::time::Duration;

use super::QueuePair;
use crate::error::DriverError;

/// Looks at the ring between two looks at the clock, at a device that works by itself.
const LOOKS: u32 = 64;
/// What a look costs on a clock that is simulated, where the device has not moved it: it would stand still otherwise.
const SIMULATED_LOOK_NS: u64 = 10_000;
/// The longest sleep: a lost interrupt costs no more, and time-outs are noticed.
const LONGEST_SLEEP_NS: u64 = 10_000_000;

impl QueuePair {
    /// Waits until a reap would hand something out or `timeout_ns` have passed; returns whether it would.
    pub fn wait(&mut self, timeout_ns: u64) -> Result<bool, DriverError> {
        let start_ns = self.shared.clock.now_ns();
        let end_ns = start_ns.saturating_add(timeout_ns);
        let spin_end_ns = start_ns.saturating_add(self.cold.options.wait.spin_ns());
        let mut now_ns = start_ns;
        loop {
            // First of all: a device inside this thread does nothing while somebody looks at the ring.
            self.let_device_work(end_ns - now_ns);
            for _ in 0..LOOKS {
                if self.has_completions() {
                    return Ok(true);
                }
                if self.cold.is_simulated {
                    break;
                }
                std::hint::spin_loop();
            }
            self.attend()?;
            if self.has_completions() {
                return Ok(true);
            }
            now_ns = self.shared.clock.now_ns();
            self.check_time();
            if now_ns >= end_ns {
                return Ok(self.has_completions());
            }
            if now_ns >= spin_end_ns {
                self.sleep((end_ns - now_ns).min(LONGEST_SLEEP_NS))?;
            }
        }
    }

    fn has_completions(&self) -> bool {
        !self.pending.is_empty() || self.cq.peek().is_some()
    }

    /// A device that lives in this thread works now; others are not held up. With a simulated clock it also lets time pass
    /// until it has something to tell, which is then told at its very time.
    fn let_device_work(&self, at_most_ns: u64) {
        let clock = &self.shared.clock;
        let before_ns = clock.now_ns();
        // A device of another thread or machine would sleep for as long as it is told.
        let pause_ns = if self.cold.is_simulated { at_most_ns.min(LONGEST_SLEEP_NS) } else { 0 };
        if let Some(cold) = self.shared.try_lock() {
            cold.device.pause(Duration::from_nanos(pause_ns));
        }
        if self.cold.is_simulated && clock.now_ns() == before_ns && !self.has_completions() {
            clock.advance(SIMULATED_LOOK_NS);
        }
    }

    /// Sleeps until the device signals. Whatever it has completed before is seen first: it writes the completion, then
    /// signals, and the signal stays until it is taken.
    fn sleep(&self, at_most_ns: u64) -> Result<(), DriverError> {
        let Some(interrupt) = &self.cold.interrupt else { return Ok(()) };
        if self.has_completions() {
            return Ok(());
        }
        match interrupt.wait(Duration::from_nanos(at_most_ns)) {
            Ok(true) => {}
            Ok(false) => self.shared.clock.advance(at_most_ns),
            Err(source) => {
                let what = "waiting for an interrupt of the device".into();
                return Err(iolab_pci_device::PciError::System { what, source }.into());
            }
        }
        Ok(())
    }
}
