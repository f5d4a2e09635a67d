//! Counting what a reap collected: the other half of the hot loop's work for each operation.

use iolab_engine::{Lane, OpKind};
use iolab_measure::{Recorder, Run, Sample};
use iolab_plan::Direction;

use crate::hot_loop::HotLoop;
use crate::pacing::Pacer;
use crate::slots::Slot;

impl<L: Lane, R: Recorder, P: Pacer> HotLoop<'_, L, R, P> {
    /// Counts plain successes, those with equal stamps together. Returns how many completions were not plain.
    #[inline(always)]
    pub(crate) fn count_runs(&mut self, now: u64) -> usize {
        let HotLoop { done, slots, recorder, pacer, .. } = self;
        let mut odd = 0;
        let mut run: Option<Run> = None;
        for completion in done.as_slice() {
            let slot = slots.get(completion.slot);
            if !slot.is_plain(completion.result) {
                odd += 1;
                continue;
            }
            let (direction, bytes) = (direction_of(slot.op.kind), u64::from(slot.op.buffer_offset + slot.op.length));
            match &mut run {
                Some(run)
                    if (run.begun_ns, run.submitted_ns, run.direction)
                        == (slot.begun_ns, slot.submitted_ns, direction) =>
                {
                    run.count += 1;
                    run.bytes += bytes;
                }
                other => {
                    let (begun_ns, submitted_ns) = (slot.begun_ns, slot.submitted_ns);
                    let next = Run { direction, count: 1, bytes, begun_ns, submitted_ns, reaped_ns: now };
                    if let Some(run) = other.replace(next) {
                        recorder.completed_run(&run);
                    }
                }
            }
            pacer.completed(now);
            pacer.freed(&slot.op);
            slots.take_back(completion.slot);
        }
        if let Some(run) = run {
            recorder.completed_run(&run);
        }
        odd
    }

    /// Counts plain successes one by one. Returns how many completions were not plain.
    pub(crate) fn count_each(&mut self, now: u64) -> usize {
        let HotLoop { done, slots, recorder, pacer, .. } = self;
        let mut odd = 0;
        for completion in done.as_slice() {
            let slot = slots.get(completion.slot);
            if !slot.is_plain(completion.result) {
                odd += 1;
                continue;
            }
            recorder.completed(&sample_of(slot, now));
            pacer.completed(now);
            pacer.freed(&slot.op);
            slots.take_back(completion.slot);
        }
        odd
    }
}

/// The direction of an operation that moves or discards data.
#[inline(always)]
fn direction_of(kind: OpKind) -> Direction {
    match kind {
        OpKind::Write => Direction::Write,
        OpKind::Trim => Direction::Trim,
        _ => Direction::Read,
    }
}

#[inline(always)]
pub(crate) fn sample_of(slot: &Slot, reaped_ns: u64) -> Sample {
    Sample {
        direction: direction_of(slot.op.kind),
        bytes: slot.op.buffer_offset + slot.op.length,
        offset: slot.op.offset - u64::from(slot.op.buffer_offset),
        priority: slot.op.priority,
        intended_ns: slot.intended_ns,
        begun_ns: slot.begun_ns,
        submitted_ns: slot.submitted_ns,
        reaped_ns,
    }
}
