//! Completions out of the ring, each checked against the command it claims to answer.

use std::sync::atomic::Ordering;

use iolab_nvme_spec::{CompletionEntry, Status};

use super::slot::Pursuit;
use super::{Completion, Loss, Outcome, QueuePair};
use crate::error::{DriverError, Fault};

impl QueuePair {
    /// Makes the accepted commands visible to the device: at most one doorbell.
    #[inline(always)]
    pub fn flush(&mut self) {
        if self.current_epoch.load(Ordering::Acquire) != self.epoch {
            // The queues of the old life are gone. What was accepted is sent with the new ones.
            self.rejoin();
            return;
        }
        self.ring_tail();
    }

    #[inline]
    pub(super) fn ring_tail(&mut self) {
        if let Some(tail) = self.sq.take_unrung() {
            self.sq_doorbell.ring(&self.shared, tail);
        }
    }

    /// Hands up to `max` ended commands to `each`, and returns how many. Their slots are free at once.
    ///
    /// An error means that the controller was given up and that no command is in flight any more: those that were have
    /// been handed out as lost before.
    #[inline]
    pub fn reap(&mut self, max: usize, mut each: impl FnMut(Completion)) -> Result<usize, DriverError> {
        self.countdown = self.countdown.wrapping_sub(1);
        // What is pending has set the countdown to its end.
        if self.countdown == 0 || self.current_epoch.load(Ordering::Acquire) != self.epoch {
            self.attend()?;
            let handed_out = self.hand_out(max, &mut each);
            if handed_out > 0 {
                return Ok(handed_out);
            }
        }
        let mut reaped = 0;
        while reaped < max {
            let Some(entry) = self.cq.peek() else { break };
            match self.check(&entry) {
                Ok(completion) => {
                    self.cq.pop();
                    each(completion);
                    reaped += 1;
                }
                Err(fault) => {
                    self.distrust(fault);
                    break;
                }
            }
        }
        if let Some(head) = self.cq.consumed(reaped as u32) {
            self.cq_doorbell.ring(&self.shared, head);
        }
        Ok(reaped)
    }

    /// Whether an entry answers a command that is in flight; if so, the command has ended.
    #[inline(always)]
    pub(super) fn check(&mut self, entry: &CompletionEntry) -> Result<Completion, Fault> {
        let cid = entry.cid();
        let index = cid & self.slot_mask;
        let Some(slot) = self.slots.get_mut(usize::from(index)).filter(|slot| slot.expects(cid)) else {
            return Err(Fault::NotInFlight { queue: self.qid, cid });
        };
        if entry.sqid() != self.qid {
            return Err(Fault::WrongQueue { queue: self.qid, sqid: entry.sqid() });
        }
        if !self.sq.fetched(entry.sqhd()) {
            return Err(Fault::BadHead { queue: self.qid, sqhd: entry.sqhd() });
        }
        let status = entry.status();
        let outcome = if status.is_success() { Outcome::Done } else { failure(status, slot.pursuit) };
        slot.finish(self.cid_step);
        // Rarely anything but zero; a store is cheaper than finding out.
        (slot.pursuit, slot.replays) = (Pursuit::None, 0);
        self.in_flight -= 1;
        Ok(Completion { slot: index, outcome, result: entry.result() })
    }

    /// Commands accepted and not handed back.
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

#[cold]
fn failure(status: Status, pursuit: Pursuit) -> Outcome {
    if pursuit == Pursuit::Aborted && status.code() == Status::ABORT_REQUESTED {
        return Outcome::Lost(Loss::TimedOut);
    }
    Outcome::Failed(status)
}
