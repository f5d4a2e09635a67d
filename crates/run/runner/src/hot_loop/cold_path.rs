//! The rare work of the loop: new batches, refusals, flushes, short transfers, errors, the end.

use iolab_engine::{Completion, Lane, Submission, Wait};
use iolab_measure::Recorder;

use crate::hot_loop::checker::{Checker, Placed};
use crate::hot_loop::queue::Pause;
use crate::hot_loop::{ADMISSION_NS, HotLoop};
use crate::pacing::Pacer;

impl<L: Lane, R: Recorder, P: Pacer, C: Checker> HotLoop<'_, L, R, P, C> {
    /// The next operations of the stream, or of its next pass.
    #[cold]
    pub(crate) fn refill(&mut self) -> bool {
        if self.stream.fill(&mut self.batch) == 0 {
            if !self.watch.begin_next_pass() {
                return false;
            }
            self.stream.restart();
            if let Some(paced) = self.pacer.paced() {
                paced.begin_pass();
            }
            // After a pass without operations, no later pass would have any either.
            if self.stream.fill(&mut self.batch) == 0 {
                return false;
            }
        }
        self.cached.drop_pages(self.stream.begun_again());
        true
    }

    /// Nothing more is sent; `over` if that is because the stream has ended.
    #[cold]
    pub(crate) fn stop_pacing(&mut self, now: u64, over: bool) {
        if let Some(paced) = self.pacer.paced() {
            paced.stop(now, over);
        }
    }

    /// Everything but plain success: flushes, short transfers, errors.
    #[cold]
    fn unusual(&mut self, completion: Completion, now: u64) {
        let slot = self.slots.stamped(completion.slot);
        let sync = slot.op.kind.is_sync();
        let short = completion.result > 0 && !sync && (completion.result as u32) < slot.op.length;
        if short && self.resubmit_rest(completion) {
            return;
        }
        let sendable_ns = self.pacer.completed(&slot, now);
        if C::CHECKS {
            if let Some(complaint) = self.checker.complaint(completion.slot) {
                // The read itself has succeeded.
                self.recorder.completed(&slot.sample(Self::intended_ns(&slot), sendable_ns, now));
                self.trouble.mismatch(complaint);
                self.watch.look_at_once();
                self.slots.take_back(completion.slot);
                self.in_flight -= 1;
                return;
            }
            self.checker.done(&slot.op, completion.result >= 0 && sync);
        }
        let done = short || (completion.result >= 0 && sync);
        if sync && (done || self.trouble.failed(&slot.op, completion.result, &mut self.recorder)) {
            self.recorder.tally().sync.add(now.saturating_sub(slot.begun_ns));
        } else if !done && !sync && self.trouble.failed(&slot.op, completion.result, &mut self.recorder) {
            self.recorder.completed(&slot.sample(Self::intended_ns(&slot), sendable_ns, now));
        } else if !done {
            self.watch.look_at_once();
        }
        self.slots.take_back(completion.slot);
        self.in_flight -= 1;
    }

    /// Sends the rest of a short transfer. The lane keeps the slot, and the stamps stay those of
    /// the whole operation.
    fn resubmit_rest(&mut self, completion: Completion) -> bool {
        let slot = self.slots.get_mut(completion.slot);
        let moved = completion.result as u32;
        slot.op.offset += u64::from(moved);
        slot.op.buffer_offset += moved;
        slot.op.length -= moved;
        let op = slot.op;
        if let Some(direction) = op.kind.direction() {
            self.recorder.tally().short[direction.index()] += 1;
        }
        if self.lane.submit(&op) == Submission::Accepted {
            if self.lane.flush().is_ok() {
                return true;
            }
        } else {
            self.trouble.refused(&op, libc::EAGAIN, &mut self.recorder);
        }
        self.watch.look_at_once();
        false
    }

    /// Collects what is in flight; nothing new is sent.
    #[cold]
    pub(crate) fn drain(&mut self) -> u64 {
        const PATIENCE_NS: u64 = 100_000_000;
        let mut now = self.clock.now_ns();
        if self.unflushed > 0 {
            self.flush(now);
        }
        while self.in_flight > 0 && !self.trouble.lane_is_broken() && !self.watch.abandon() {
            now = self.collect(Wait { at_least: 1, timeout_ns: PATIENCE_NS });
        }
        for direction in self.slots.held().filter_map(|op| op.kind.direction()) {
            self.recorder.tally().dropped[direction.index()] += 1;
        }
        self.trouble.abandoned(self.in_flight);
        now
    }

    /// The lane is full, or refuses this operation.
    #[cold]
    pub(crate) fn not_accepted(&mut self, answer: Submission) -> Pause {
        if let Submission::Refused(errno) = answer
            && let Some(op) = self.batch.pop_front()
        {
            if let Some(paced) = self.pacer.paced() {
                paced.pass_over();
            }
            self.trouble.refused(&op, errno, &mut self.recorder);
            self.watch.look_at_once();
        }
        Pause::Full
    }

    /// The next operation has no place now. Returns why nothing can be sent, if so.
    #[cold]
    pub(crate) fn not_placed(&mut self, why: Placed, now: u64) -> Option<Pause> {
        match why {
            Placed::Refused(errno) => Some(self.not_accepted(Submission::Refused(errno))),
            Placed::Over => Some(Pause::Over),
            Placed::At(_) | Placed::Later => Some(Pause::Until(now + ADMISSION_NS)),
            Placed::Nowhere => {
                if let Some(paced) = self.pacer.paced() {
                    paced.pass_over();
                }
                let _ = self.batch.pop_front();
                // After each batch, the loop looks at the time.
                self.batch.is_empty().then_some(Pause::Until(now))
            }
        }
    }

    /// Handles the completions that the counting skipped.
    #[cold]
    pub(crate) fn unusual_ones(&mut self, now: u64) {
        for index in 0..self.done.as_slice().len() {
            let completion = self.done.as_slice()[index];
            let slot = self.slots.get(completion.slot);
            // The plain ones have been counted, and their slots are unchanged.
            if !slot.is_plain(completion.result) {
                self.unusual(completion, now);
            }
        }
    }
}
