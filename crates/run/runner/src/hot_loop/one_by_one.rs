//! The short path through the hot loop for a queue of depth 1: one operation, its completion, one
//! stamp.
//!
//! It does what the loop does for the same operations, and nothing else: anything but a plain
//! success in time is left to the loop, in the state that the loop expects. It is used if
//! operations need no preparation: no schedule, no buffer to fill, nothing to check.
//!
//! The stamp of a completion is also the beginning of the next operation. Counting the completed
//! operation takes some nanoseconds in between, which become part of the next operation's latency.
//! In return, every moment belongs to the latency of some operation.

use iolab_engine::{Completion, Lane, Submission, Wait};
use iolab_measure::{Recorder, Run};
use iolab_workload::OpBatch;

use crate::hot_loop::HotLoop;
use crate::hot_loop::checker::Checker;
use crate::hot_loop::slots::Slot;
use crate::pacing::Pacer;

impl<L: Lane, R: Recorder, P: Pacer, C: Checker> HotLoop<'_, L, R, P, C> {
    /// Whether this worker may take the short path at all.
    pub(crate) fn goes_one_by_one(&self) -> bool {
        !P::PACED && !C::CHECKS && self.queue.depth == 1 && self.queue.wait_for == 1 && self.filler.is_none()
    }

    /// Performs operations of the batch, the first begun at `now`, until the loop has something to
    /// do. Nothing must be in flight. Returns the last stamp.
    #[inline(always)]
    pub(crate) fn one_by_one(&mut self, now: u64) -> u64 {
        let until_ns = self.watch.next_ns().min(self.recorder.next_tick_ns());
        if now >= until_ns {
            return now;
        }
        if self.lane.performs() {
            return self.perform_all(now, until_ns);
        }
        let mut now = now;
        let mut turns = 0;
        let mut answer = Submission::Accepted;
        let mut reaped = Ok(0);
        let mut left_over = false;
        let HotLoop { lane, recorder, clock, batch, slots, done, .. } = self;
        let slot = slots.only();
        for op in batch.as_slice() {
            slot.op = *op;
            answer = lane.submit(&slot.op);
            if answer != Submission::Accepted {
                break;
            }
            slot.give();
            slot.begun_ns = now;
            slot.submitted_ns = now;
            turns += 1;
            let wait = Wait { at_least: 1, timeout_ns: until_ns.saturating_sub(now).max(1) };
            done.clear();
            reaped = if R::STAMPS && !lane.fuses() && !lane.is_synchronous() {
                let flushed = lane.flush();
                slot.submitted_ns = clock.now_ns();
                flushed.and_then(|()| lane.reap(wait, done))
            } else {
                lane.flush_and_reap(wait, done)
            };
            now = clock.now_ns();
            let plain = matches!(done.as_slice(), [Completion { slot: 0, result }] if slot.is_plain(*result));
            if !plain || now >= until_ns || reaped.is_err() {
                left_over = true;
                break;
            }
            slot.take();
            Self::count_only(recorder, slot, now);
        }
        self.end_turns(turns, left_over);
        if left_over {
            return self.count(reaped, now);
        }
        if answer != Submission::Accepted {
            self.not_accepted(answer);
        }
        now
    }

    /// Counts the operation of the only slot, a plain success.
    #[inline(always)]
    fn count_only(recorder: &mut R, slot: &Slot, now: u64) {
        if R::EACH {
            recorder.completed(&slot.sample(slot.begun_ns, slot.begun_ns, now));
            return;
        }
        recorder.completed_run(&Run {
            direction: slot.direction(),
            count: 1,
            bytes: u64::from(slot.op.length),
            begun_ns: slot.begun_ns,
            submitted_ns: slot.submitted_ns,
            reaped_ns: now,
        });
    }

    /// The short path for a lane that performs an operation in one call: it is never full and needs
    /// no reaping.
    #[inline(always)]
    fn perform_all(&mut self, now: u64, until_ns: u64) -> u64 {
        let mut now = now;
        let mut turns = 0;
        let mut answer = Submission::Accepted;
        let mut left_over = false;
        let HotLoop { lane, recorder, clock, batch, slots, done, .. } = self;
        let slot = slots.only();
        for op in batch.as_slice() {
            slot.op = *op;
            let result = match lane.perform(&slot.op) {
                Ok(result) => result,
                Err(errno) => {
                    answer = Submission::Refused(errno);
                    break;
                }
            };
            slot.give();
            slot.begun_ns = now;
            slot.submitted_ns = now;
            turns += 1;
            now = clock.now_ns();
            if !slot.is_plain(result) || now >= until_ns {
                done.clear();
                done.push(Completion { slot: 0, result });
                left_over = true;
                break;
            }
            slot.take();
            Self::count_only(recorder, slot, now);
        }
        self.end_turns(turns, left_over);
        if left_over {
            return self.count(Ok(1), now);
        }
        if answer != Submission::Accepted {
            self.not_accepted(answer);
        }
        now
    }

    /// Accounts for this number of turns. If `left_over`, the last one is left for the loop to
    /// count.
    #[inline(always)]
    fn end_turns(&mut self, turns: usize, left_over: bool) {
        let HotLoop { batch, recorder, .. } = self;
        OpBatch::skip(batch, turns);
        let tally = recorder.tally();
        tally.took_turns(turns as u64, (turns - usize::from(left_over)) as u64);
        if left_over {
            self.slots.hand_over_only();
            self.in_flight = 1;
        }
    }
}
