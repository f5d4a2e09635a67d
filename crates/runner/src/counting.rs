//! Counting what a reap collected: the other half of the hot loop's work for each operation.

use iolab_engine::Lane;
use iolab_measure::{Recorder, Run};

use crate::hot_loop::HotLoop;
use crate::pacing::Pacer;

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
            let (direction, bytes) = (slot.direction(), u64::from(slot.op.buffer_offset + slot.op.length));
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
            pacer.completed(slot, now);
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
            let sendable_ns = pacer.completed(slot, now);
            recorder.completed(&slot.sample(sendable_ns, now));
            slots.take_back(completion.slot);
        }
        odd
    }
}
