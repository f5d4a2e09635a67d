//! The latencies of each priority, for jobs whose operations have several.

use iolab_engine::pack_priority;
use iolab_histogram::Histogram;
use iolab_plan::{IoPriority, PriorityPlan};
use iolab_recording::{PriorityRecording, WorkerRecording};

use crate::Sample;

/// A histogram for each priority and direction.
#[derive(Debug)]
pub(crate) struct Priorities {
    each: Box<[Priority]>,
    /// `lat` instead of `clat`.
    total: bool,
}

#[derive(Debug)]
struct Priority {
    packed: u8,
    priority: IoPriority,
    latencies: [Histogram; 3],
}

impl Priorities {
    /// For the priorities of a plan, and that of the worker. With `total`, latencies begin with the
    /// submission.
    pub(crate) fn new(plan: &PriorityPlan, own: IoPriority, total: bool) -> Priorities {
        let mut each = vec![Priority { packed: 0, priority: own, latencies: Default::default() }];
        for share in plan.reads.iter().chain(&plan.writes) {
            let IoPriority { class, level, hint } = share.priority;
            let packed = pack_priority(class, level, hint as u8);
            if each.iter().all(|known| known.packed != packed) {
                each.push(Priority { packed, priority: share.priority, latencies: Default::default() });
            }
        }
        Priorities { each: each.into(), total }
    }

    #[inline]
    pub(crate) fn count(&mut self, sample: &Sample) {
        let since_ns = if self.total { sample.begun_ns } else { sample.submitted_ns };
        if let Some(own) = self.each.iter_mut().find(|own| own.packed == sample.priority) {
            own.latencies[sample.direction.index()].add(sample.reaped_ns.saturating_sub(since_ns));
        }
    }

    pub(crate) fn clear(&mut self) {
        self.each.iter_mut().flat_map(|own| &mut own.latencies).for_each(Histogram::clear);
    }

    pub(crate) fn write_to(&self, recording: &mut WorkerRecording) {
        for (index, direction) in recording.directions.iter_mut().enumerate() {
            let of = |own: &Priority| PriorityRecording {
                priority: own.priority,
                latency: own.latencies[index].to_sparse(),
            };
            direction.priorities = self.each.iter().map(of).filter(|own| !own.latency.is_empty()).collect();
        }
    }
}
