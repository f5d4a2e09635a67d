//! The one definition of a rate: the work done, divided by the longest run time of the workers that
//! did it.
//!
//! ```text
//! worker 0  ██████████████████ 10 s, 1000 operations
//! worker 1  █████████           5 s,  800 operations
//! together  1800 operations in 10 s: 180 per second, not 100 + 160
//! ```
//!
//! Workers of one stage run at the same time, so their run times overlap and the longest counts.
//! Stages run one after the other, so their times add up. The sum of the workers' own rates would
//! be a rate that the run did not have for most of its time; it is not used anywhere.
//!
//! fio does the same: `sum_thread_stats` of its `stat.c` adds operations and bytes of a group and
//! keeps the longest run time of each direction, and its lines of groups divide the bytes by the
//! longest run time (`agg` and `max_run`). So fio's formats show the same numbers as all others.
//! fio has no rate over several stages: `stonewall` begins a new group.
//!
//! A limit of this definition: workers of one stage that begin at different times (`startdelay`)
//! overlap only partly, and the rate is that of the overlap. The intervals show what happened when.

use iolab_order::Arrange;
use iolab_plan::{Direction, PerDirection};
use iolab_recording::{DirectionRecording, WorkerRecording};

use crate::members::Member;

/// Operations and bytes, and the time they took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Throughput {
    /// Operations completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// The longest run time of a worker, ns; over several stages the sum of theirs.
    pub runtime_ns: u64,
}

impl Throughput {
    /// The sum of some directions of workers, stage by stage.
    pub fn of(directions: &[Direction], members: &[Member<'_>]) -> Throughput {
        let mut stages: Vec<u32> = members.iter().map(|(plan, _)| plan.stage).collect();
        stages.arrange();
        stages.dedup();
        let of_stage = |stage: u32| {
            let own = members.iter().filter(|(plan, _)| plan.stage == stage);
            own.map(|(_, worker)| Throughput::of_worker(directions, worker))
                .fold(Throughput::default(), Throughput::beside)
        };
        stages.into_iter().map(of_stage).fold(Throughput::default(), Throughput::then)
    }

    /// The sum of some directions of one worker.
    pub fn of_worker(directions: &[Direction], worker: &WorkerRecording) -> Throughput {
        let own = directions.iter().map(|direction| Throughput::of_direction(&worker.directions, *direction));
        let sum = own.fold(Throughput::default(), Throughput::beside);
        // A single operation has no time from first to last: the worker's own run time keeps its
        // rate finite and honest.
        let runtime_ns = if sum.ios > 0 && sum.runtime_ns == 0 { worker.runtime_ns } else { sum.runtime_ns };
        Throughput { runtime_ns, ..sum }
    }

    /// A direction in which nothing was done took no time.
    fn of_direction(directions: &PerDirection<DirectionRecording>, direction: Direction) -> Throughput {
        let own = &directions[direction.index()];
        let is_used = own.ios > 0 || own.short_ios > 0 || own.dropped_ios > 0;
        Throughput { ios: own.ios, bytes: own.bytes, runtime_ns: if is_used { own.runtime_ns } else { 0 } }
    }

    /// Adds work that was done at the same time.
    #[must_use]
    pub fn beside(self, other: Throughput) -> Throughput {
        Throughput { runtime_ns: self.runtime_ns.max(other.runtime_ns), ..self.then(other) }
    }

    /// Adds work that was done before or after it.
    #[must_use]
    pub fn then(self, other: Throughput) -> Throughput {
        Throughput {
            ios: self.ios.saturating_add(other.ios),
            bytes: self.bytes.saturating_add(other.bytes),
            runtime_ns: self.runtime_ns.saturating_add(other.runtime_ns),
        }
    }

    /// Operations per second; 0 when it took no time.
    pub fn ios_per_second(&self) -> f64 {
        per_second(self.ios, self.runtime_ns)
    }

    /// Bytes per second; 0 when it took no time.
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.bytes, self.runtime_ns)
    }
}

/// `count` per second over `runtime_ns`; 0 for no time.
pub fn per_second(count: u64, runtime_ns: u64) -> f64 {
    if runtime_ns == 0 { 0.0 } else { count as f64 * 1e9 / runtime_ns as f64 }
}

/// Milliseconds, rounded; at least 1 for any time at all, so that no shown runtime divides by zero.
pub fn milliseconds(ns: u64) -> u64 {
    if ns == 0 { 0 } else { ((ns + 500_000) / 1_000_000).max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(ios: u64, seconds: u64) -> Throughput {
        Throughput { ios, bytes: ios * 4096, runtime_ns: seconds * 1_000_000_000 }
    }

    #[test]
    fn the_longest_counts_of_those_at_the_same_time_and_the_sum_of_those_in_turn() {
        let beside = done(1000, 10).beside(done(800, 5));
        assert_eq!((beside.ios_per_second(), beside.bytes_per_second()), (180.0, 180.0 * 4096.0));
        assert_eq!(done(1000, 10).then(done(800, 5)).ios_per_second(), 120.0);
        assert_eq!(done(10, 0).ios_per_second(), 0.0);
    }

    #[test]
    fn times_never_round_to_nothing() {
        assert_eq!((milliseconds(0), milliseconds(1), milliseconds(1_499_999), milliseconds(1_500_000)), (0, 1, 1, 2));
    }
}
