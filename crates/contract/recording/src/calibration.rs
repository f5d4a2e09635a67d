//! The cost of the tool itself, measured before the run on a lane that does nothing, and its effect
//! on the figures.
//!
//! It contains facts, and the arithmetic on them together with the results of the run: the tool's
//! share of the time per I/O, and the one judgement, whether this share is too large. It is a lower
//! bound: caches are warm, and nothing else happens between two operations.

use std::collections::{BTreeMap, BTreeSet};

use iolab_order::{Arrange, Gather};
use iolab_plan::{Reach, WorkerPlan};
use iolab_units::rounded_ns;
use serde::{Deserialize, Serialize};

use crate::WorkerRecording;

/// Number of the method by which this version calibrates. Another way of measuring gets another
/// number: figures of different methods must not be compared.
pub const METHOD: u32 = 1;

/// From this share of the time per I/O on, percent, a run measures the tool instead of the device.
pub const LIMIT_PERCENT: f64 = 25.0;

/// The calibration of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calibration {
    /// Number of the method, see [`METHOD`].
    pub method: u32,
    /// How late timers woke.
    pub timer: TimerLateness,
    /// The cost of each kind of loop that a worker of the run has.
    pub loops: Vec<LoopCost>,
}

/// How much later than asked a few short sleeps ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimerLateness {
    /// How many sleeps.
    pub sleeps: u32,
    /// How long each was to be, ns.
    pub asked_ns: u64,
    /// Median lateness, ns.
    pub p50_ns: u64,
    /// 99th percentile (nearest rank; of fewer than a hundred sleeps, the largest), ns.
    pub p99_ns: u64,
    /// Largest, ns.
    pub max_ns: u64,
}

/// The cost of one kind of loop: recorder, pacer, queue and workload of the workers it stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopCost {
    /// Numbers of the workers with this loop, ascending.
    pub workers: Vec<u32>,
    /// Time of one operation on a lane that does nothing, stamps included, ps.
    pub op_ps: u64,
    /// Time of one clock stamp, ps.
    pub stamp_ps: u64,
}

/// The tool's part in the time per I/O of workers with the same loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoopOverhead {
    /// How many workers.
    pub workers: usize,
    /// The engine does nothing, so that all of the time is the tool's.
    pub null: bool,
    /// The load waits for a schedule or for think time, so the time per I/O includes waiting.
    pub waits: bool,
    /// The tool's cost of an operation, ns.
    pub tool_ns: f64,
    /// A worker's measured time per completed operation, at any depth, ns.
    pub per_io_ns: f64,
    /// The cost of a clock stamp, ns.
    pub stamp_ns: f64,
    /// How late timers woke.
    pub timer: TimerLateness,
}

impl TimerLateness {
    /// Statistics of sleeps of `asked_ns`: how late they ended.
    pub fn of(asked_ns: u64, mut late_ns: Vec<u64>) -> TimerLateness {
        late_ns.arrange();
        let rank = |percent: usize| {
            let rank = (late_ns.len() * percent).div_ceil(100);
            late_ns.get(rank.saturating_sub(1)).copied().unwrap_or(0)
        };
        TimerLateness { sleeps: late_ns.len() as u32, asked_ns, p50_ns: rank(50), p99_ns: rank(99), max_ns: rank(100) }
    }
}

/// Workers by number.
type Members<'a> = BTreeMap<u32, (&'a WorkerPlan, &'a WorkerRecording)>;

/// The loops of a calibration by the workers that have them: who asks for many jobs of thousands of
/// ranks does not look through all loops each time.
#[derive(Debug)]
pub struct LoopsOfWorkers<'a> {
    calibration: &'a Calibration,
    /// The number of a worker, and the place of a loop that it has.
    places: BTreeSet<(u32, usize)>,
}

impl LoopsOfWorkers<'_> {
    /// The tool's part in what `members` measured, one entry for each kind of loop among them.
    /// Workers that completed nothing or were not calibrated have none.
    pub fn overheads(&self, members: &[(&WorkerPlan, &WorkerRecording)]) -> Vec<LoopOverhead> {
        let by_number: Members<'_> = members.iter().map(|(plan, worker)| (plan.number, (*plan, *worker))).collect();
        let of = |number: &u32| self.places.range((*number, 0)..=(*number, usize::MAX)).map(|(_, place)| *place);
        let places: BTreeSet<usize> = by_number.keys().flat_map(of).gather();
        let costs = places.into_iter().map(|place| &self.calibration.loops[place]);
        costs.filter_map(|cost| self.calibration.overhead(cost, &by_number)).collect()
    }
}

impl Calibration {
    /// Its loops by their workers.
    pub fn of_workers(&self) -> LoopsOfWorkers<'_> {
        let numbered = self.loops.iter().enumerate();
        let places = numbered.flat_map(|(place, cost)| cost.workers.iter().map(move |worker| (*worker, place)));
        LoopsOfWorkers { calibration: self, places: places.collect() }
    }

    fn overhead(&self, cost: &LoopCost, members: &Members<'_>) -> Option<LoopOverhead> {
        let (mut workers, mut ios, mut runtime_ns) = (0, 0, 0);
        let (mut null, mut waits) = (true, false);
        for (plan, worker) in cost.workers.iter().filter_map(|number| members.get(number)) {
            let completed = worker.sync.ios + worker.directions.iter().map(|direction| direction.ios).sum::<u64>();
            if completed > 0 {
                (workers, ios, runtime_ns) = (workers + 1, ios + completed, runtime_ns + worker.runtime_ns);
                null &= plan.engine.traits().reach == Reach::Nothing;
                waits |= plan.pacing.scheduled() != [false; 3] || plan.pacing.think.is_some();
            }
        }
        (ios > 0 && runtime_ns > 0).then(|| LoopOverhead {
            workers,
            null,
            waits,
            tool_ns: cost.op_ps as f64 / 1e3,
            per_io_ns: runtime_ns as f64 / ios as f64,
            stamp_ns: cost.stamp_ps as f64 / 1e3,
            timer: self.timer,
        })
    }
}

impl LoopOverhead {
    /// The tool's part of the time per I/O, percent; never above 100, also where the calibration
    /// was slower than the run.
    pub fn share_percent(&self) -> f64 {
        if self.null && !self.waits { 100.0 } else { (self.tool_ns / self.per_io_ns * 100.0).min(100.0) }
    }

    /// The line of reports.
    pub fn line(&self) -> String {
        let per_io = rounded_ns(self.per_io_ns);
        let costs = format!(
            "clock stamp {}, timer jitter p99 {}",
            rounded_ns(self.stamp_ns),
            rounded_ns(self.timer.p99_ns as f64)
        );
        if self.null && !self.waits {
            let calibrated = rounded_ns(self.tool_ns);
            return format!(
                "all of the {per_io} per I/O is iolab's overhead, because the engine is null (calibrated \
                {calibrated}, {costs})"
            );
        }
        let (tool, share) = (rounded_ns(self.tool_ns.min(self.per_io_ns)), self.share_percent());
        let decimals = usize::from(share < 9.95);
        let rest = match (self.null, self.waits) {
            (true, _) => "; the rest is waiting that the job asks for, because the engine is null",
            (false, true) => "; this includes the job's own waiting",
            (false, false) => "",
        };
        format!("iolab spends {tool} of the {per_io} per I/O, {share:.decimals$} % ({costs}){rest}")
    }

    /// A warning if the figures are about the tool rather than the device, with advice. The null
    /// engine never gets one: its users measure the tool on purpose.
    pub fn limit(&self) -> Option<String> {
        (!self.null && self.share_percent() > LIMIT_PERCENT).then(|| {
            format!(
                "limited by iolab, not by the device: {:.0} % of the time per I/O is iolab's own work ({} of {}; the \
                limit is {LIMIT_PERCENT:.0} %): use more jobs (numjobs), larger blocks, or less work per I/O \
                (gtod_reduce=1, scramble_buffers=0)",
                self.share_percent(),
                rounded_ns(self.tool_ns.min(self.per_io_ns)),
                rounded_ns(self.per_io_ns),
            )
        })
    }
}

#[cfg(test)]
mod tests;
