//! `rate_min` and `rate_iops_min`: whether a job is slower than it may be.
//!
//! A direction is judged over windows that last at least `rate_cycle` and end with a completion, so
//! that a job with rarer operations is judged by whole operations, as in fio. A device that answers
//! nothing cannot delay the judgement: the minimum is missed once even an operation that completed
//! now would not reach it.

use iolab_options::Direction;
use iolab_plan::{BlockSizes, WorkerPlan};

/// Operations and bytes so far, by direction.
type Counts = ([u64; 3], [u64; 3]);

/// The minimum rates of a job, and the windows in which they are checked.
#[derive(Debug)]
pub(crate) struct Floor {
    bytes_per_s: [u64; 3],
    iops: [u64; 3],
    /// The largest block of each direction.
    block_bytes: [u64; 3],
    cycle_ns: u64,
    begun_ns: [u64; 3],
    at_begin: Counts,
    /// Operations at the last check.
    seen: [u64; 3],
}

impl Floor {
    /// The floors of the directions that the job uses. Unused directions would always miss theirs.
    pub(crate) fn new(plan: &WorkerPlan, now_ns: u64) -> Floor {
        let used = |floor: [u64; 3]| {
            Direction::ALL.map(|direction| {
                let uses = plan.workload.pattern.directions.contains(&direction);
                if uses { floor[direction.index()] } else { 0 }
            })
        };
        let block = |direction: Direction| match &plan.workload.block_sizes[direction.index()] {
            BlockSizes::Fixed(bytes) => *bytes,
            BlockSizes::Range { max, .. } => *max,
            BlockSizes::Split(parts) => parts.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0),
        };
        Floor {
            bytes_per_s: used(plan.pacing.rate_min_bytes),
            iops: used(plan.pacing.rate_min_iops),
            block_bytes: Direction::ALL.map(block),
            cycle_ns: plan.pacing.cycle_ms.max(1) * 1_000_000,
            begun_ns: [now_ns; 3],
            at_begin: Default::default(),
            seen: [0; 3],
        }
    }

    /// The measured part begins, with nothing counted.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        (self.begun_ns, self.at_begin, self.seen) = ([now_ns; 3], Default::default(), [0; 3]);
    }

    /// Why the job is too slow, if it is.
    pub(crate) fn missed(&mut self, now_ns: u64, (ios, bytes): Counts) -> Option<String> {
        if (self.bytes_per_s, self.iops) == ([0; 3], [0; 3]) {
            return None;
        }
        (0..3).filter_map(|index| self.missed_by(index, now_ns, (ios[index], bytes[index]))).last()
    }

    fn missed_by(&mut self, index: usize, now_ns: u64, (ios, bytes): (u64, u64)) -> Option<String> {
        let completed = ios != std::mem::replace(&mut self.seen[index], ios);
        let elapsed_ns = now_ns.saturating_sub(self.begun_ns[index]);
        if elapsed_ns < self.cycle_ns {
            return None;
        }
        let per_second = |count: u64| (u128::from(count) * 1_000_000_000 / u128::from(elapsed_ns)) as u64;
        let (ops, moved) = (ios - self.at_begin.0[index], bytes - self.at_begin.1[index]);
        let (one, block) = if completed { (0, 0) } else { (1, self.block_bytes[index]) };
        let reason = if per_second(moved + block) < self.bytes_per_s[index] {
            Some(format!("rate_min={} B/s not met: {} B/s", self.bytes_per_s[index], per_second(moved)))
        } else if per_second(ops + one) < self.iops[index] {
            Some(format!("rate_iops_min={} not met: {} IOPS", self.iops[index], per_second(ops)))
        } else {
            None
        };
        if completed || reason.is_some() {
            self.begun_ns[index] = now_ns;
            (self.at_begin.0[index], self.at_begin.1[index]) = (ios, bytes);
        }
        reason
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// For 20 ms at a time, checks a job that completes a read of 4 KiB at each of these
    /// milliseconds. Returns when a minimum was first missed.
    fn first_miss((bytes_per_s, iops): (u64, u64), at_ms: impl Fn(u64) -> u64, until_ms: u64) -> Option<u64> {
        let mut floor = Floor {
            bytes_per_s: [bytes_per_s, 0, 0],
            iops: [iops, 0, 0],
            block_bytes: [4096; 3],
            cycle_ns: 1000 * MS,
            begun_ns: [0; 3],
            at_begin: Default::default(),
            seen: [0; 3],
        };
        (0..until_ms).step_by(20).find(|now| {
            let ops = at_ms(*now);
            floor.missed(now * MS, ([ops, 0, 0], [ops * 4096, 0, 0])).is_some()
        })
    }

    #[test]
    fn rare_operations_are_judged_by_whole_ones() {
        // rate=1250 sends a read every 3277 ms.
        assert_eq!(first_miss((1024, 0), |now| now / 3277, 100_000), None);
        assert!(first_miss((1300, 0), |now| now / 3277, 100_000).is_some());
        // A read every 700 ms: the window of one second ends with the second read.
        assert_eq!(first_miss((5500, 0), |now| now / 700, 100_000), None);
        assert_eq!(first_miss((0, 1), |now| now / 700, 100_000), None);
        assert!(first_miss((0, 2), |now| now / 700, 100_000).is_some());
    }

    #[test]
    fn a_device_that_answers_nothing_misses_any_minimum() {
        assert_eq!(first_miss((1024, 0), |_| 0, 100_000), Some(4020));
        assert_eq!(first_miss((1 << 20, 0), |_| 0, 100_000), Some(1000));
        // A job that stops later misses the minimum when its earlier operations are used up.
        assert_eq!(first_miss((0, 100), |now| now.min(500), 100_000), Some(5020));
        assert_eq!(first_miss((0, 0), |_| 0, 100_000), None);
    }
}
