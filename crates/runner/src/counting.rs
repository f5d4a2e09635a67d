//! Counting what a reap collected: the other half of the hot loop's work for each operation.

use iolab_engine::Lane;
use iolab_measure::{Recorder, Run};
use iolab_plan::Direction;

use crate::hot_loop::HotLoop;
use crate::pacing::Pacer;
use crate::slots::Slot;

impl<L: Lane, R: Recorder, P: Pacer> HotLoop<'_, L, R, P> {
    /// Counts plain successes, those with equal stamps together. Returns how many completions were not plain.
    #[inline(always)]
    pub(crate) fn count_runs(&mut self, now: u64) -> usize {
        let HotLoop { done, slots, recorder, pacer, .. } = self;
        // A run of nothing, which the first operation replaces or is the first of.
        let direction = Direction::Read;
        let mut run = Run { direction, count: 0, bytes: 0, begun_ns: 0, submitted_ns: 0, reaped_ns: now };
        let mut odd = 0;
        let mut returning = slots.returning();
        for completion in done.as_slice() {
            let Some(slot) = returning.take_plain(*completion) else {
                odd += 1;
                continue;
            };
            let (direction, bytes) = (slot.direction(), u64::from(slot.op.buffer_offset + slot.op.length));
            let (begun_ns, submitted_ns) = (slot.begun_ns, slot.submitted_ns);
            if (run.begun_ns, run.submitted_ns, run.direction) != (begun_ns, submitted_ns, direction) {
                if run.count > 0 {
                    recorder.completed_run(&run);
                }
                run = Run { direction, count: 0, bytes: 0, begun_ns, submitted_ns, reaped_ns: now };
            }
            run.count += 1;
            run.bytes += bytes;
            pacer.completed(slot, now);
        }
        returning.finish();
        if run.count > 0 {
            recorder.completed_run(&run);
        }
        odd
    }

    /// Counts plain successes one by one. Returns how many completions were not plain.
    pub(crate) fn count_each(&mut self, now: u64) -> usize {
        let HotLoop { done, slots, recorder, pacer, .. } = self;
        let mut odd = 0;
        let mut returning = slots.returning();
        for completion in done.as_slice() {
            let Some(slot) = returning.take_plain(*completion) else {
                odd += 1;
                continue;
            };
            let sendable_ns = pacer.completed(slot, now);
            recorder.completed(&slot.sample(Self::intended_ns(slot), sendable_ns, now));
        }
        returning.finish();
        odd
    }

    /// When its operation was wanted: by the schedule, or whenever there was room.
    #[inline(always)]
    pub(crate) fn intended_ns(slot: &Slot) -> u64 {
        if P::PACED { slot.intended_ns } else { slot.begun_ns }
    }
}
