//! Counting completions: the other half of the hot loop's work for each operation.

use iolab_engine::Lane;
use iolab_measure::{Recorder, Run};

use crate::hot_loop::HotLoop;
use crate::hot_loop::checker::Checker;
use crate::hot_loop::slots::Slot;
use crate::pacing::Pacer;

impl<L: Lane, R: Recorder, P: Pacer, C: Checker> HotLoop<'_, L, R, P, C> {
    /// Counts plain successes, those with equal stamps together. Returns how many completions were
    /// not plain.
    #[inline(always)]
    pub(crate) fn count_runs(&mut self, now: u64) -> usize {
        let HotLoop { done, slots, recorder, pacer, .. } = self;
        let mut odd = 0;
        let mut returning = slots.returning();
        let mut rest = done.as_slice();
        while !rest.is_empty() {
            let run = returning.take_run(rest, |slot| _ = pacer.completed(slot, now));
            let Some((head, count, bytes)) = run else {
                rest = &rest[1..];
                odd += 1;
                continue;
            };
            rest = &rest[count..];
            let count = count as u64;
            let (begun_ns, submitted_ns) = (head.begun_ns, head.submitted_ns);
            let direction = head.direction();
            recorder.completed_run(&Run { direction, count, bytes, begun_ns, submitted_ns, reaped_ns: now });
        }
        returning.finish();
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

    /// The intended time of the slot's operation: that of the schedule or, without one, when there
    /// was room.
    #[inline(always)]
    pub(crate) fn intended_ns(slot: &Slot) -> u64 {
        if P::PACED { slot.intended_ns } else { slot.begun_ns }
    }
}
