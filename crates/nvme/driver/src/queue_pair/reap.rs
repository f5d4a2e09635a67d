//! Collects completions. Each is checked against the command that it names.

use std::sync::atomic::Ordering;

use iolab_nvme_spec::{CompletionEntry, Status};

use super::slot::AbortState;
use super::{CommandOutcome, Completion, Loss, QueuePair};
use crate::error::{DriverError, ResetCause};
use crate::transport::{Completions, QueueLife, Submission, Transport};

impl<T: Transport> QueuePair<T> {
    /// Makes the accepted commands visible to the device, with at most one doorbell.
    #[inline(always)]
    pub fn flush(&mut self) {
        if self.current_epoch.load(Ordering::Acquire) != self.epoch {
            // The controller was reset. Accepted commands are resent through the new queues.
            self.resume_after_reset();
            return;
        }
        self.queue.flush();
    }

    /// Calls `each` with up to `max` completed commands, and returns their number. Their slots are
    /// free at once.
    ///
    /// An error means that the controller was given up. Then no command is in flight: all of them
    /// have already been returned as lost.
    #[inline]
    pub fn reap(&mut self, max: usize, mut each: impl FnMut(Completion)) -> Result<usize, DriverError> {
        self.countdown = self.countdown.wrapping_sub(1);
        // Pending completions have set the countdown to 1.
        if self.countdown == 0 || self.current_epoch.load(Ordering::Acquire) != self.epoch {
            self.run_checks()?;
            let handed_out = self.hand_out(max, &mut each);
            if handed_out > 0 {
                return Ok(handed_out);
            }
        }
        let (mut reaped, mut held) = (0, 0);
        while reaped < max {
            let Some(entry) = self.queue.peek() else { break };
            match self.check(&entry) {
                Ok(completion) => {
                    self.queue.pop();
                    each(completion);
                    reaped += 1;
                }
                Err(Unusual::Held) => {
                    self.queue.pop();
                    held += 1;
                    self.countdown = 1;
                }
                Err(Unusual::Invalid(fault)) => {
                    self.reject_completion(fault);
                    break;
                }
            }
        }
        self.queue.consumed(reaped as u32 + held);
        Ok(reaped)
    }

    /// Checks that an entry answers a command in flight, and ends that command unless it is held.
    #[inline(always)]
    pub(super) fn check(&mut self, entry: &CompletionEntry) -> Result<Completion, Unusual> {
        let cid = entry.cid();
        let index = cid & self.slot_mask;
        let Some(slot) = self.slots.get_mut(usize::from(index)).filter(|slot| slot.expects(cid)) else {
            return Err(Unusual::Invalid(ResetCause::NotInFlight { queue: self.queue.id(), cid }));
        };
        self.queue.check(entry).map_err(Unusual::Invalid)?;
        let status = entry.status();
        let outcome = if status.is_success() {
            CommandOutcome::Done
        } else {
            if self.cold.hold((index, &mut *slot), self.cid_step, status, self.shared.clock.now_ns()) {
                return Err(Unusual::Held);
            }
            failure(status, slot.abort)
        };
        slot.finish(self.cid_step);
        // These are nearly always zero already, but a store is cheaper than a comparison.
        (slot.abort, slot.replays) = (AbortState::NotSent, 0);
        self.in_flight -= 1;
        Ok(Completion { slot: index, outcome, result: entry.result() })
    }

    /// The number of commands that were accepted and not yet returned.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.in_flight + self.pending.len() as u32
    }

    #[cold]
    fn hand_out(&mut self, max: usize, each: &mut impl FnMut(Completion)) -> usize {
        let count = self.pending.len().min(max);
        self.pending.drain(..count).for_each(each);
        if !self.pending.is_empty() {
            self.countdown = 1;
        }
        count
    }
}

/// Why a completion does not end its command.
#[derive(Debug)]
pub(super) enum Unusual {
    /// The path refused the command, which is resent.
    Held,
    /// It answers no command that was sent.
    Invalid(ResetCause),
}

#[cold]
fn failure(status: Status, abort: AbortState) -> CommandOutcome {
    if abort == AbortState::Sent && status.code() == Status::ABORT_REQUESTED {
        return CommandOutcome::Lost(Loss::TimedOut);
    }
    CommandOutcome::Failed(status)
}
