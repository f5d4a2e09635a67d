//! The hot loop. Latency stamps are taken here and in [`one_by_one`], nowhere else.
//!
//! | file | what it has |
//! | --- | --- |
//! | this one | submitting, collecting, stamps |
//! | [`one_by_one`] | the shorter way for a queue of depth 1 |
//! | [`counting`] | what is counted for each completion |
//! | [`cached`] | the page cache between two passes over a file |
//! | [`checker`] | what is checked at completion, besides |
//! | [`slots`], [`bursts`], [`queue`] | who owns each slot, what was submitted together, how full the queue may be |
//! | [`cold_path`] | new batches, short transfers, errors, the end |
//!
//! Stamps of an operation: *intended* (what the pacer's schedule wanted), *begun* (the loop starts
//! to submit the burst that it belongs to, after filling its buffer if buffers are filled per
//! write), *submitted* (the lane's flush has returned; for lanes that complete inside `submit`, and
//! for lanes that submit and wait in one system call, the moment just before that call, which for a
//! single operation is begun), *reaped* (its completion has been collected). Operations submitted
//! together share begun and submitted, operations collected together share reaped.
//!
//! One stamp may end one phase and begin the next when almost nothing lies between: *submitted* of
//! a burst is *begun* of the burst behind it, and *reaped* is *begun* of the operation that follows
//! if no more than one completion was counted meanwhile. The time of counting it is then part of
//! the next operation's latency; it is not hidden. Anything that takes longer (a new batch, an
//! interval that ends, an error, several completions, a schedule) is followed by a stamp of its
//! own. At depth 1 the loop takes the short path of [`one_by_one`].
//!
//! Between the first and the last operation this file allocates nothing, takes no lock, logs
//! nothing and calls through no table; everything that is not needed for every operation is
//! `#[cold]` and lives elsewhere.

pub(crate) mod bursts;
pub(crate) mod cached;
pub(crate) mod checker;
mod cold_path;
mod counting;
mod one_by_one;
pub(crate) mod queue;
pub(crate) mod slots;

use iolab_clock::Clock;
use iolab_engine::{Completions, Lane, LaneError, OpKind, Submission, Wait};
use iolab_measure::Recorder;
use iolab_memory::SlotPool;
use iolab_workload::{BufferFiller, OpBatch, OpStream};

use self::cached::CachedFiles;
use self::checker::{Checker, Placed, Unchecked};
use self::queue::{Pause, Queue};
use self::slots::Slots;
use crate::pacing::{Pacer, Release};
use crate::trouble::Trouble;
use crate::watch::{Stop, Watch};

/// How long to wait before an operation that the checker did not admit is offered again.
pub(crate) const ADMISSION_NS: u64 = 50_000;

/// One worker's loop: a lane, a stream, a recorder, a pacer, a checker and the slots between them.
pub(crate) struct HotLoop<'a, L, R, P, C = Unchecked> {
    pub(crate) lane: L,
    pub(crate) recorder: R,
    pub(crate) pacer: P,
    pub(crate) checker: C,
    pub(crate) clock: &'a Clock,
    pub(crate) stream: OpStream,
    pub(crate) batch: OpBatch,
    /// Files that go through the page cache, whose pages are dropped when a pass begins again.
    pub(crate) cached: CachedFiles,
    /// Fills buffers before each write; `None` when their content does not change.
    pub(crate) filler: Option<BufferFiller>,
    pub(crate) pool: &'a mut SlotPool,
    pub(crate) slots: Slots,
    pub(crate) done: Completions,
    pub(crate) queue: Queue,
    pub(crate) watch: Watch<'a>,
    pub(crate) trouble: Trouble<'a>,
    /// Operations handed over since the last flush.
    pub(crate) unflushed: usize,
    pub(crate) in_flight: usize,
}

impl<L: Lane, R: Recorder, P: Pacer, C: Checker> HotLoop<'_, L, R, P, C> {
    /// Runs until the stream is over or the watch says stop, then drains. Returns why, and the last
    /// stamp.
    pub(crate) fn run(&mut self) -> (Stop, u64) {
        let mut now = self.clock.now_ns();
        let mut refilling = true;
        let one_by_one = self.goes_one_by_one();
        loop {
            if one_by_one && self.in_flight == 0 {
                now = self.one_by_one(now);
            }
            if now >= self.watch.next_ns() {
                if let Some(stop) = self.watch.look(now, &mut self.recorder, &mut self.trouble, &mut self.pacer) {
                    self.stop_pacing(now.min(self.watch.end_ns()), false);
                    return (stop, self.drain());
                }
                now = self.clock.now_ns();
            }
            let mut pause = Pause::Full;
            if refilling {
                pause = self.submit(now);
            }
            if self.in_flight == 0 {
                match pause {
                    Pause::Until(due_ns) => self.watch.sleep(self.clock, due_ns, self.pacer.busy_until_ns()),
                    Pause::Over => {
                        self.stop_pacing(now, true);
                        return (Stop::StreamOver, now);
                    }
                    // A lane that refuses operations while none is in flight has ended with an
                    // error.
                    Pause::Full => {}
                }
                now = self.clock.now_ns();
                refilling = true;
                continue;
            }
            let wait = self.wait_after(pause, now);
            now = self.collect(wait);
            refilling = self.in_flight <= self.queue.refill_at || pause != Pause::Full;
        }
    }

    /// Hands over operations until the queue is full, in bursts of one flush each. The last burst
    /// stays unflushed when the lane can submit and wait in one call.
    #[inline(always)]
    fn submit(&mut self, mut now: u64) -> Pause {
        // At most one completion has been counted since `now`: one stamp serves both.
        let is_now = !P::PACED && self.done.as_slice().len() <= 1;
        if (R::STAMPS || P::PACED) && !is_now {
            now = self.clock.now_ns();
        }
        loop {
            let mut begun_ns = now;
            let mut pause = Pause::Full;
            let burst = self.queue.burst_beside(self.in_flight - self.unflushed);
            while self.in_flight < self.queue.depth && self.unflushed < burst {
                if self.batch.is_empty() {
                    if !self.refill() {
                        pause = Pause::Over;
                        break;
                    }
                    if R::STAMPS && self.unflushed == 0 {
                        begun_ns = self.clock.now_ns();
                    }
                }
                let halt = if P::PACED || C::PLACES || self.filler.is_some() {
                    self.hand_over(&mut begun_ns)
                } else {
                    self.hand_over_all(begun_ns, burst)
                };
                if let Some(halt) = halt {
                    pause = halt;
                    break;
                }
            }
            let more = pause == Pause::Full && self.in_flight < self.queue.depth && self.unflushed > 0;
            if self.unflushed == 0 || (!more && self.lane.fuses() && !P::PACED && self.queue.wait_for > 0) {
                return pause;
            }
            now = self.flush(now);
            if !more {
                return pause;
            }
            if self.lane.is_synchronous() && (R::STAMPS || P::PACED) {
                now = self.clock.now_ns();
            }
        }
    }

    /// Submits as many operations as the lane has room for. None of them needs preparation.
    #[inline(always)]
    fn hand_over_all(&mut self, begun_ns: u64, burst: usize) -> Option<Pause> {
        let HotLoop { batch, slots, lane, .. } = self;
        let room = (self.queue.depth - self.in_flight).min(burst - self.unflushed);
        let ops = batch.as_slice();
        let (accepted, answer) = slots.hand_over_all(&ops[..ops.len().min(room)], begun_ns, |op| lane.submit(op));
        batch.skip(accepted);
        self.in_flight += accepted;
        self.unflushed += accepted;
        (answer != Submission::Accepted).then(|| self.not_accepted(answer))
    }

    /// Submits the next operation of the stream. Returns why the lane did not accept it, if it did
    /// not.
    #[inline(always)]
    fn hand_over(&mut self, begun_ns: &mut u64) -> Option<Pause> {
        let HotLoop { batch, slots, pacer, lane, filler, pool, checker, .. } = self;
        let placed_op;
        let mut op = batch.peek()?;
        let intended_ns = match pacer.release(op, *begun_ns) {
            Release::Now => *begun_ns,
            Release::Intended(at_ns) => at_ns,
            Release::Wait(until_ns) => return Some(Pause::Until(until_ns)),
            Release::Over => return Some(Pause::Over),
        };
        if C::PLACES {
            match checker.place(op, lane) {
                Placed::At(at) => {
                    placed_op = at;
                    op = &placed_op;
                }
                unplaced => return self.not_placed(unplaced, *begun_ns),
            }
        }
        if C::CHECKS && !checker.admit(op) {
            return Some(Pause::Until(*begun_ns + ADMISSION_NS));
        }
        let Some(slot) = slots.prepare(op) else { return Some(Pause::Full) };
        if op.kind == OpKind::Write
            && let Some(filler) = filler
        {
            filler.before_write(op, &mut pool.slot_mut(usize::from(slot.op.slot))[..op.length as usize]);
            *begun_ns = self.clock.now_ns();
        }
        if C::CHECKS {
            checker.prepare(&slot.op, &mut pool.slot_mut(usize::from(slot.op.slot))[..op.length as usize]);
            *begun_ns = self.clock.now_ns();
        }
        let answer = lane.submit(&slot.op);
        if answer != Submission::Accepted {
            return Some(self.not_accepted(answer));
        }
        if C::CHECKS {
            checker.accepted(&slot.op, *begun_ns);
        }
        slot.give();
        slot.intended_ns = intended_ns;
        slot.begun_ns = *begun_ns;
        pacer.released(&slot.op, intended_ns, *begun_ns);
        slots.hand_over();
        batch.skip(1);
        self.in_flight += 1;
        self.unflushed += 1;
        None
    }

    /// Makes the burst visible and stamps it. Returns when that was, if stamps are taken, and `now`
    /// otherwise.
    #[inline(always)]
    pub(crate) fn flush(&mut self, mut now: u64) -> u64 {
        let answer = self.lane.flush();
        let mut submitted_ns = 0;
        if R::STAMPS && !self.lane.is_synchronous() {
            now = self.clock.now_ns();
            submitted_ns = now;
            if P::PACED {
                self.pacer.handed_over(now.saturating_sub(self.slots.latest().begun_ns));
            }
        }
        self.count_burst(submitted_ns);
        if let Err(error) = answer {
            self.trouble.lane_broke(error);
            self.watch.look_at_once();
        }
        now
    }

    /// Collects completions and counts them. Returns their common stamp, or a later one if there
    /// was much to do.
    #[inline(always)]
    pub(crate) fn collect(&mut self, wait: Wait) -> u64 {
        self.done.clear();
        let answer = if self.unflushed == 0 {
            self.lane.reap(wait, &mut self.done)
        } else {
            let submitted_ns = if R::STAMPS && self.unflushed > 1 { self.clock.now_ns() } else { 0 };
            self.count_burst(submitted_ns);
            self.lane.flush_and_reap(wait, &mut self.done)
        };
        let now = self.clock.now_ns();
        self.count(answer, now)
    }

    /// Counts the completions collected by `now`. Returns `now`, or a later time if there was much
    /// to do.
    #[inline(always)]
    pub(crate) fn count(&mut self, answer: Result<usize, LaneError>, now: u64) -> u64 {
        if let Err(error) = answer {
            self.trouble.lane_broke(error);
            self.watch.look_at_once();
        }
        let ticks = now >= self.recorder.next_tick_ns();
        if ticks {
            self.recorder.tick(now);
        }
        let found = self.done.as_slice().len();
        // Polling until the next operation is due says nothing about the device.
        if !P::PACED || found > 0 {
            self.recorder.tally().reaped(found);
        } else {
            self.watch.waited_in_vain(now);
        }
        if C::CHECKS && found > 0 {
            self.check_reads();
        }
        let odd = if R::EACH { self.count_each(now) } else { self.count_runs(now) };
        self.in_flight -= found - odd;
        if odd > 0 {
            self.unusual_ones(now);
        }
        // The next operation may begin at the returned time, so nothing slow may happen in between.
        if ticks || odd > 0 { self.clock.now_ns() } else { now }
    }

    /// The burst was submitted at `submitted_ns` (0: each operation when it began). Counts its size
    /// and the depth that it reached.
    #[inline(always)]
    fn count_burst(&mut self, submitted_ns: u64) {
        self.recorder.tally().flushed(self.unflushed, self.in_flight);
        self.slots.end_burst(self.unflushed, submitted_ns);
        self.unflushed = 0;
    }

    /// How long to wait for completions after submission paused.
    #[inline(always)]
    fn wait_after(&mut self, pause: Pause, now: u64) -> Wait {
        if let Pause::Until(due_ns) = pause
            && P::PACED
        {
            return self.watch.wait_before(due_ns, now);
        }
        Wait {
            at_least: self.queue.wait_for.min(self.in_flight),
            timeout_ns: self.watch.next_ns().saturating_sub(now).max(1),
        }
    }
}
