//! The checks of a completed read besides its length, and what these checks must know about writes.
//!
//! The checker is a type parameter of the loop, so that a job without checks ([`Unchecked`]) pays
//! nothing. A check that fails turns the completion into an error, which the loop treats like any
//! other: it is counted, and `continue_on_error` decides whether it ends the job. A checker sees
//! only whole reads, never a part of one or an error of the device.

use iolab_engine::{Completion, Lane, Op, OpKind};
use iolab_measure::Recorder;
use iolab_recording::VerificationRecording;

use crate::hot_loop::HotLoop;
use crate::pacing::Pacer;

/// Where an operation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed {
    /// This one is sent.
    At(Op),
    /// It cannot be sent yet.
    Later,
    /// There is no place for it: the next operation follows.
    Nowhere,
    /// There is no place for it or any later one.
    Over,
    /// It would fail with this errno.
    Refused(i32),
}

/// Checks the data of reads.
pub(crate) trait Checker {
    /// Whether there is anything to check; if not, the loop skips all calls.
    const CHECKS: bool;

    /// Whether it fills the buffers of writes and acts between two passes.
    const FILLS: bool = Self::CHECKS;

    /// Whether it decides where operations go.
    const PLACES: bool = false;

    /// Decides where the next operation of the stream goes. Called again for the same operation
    /// until the lane has taken it.
    fn place<L: Lane>(&mut self, op: &Op, _lane: &mut L) -> Placed {
        Placed::At(*op)
    }

    /// The content of a range is gone, and no operation on it is in flight.
    fn discarded(&mut self, _file: u32, _offset: u64, _length: u64) {}

    /// How many zones it has reset; `None` if there are no zones.
    fn zone_resets(&self) -> Option<u64> {
        None
    }

    /// Checks `read`, which is complete; `bytes` are all of its data, including earlier parts.
    ///
    /// # Errors
    /// The errno that the operation fails with, such as `EILSEQ` for bytes that are not the
    /// expected ones.
    fn check(&mut self, read: &Op, bytes: &[u8]) -> Result<(), i32>;

    /// Whether the operation may be sent now; otherwise the loop asks again soon.
    fn admit(&mut self, _op: &Op) -> bool {
        true
    }

    /// The operation is about to be offered to the lane with this buffer.
    fn prepare(&mut self, _op: &Op, _buffer: &mut [u8]) {}

    /// The lane has taken the operation, begun at `begun_ns`.
    fn accepted(&mut self, _op: &Op, _begun_ns: u64) {}

    /// The operation has ended.
    fn done(&mut self, _op: &Op, _succeeded: bool) {}

    /// Describes why it refused the read in this slot.
    fn complaint(&mut self, _slot: u32) -> Option<String> {
        None
    }

    /// A pass has ended: waits for checks in progress, and describes the mismatches they found.
    fn settle(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// All files have been flushed at the end.
    fn flushed(&mut self) {}

    /// The job has ended: returns a sentence about what it failed to keep, if anything.
    fn lost(&mut self) -> Option<String> {
        None
    }

    /// The job has ended: returns what was verified.
    fn finish(&mut self) -> Option<VerificationRecording> {
        None
    }
}

/// Accepts everything.
#[derive(Debug)]
pub(crate) struct Unchecked;

impl Checker for Unchecked {
    const CHECKS: bool = false;

    fn check(&mut self, _read: &Op, _bytes: &[u8]) -> Result<(), i32> {
        Ok(())
    }
}

impl<L: Lane, R: Recorder, P: Pacer, C: Checker> HotLoop<'_, L, R, P, C> {
    /// Passes the reads among the completions to the checker, and turns those that it refuses into
    /// errors.
    pub(super) fn check_reads(&mut self) {
        let HotLoop { done, slots, pool, checker, .. } = self;
        for completion in done.as_mut_slice() {
            let slot = slots.get(completion.slot);
            if !slot.is_plain(completion.result) {
                continue;
            }
            checker.done(&slot.op, true);
            if slot.op.kind != OpKind::Read {
                continue;
            }
            let bytes = &pool.slot_mut(completion.slot as usize)[..slot.bytes() as usize];
            if let Err(errno) = checker.check(&slot.op, bytes) {
                *completion = Completion { result: -errno, ..*completion };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::Nothing;
    use crate::choice::{self, Parts};
    use crate::control::Control;
    use crate::deliver::Mailbox;
    use crate::pacing::Unpaced;
    use crate::task::{Spools, Task};
    use crate::watch::{Stop, Watch};
    use iolab_clock::Clock;
    use iolab_guard::{Guard, GuardRules};
    use iolab_measure::{CountingRecorder, FullRecorder, IntervalSeries, WorkerCounters};
    use iolab_memory::{Backing, SlotPool};
    use iolab_observe::System;
    use iolab_plan::{ContinuableError, WorkerPlan};
    use iolab_recording::ErrorCount;

    /// Refuses every third read, and notes the first byte of each.
    struct Third {
        seen: Vec<u8>,
        lengths: Vec<usize>,
    }

    impl Checker for Third {
        const CHECKS: bool = true;

        fn check(&mut self, read: &Op, bytes: &[u8]) -> Result<(), i32> {
            assert_eq!(read.kind, OpKind::Read);
            self.seen.push(bytes[0]);
            self.lengths.push(bytes.len());
            if self.seen.len().is_multiple_of(3) { Err(libc::EILSEQ) } else { Ok(()) }
        }
    }

    fn plan(depth: u32, operations: u64) -> WorkerPlan {
        let text = include_str!("../../../../contract/recording/tests/worker_plan.json");
        let mut plan: WorkerPlan = serde_json::from_str(text).unwrap();
        plan.queue.depth = depth;
        plan.limits.runtime_ns = None;
        plan.limits.time_based = false;
        plan.limits.io_count = Some(operations);
        plan.errors.continue_on = vec![ContinuableError::Read];
        plan
    }

    fn run<R: Recorder>(depth: u32, recorder: impl Fn(WorkerCounters) -> R) {
        let plan = plan(depth, 600);
        let (control, mailbox) = (Control::new(1).unwrap(), Mailbox::new(0).unwrap());
        let (clock, _) = Clock::best();
        let guard = Guard::new(&System::live(), GuardRules::default());
        let worker_control = control.worker_control(0);
        let task = Task {
            plan: &plan,
            worker_control,
            guard: &guard,
            clock: &clock,
            spools: &Spools::default(),
            stream: None,
            mailbox: &mailbox,
            supply: None,
            progress: None,
            peers: None,
            others: None,
            verify: None,
            zones: &[],
            locks: None,
            telling: None,
        };
        let mut pool = SlotPool::new(depth as usize, 1 << 20, 0, &Backing::Anonymous).unwrap();
        for slot in 0..depth as usize {
            pool.slot_mut(slot).fill(slot as u8 + 1);
        }
        let now_ns = clock.now_ns();
        let tally = WorkerCounters::new(depth as usize, IntervalSeries::new(now_ns, 1 << 40, 4));
        let parts = Parts {
            lane: Nothing::<false, false>::new(depth as usize),
            recorder: recorder(tally),
            pacer: Unpaced,
            checker: Third { seen: Vec::new(), lengths: Vec::new() },
            stream: choice::stream_of(&plan, true).unwrap(),
            cached: crate::hot_loop::cached::CachedFiles::default(),
            filler: None,
            pool: &mut pool,
            watch: Watch::new(worker_control, &plan, now_ns),
        };
        let mut hot = choice::assemble(&task, parts);
        hot.recorder.start_measuring(now_ns);
        let (stop, _) = hot.run();
        assert_eq!(stop, Stop::StreamOver);
        let [reads, writes, _] = hot.recorder.tally().totals.ios;
        let (seen, refused) = (hot.checker.seen.len() as u64, hot.checker.seen.len() as u64 / 3);
        let (_, errors, _) = hot.trouble.into_parts();
        // Every read was seen once, and the refused ones are errors of that kind. Writes were not
        // passed to the checker.
        assert!(seen > 200 && writes > 200, "{seen} reads, {writes} writes");
        assert_eq!(seen + writes, 600, "depth {depth}");
        assert!(reads == seen || reads == seen - refused, "{reads} reads counted of {seen}");
        assert_eq!(errors, [ErrorCount { errno: libc::EILSEQ, count: refused }], "depth {depth}");
        assert!(hot.checker.seen.iter().all(|&byte| (1..=depth as u8).contains(&byte)));
        assert!(hot.checker.lengths.iter().all(|&length| length == 4096));
    }

    #[test]
    fn every_read_is_checked_once_and_a_refusal_is_an_error() {
        for depth in [1, 8] {
            run(depth, |tally| FullRecorder::new(tally, true));
            run(depth, CountingRecorder::new);
        }
    }
}
