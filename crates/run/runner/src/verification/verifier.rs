//! The checker of a job that verifies.

use std::ops::Range;
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_engine::{Op, OpKind};
use iolab_plan::{Direction, FileSync, Reach, VerifyPlan, VerifyPolicy, WorkerPlan};
use iolab_recording::VerificationRecording;
use iolab_verify::{Expected, GenerationMap, Interval, Recipe, WantedContent};

use crate::hot_loop::checker::Checker;
use crate::trouble::Fatal;
use crate::verification::damages::Damages;
use crate::verification::flushes::Unflushed;
use crate::verification::judge::{Judge, JudgeThreads};
use crate::verification::share::VerifyShare;

/// How reads are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The job's own operations: reads are checked if their expected content is known or, in a job
    /// that only reads, by their own headers.
    Load,
    /// Written data is read back.
    ReadBack,
}

/// Fills writes, checks reads, keeps the generations.
pub(crate) struct Verifier<'a> {
    worker: &'a WorkerPlan,
    plan: &'a VerifyPlan,
    judge: Judge,
    threads: Option<JudgeThreads>,
    maps: Arc<[GenerationMap]>,
    clock: &'a Clock,
    /// Offset from the clock's time to the time since 1970.
    unix_ns: u64,
    phase: Phase,
    /// Reads wait for writes of the same bytes.
    waits: bool,
    only_reads: bool,
    /// Whether the expectation of `verify_only`, or of a loaded state, is exactly what the last run
    /// left; `None` without one.
    simulated: Option<bool>,
    /// How data of an earlier run is judged by its durability.
    policy: VerifyPolicy,
    /// Writes that no flush covers yet, if they matter.
    unflushed: Option<Unflushed>,
    /// Intervals that are locked for an operation that is not yet submitted.
    pending: Option<Held>,
    slots: Box<[InSlot]>,
    sequence: u64,
    /// Writes sent in this pass.
    writes: u64,
    complaints: Vec<(u16, String)>,
    /// What threads have found in earlier reads.
    late: Vec<String>,
    damages: Damages<'a>,
}

/// The intervals of an operation that changes them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    file: u32,
    range: Range<usize>,
}

/// The state of the operation in a slot.
#[derive(Debug, Clone, Default)]
struct InSlot {
    held: Option<Held>,
    /// The content of each interval when a read was sent; `None` while it was being changed.
    looks: Vec<Option<(u16, Expected)>>,
    /// For a flush: what it covers.
    mark: u64,
}

impl<'a> Verifier<'a> {
    /// A verifier for a worker with its share and `depth` slots.
    pub(crate) fn new(
        worker: &'a WorkerPlan,
        plan: &'a VerifyPlan,
        share: &VerifyShare,
        clock: &'a Clock,
    ) -> Result<Verifier<'a>, Fatal> {
        let mut checked = plan.clone();
        checked.checks_seed &= share.one_seed;
        let most = worker.buffers.slot_bytes.div_ceil(plan.interval_bytes.max(1)) as usize + 1;
        let slot = InSlot { looks: Vec::with_capacity(most), ..InSlot::default() };
        let judge = Judge {
            recipe: Recipe::new(&checked, &worker.buffers, worker.number, share.run),
            runs: share.runs.iter().copied().chain([share.run]).collect(),
        };
        let read_bytes = worker.buffers.slot_bytes as usize;
        let threads = (plan.threads > 0)
            .then(|| JudgeThreads::start(plan.threads, plan.thread_cpus.as_deref(), &judge, read_bytes))
            .transpose()?;
        let syncs = worker.layout.sync != FileSync::None && worker.engine.traits().reach == Reach::BlockLayer;
        let is_kept = share.maps.iter().any(GenerationMap::knows_durable);
        Ok(Verifier {
            judge,
            threads,
            policy: if share.loaded { plan.policy } else { VerifyPolicy::Completed },
            unflushed: is_kept.then(|| Unflushed::new(syncs)),
            maps: Arc::clone(&share.maps),
            unix_ns: clock.unix_ns().saturating_sub(clock.now_ns()),
            clock,
            phase: Phase::Load,
            waits: plan.backlog.is_some(),
            // Data that an earlier run's state does not know may be absent.
            only_reads: worker.workload.pattern.directions == [Direction::Read] && !share.loaded,
            simulated: share.loaded.then_some(true),
            pending: None,
            slots: vec![slot; worker.queue.depth as usize].into_boxed_slice(),
            sequence: 0,
            writes: 0,
            complaints: Vec::new(),
            late: Vec::new(),
            damages: Damages::new(worker, plan),
            worker,
            plan,
        })
    }

    pub(crate) fn maps(&self) -> Arc<[GenerationMap]> {
        Arc::clone(&self.maps)
    }

    /// Begins to read back. Returns how many writes were sent since the last time.
    pub(crate) fn begin_read_back(&mut self) -> u64 {
        self.give_up_pending();
        self.phase = Phase::ReadBack;
        std::mem::take(&mut self.writes)
    }

    /// Continues the job.
    pub(crate) fn end_read_back(&mut self) {
        self.phase = Phase::Load;
    }

    /// The maps have been simulated; `exactly` if the last run must have left them so.
    pub(crate) fn expect_earlier_run(&mut self, exactly: bool) {
        self.simulated = Some(exactly);
    }

    /// The files have been made again.
    pub(crate) fn forget(&mut self) {
        for (map, file) in self.maps.iter().zip(&self.worker.files) {
            map.forget(&map.range(file.start_bytes, file.length_bytes));
        }
    }

    /// The content of intervals that are still locked is unknown.
    fn let_go(&mut self) {
        self.give_up_pending();
        for slot in &mut self.slots {
            if let Some(held) = slot.held.take() {
                self.maps[held.file as usize].in_doubt(&held.range);
            }
        }
    }

    fn give_up_pending(&mut self) {
        if let Some(held) = self.pending.take() {
            self.maps[held.file as usize].release(&held.range);
        }
    }

    fn held_by(&self, op: &Op) -> Held {
        let start = op.offset - u64::from(op.buffer_offset);
        let bytes = u64::from(op.buffer_offset) + u64::from(op.length);
        Held { file: op.file, range: self.maps[op.file as usize].range(start, bytes) }
    }

    fn wanted(&self, expected: Expected) -> Option<WantedContent> {
        match (expected, self.simulated) {
            (Expected::Generation(generation), None) => Some(WantedContent::Generation(generation)),
            (Expected::Generation(generation), Some(true)) => Some(WantedContent::EarlierRun(generation)),
            (Expected::Generation(_), Some(false)) => Some(WantedContent::Valid),
            (Expected::Discarded, _) => self.plan.trim.filter(|trim| trim.zeroes).map(|_| WantedContent::Zeroes),
            (Expected::Unknown, _) => (self.only_reads && self.phase == Phase::Load).then_some(WantedContent::Valid),
            (Expected::InDoubt, _) => None,
        }
    }
}

mod examining;

impl Checker for Verifier<'_> {
    const CHECKS: bool = true;

    #[inline]
    fn admit(&mut self, op: &Op) -> bool {
        match op.kind {
            OpKind::Write | OpKind::Trim => {
                let wanted = self.held_by(op);
                if self.pending.as_ref() == Some(&wanted) {
                    return true;
                }
                // The engine refused the operation that it was locked for.
                self.give_up_pending();
                let held = self.maps[wanted.file as usize].hold(&wanted.range);
                self.pending = held.then_some(wanted);
                held
            }
            OpKind::Read if self.waits => {
                let read = self.held_by(op);
                !self.maps[read.file as usize].is_held(&read.range)
            }
            _ => true,
        }
    }

    #[inline]
    fn prepare(&mut self, op: &Op, buffer: &mut [u8]) {
        let Held { file, range } = self.held_by(op);
        let map = &self.maps[file as usize];
        match op.kind {
            OpKind::Write => {
                let time_ns = self.clock.now_ns() + self.unix_ns;
                let mut offset = op.offset;
                let step = self.judge.recipe.interval_bytes() as usize;
                for (piece, interval) in buffer.chunks_mut(step).zip(range) {
                    let generation = map.next(interval);
                    self.judge.recipe.fill(Interval { file, offset }, generation, self.sequence, time_ns, piece);
                    offset += piece.len() as u64;
                }
            }
            OpKind::Read => {
                let looks = &mut self.slots[usize::from(op.slot)].looks;
                looks.clear();
                looks.extend(range.map(|interval| map.look(interval)));
            }
            OpKind::Trim if self.unflushed.is_some() => map.will_discard(&range),
            _ => {}
        }
    }

    #[inline]
    fn accepted(&mut self, op: &Op, _begun_ns: u64) {
        let slot = &mut self.slots[usize::from(op.slot)];
        match op.kind {
            OpKind::Write => {
                slot.held = self.pending.take();
                self.sequence += 1;
                self.writes += 1;
            }
            OpKind::Trim => slot.held = self.pending.take(),
            OpKind::Sync | OpKind::DataSync => {
                if let Some(unflushed) = &self.unflushed {
                    slot.mark = unflushed.mark();
                }
            }
            _ => {}
        }
    }

    #[inline]
    fn check(&mut self, read: &Op, bytes: &[u8]) -> Result<(), i32> {
        let Held { file, range } = self.held_by(read);
        let start = read.offset - u64::from(read.buffer_offset);
        let step = self.judge.recipe.interval_bytes();
        let first = self.maps[file as usize].offset_of(range.start);
        if first != start {
            // The read begins within an interval.
            return Ok(());
        }
        let mut offset = start;
        if self.waits && self.phase == Phase::Load {
            // The interval need not be read again at the end.
            self.maps[file as usize].see(&range);
        }
        let mut copy = self.place_for_copy();
        let mut wrong = false;
        for (index, (piece, interval)) in bytes.chunks(step as usize).zip(range).enumerate() {
            let at = Interval { file, offset };
            offset += piece.len() as u64;
            let before = self.slots[usize::from(read.slot)].looks.get(index).copied().flatten();
            let now = self.maps[file as usize].look(interval);
            // Another worker has changed it meanwhile, and verifies it.
            let Some((_, expected)) = before.filter(|_| before == now) else { continue };
            let Some(demand) = self.demand(file, interval, expected) else { continue };
            if let Some(copy) = &mut copy {
                copy.add(at, demand, piece);
                continue;
            }
            match self.judge.examine(at, demand, piece) {
                Ok(held) => self.damages.checked(demand, held),
                Err(mismatch) => {
                    wrong = true;
                    self.damages.checked(demand, None);
                    let text = self.damages.mismatch(&self.judge.recipe, &mismatch, piece);
                    self.complain(read.slot, text);
                }
            }
        }
        if let Some((threads, copy)) = self.threads.as_mut().zip(copy) {
            threads.examine(copy);
        }
        // Findings of earlier reads are reported with this one.
        for text in std::mem::take(&mut self.late) {
            wrong = true;
            self.complain(read.slot, text);
        }
        if wrong { Err(libc::EILSEQ) } else { Ok(()) }
    }

    #[inline]
    fn done(&mut self, op: &Op, succeeded: bool) {
        let slot = &mut self.slots[usize::from(op.slot)];
        if matches!(op.kind, OpKind::Sync | OpKind::DataSync) {
            if let Some(unflushed) = &mut self.unflushed {
                unflushed.flushed(op.file, slot.mark, succeeded, &self.maps[op.file as usize]);
            }
            return;
        }
        let Some(Held { file, range }) = slot.held.take() else { return };
        let map = &self.maps[file as usize];
        match op.kind {
            _ if !succeeded => return map.in_doubt(&range),
            OpKind::Trim => map.discarded(&range),
            _ => {
                let bytes = u64::from(op.buffer_offset) + u64::from(op.length);
                let last = bytes % self.judge.recipe.interval_bytes();
                map.written(&range, last > 0 && !self.judge.recipe.fits(last));
            }
        }
        self.note_completed(file, range, op.kind == OpKind::Write);
    }

    fn discarded(&mut self, file: u32, offset: u64, length: u64) {
        self.give_up_pending();
        let map = &self.maps[file as usize];
        map.discarded(&map.range(offset, length));
    }

    fn complaint(&mut self, slot: u32) -> Option<String> {
        let place = self.complaints.iter().position(|complaint| u32::from(complaint.0) == slot)?;
        Some(self.complaints.swap_remove(place).1)
    }

    fn finish(&mut self) -> Option<VerificationRecording> {
        self.let_go();
        Some(self.damages.take())
    }

    fn settle(&mut self) -> Vec<String> {
        while self.threads.as_ref().is_some_and(JudgeThreads::is_busy) {
            self.take_answers(true);
        }
        std::mem::take(&mut self.late)
    }

    fn flushed(&mut self) {
        if let Some(unflushed) = &mut self.unflushed {
            unflushed.all_flushed(&self.maps);
        }
    }
}

/// A checker that verifies, or that wraps one.
pub(crate) trait Verifies<'a>: Checker {
    /// The verifier.
    fn verifier(&mut self) -> &mut Verifier<'a>;

    /// Whether reads are those of reading back, which go where they are asked to.
    fn set_reads_back(&mut self, _reads_back: bool) {}
}

impl<'a> Verifies<'a> for Verifier<'a> {
    fn verifier(&mut self) -> &mut Verifier<'a> {
        self
    }
}

impl Drop for Verifier<'_> {
    fn drop(&mut self) {
        // Other workers must not wait forever for intervals that this worker locked.
        self.let_go();
    }
}
