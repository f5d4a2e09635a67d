//! Waiting for completions: looking, sleeping, or first one and then the other.

use std::time::Duration;

use super::QueuePair;
use crate::error::DriverError;

/// Looks at the ring between two looks at the clock.
const LOOKS: u32 = 64;
/// What a look costs on a clock that is simulated: it would stand still otherwise.
const SIMULATED_LOOK_NS: u64 = 10_000;
/// The longest sleep: a lost interrupt costs no more, and time-outs are noticed.
const LONGEST_SLEEP_NS: u64 = 10_000_000;

impl QueuePair {
    /// Waits until a reap would hand something out or `timeout_ns` have passed; returns whether it would.
    pub fn wait(&mut self, timeout_ns: u64) -> Result<bool, DriverError> {
        let start_ns = self.shared.clock.now_ns();
        let end_ns = start_ns.saturating_add(timeout_ns);
        let spin_end_ns = start_ns.saturating_add(self.cold.options.wait.spin_ns());
        loop {
            for _ in 0..LOOKS {
                if self.has_completions() {
                    return Ok(true);
                }
                std::hint::spin_loop();
            }
            self.let_device_work();
            self.attend()?;
            if self.has_completions() {
                return Ok(true);
            }
            let now_ns = self.shared.clock.now_ns();
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

    /// A device that lives in this thread works now; others are not held up.
    fn let_device_work(&self) {
        if let Some(cold) = self.shared.try_lock() {
            cold.device.pause(Duration::ZERO);
        }
        self.shared.clock.advance(SIMULATED_LOOK_NS);
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
