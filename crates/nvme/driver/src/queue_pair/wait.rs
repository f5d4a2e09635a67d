//! Waits for completions by polling, by sleeping, or by polling first and then sleeping.

use std::time::Duration;

use super::QueuePair;
use crate::error::DriverError;
use crate::transport::{Completions, Transport};

/// Polls between two readings of the clock, for a device that runs in another thread or machine.
const LOOKS: u32 = 64;
/// How far a poll advances a simulated clock that the device has not advanced. Otherwise the clock
/// would stand still.
const SIMULATED_LOOK_NS: u64 = 10_000;
/// The longest sleep. It bounds the cost of a lost interrupt; time-outs are checked after it.
const LONGEST_SLEEP_NS: u64 = 10_000_000;

impl<T: Transport> QueuePair<T> {
    /// Waits until a reap would return something or `timeout_ns` have passed. Returns whether a
    /// reap would return something.
    pub fn wait(&mut self, timeout_ns: u64) -> Result<bool, DriverError> {
        let start_ns = self.shared.clock.now_ns();
        let end_ns = start_ns.saturating_add(timeout_ns);
        let spin_end_ns = start_ns.saturating_add(self.cold.options.wait.spin_ns());
        let mut now_ns = start_ns;
        loop {
            // This comes first, because a device in this thread does nothing while the driver
            // polls.
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
            self.run_checks()?;
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

    fn has_completions(&mut self) -> bool {
        !self.pending.is_empty() || self.queue.peek().is_some()
    }

    /// Lets a device in this thread work. With a simulated clock, the device also lets time pass
    /// until it has a completion, which then arrives at its exact time.
    fn let_device_work(&mut self, at_most_ns: u64) {
        let before_ns = self.shared.clock.now_ns();
        // A device in another thread or machine would sleep for all of this time.
        let pause_ns = if self.cold.is_simulated { at_most_ns.min(LONGEST_SLEEP_NS) } else { 0 };
        self.queue.let_controller_work(Duration::from_nanos(pause_ns));
        if self.cold.is_simulated && self.shared.clock.now_ns() == before_ns && !self.has_completions() {
            self.shared.clock.advance(SIMULATED_LOOK_NS);
        }
    }

    /// Sleeps until the device signals. No completion is missed: the device writes the completion
    /// before it signals, and the signal stays until it is taken.
    fn sleep(&mut self, at_most_ns: u64) -> Result<(), DriverError> {
        if self.has_completions() {
            return Ok(());
        }
        if !self.queue.sleep(Duration::from_nanos(at_most_ns))? {
            self.shared.clock.advance(at_most_ns);
        }
        Ok(())
    }
}
