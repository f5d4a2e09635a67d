//! Intended times: when the next operation is due, by a rate or by recorded arrivals.
//!
//! Open loop: due times do not depend on anything that happens in the run. Operation n of a rate is
//! due at the sum of n gaps; Poisson gaps are exponential with the mean of even ones. Recorded
//! arrivals are due when they were written down.

use iolab_plan::{PacingPlan, RateProcess, arrivals_period_ns};
use iolab_random::{GOLDEN_GAMMA, SplitMix64};

/// A sequence of intended times, counted from its start.
#[derive(Debug)]
pub(crate) struct Schedule {
    start_ns: u64,
    /// Whether it has sent anything; the rate of an unused direction never does.
    used: bool,
    arrivals: Arrivals,
}

#[derive(Debug)]
enum Arrivals {
    Rate {
        ns_per_byte: f64,
        ns_per_op: f64,
        /// State of the generator of Poisson gaps; `None` when gaps are even.
        random: Option<SplitMix64>,
        /// The mean of the last gap, ns.
        gap: f64,
        /// When the next operation is due, ns from the start.
        due: f64,
    },
    Recorded {
        times_ns: Vec<u64>,
        /// The period after which the arrivals repeat.
        period_ns: Option<u64>,
        next: usize,
        round_ns: u64,
    },
}

impl Schedule {
    /// The rate of one direction, if the plan sets one.
    pub(crate) fn of_rate(plan: &PacingPlan, direction: usize) -> Option<Schedule> {
        let (bytes, ops) = (plan.rate_bytes[direction], plan.rate_iops[direction]);
        let seed = plan.seed ^ (direction as u64 + 1).wrapping_mul(GOLDEN_GAMMA);
        let gap_of = |rate: u64| if rate > 0 { 1e9 / rate as f64 } else { 0.0 };
        let arrivals = Arrivals::Rate {
            ns_per_byte: gap_of(bytes),
            ns_per_op: gap_of(ops),
            random: (plan.process == RateProcess::Poisson).then(|| SplitMix64::new(seed)),
            gap: gap_of(ops),
            due: 0.0,
        };
        (bytes > 0 || ops > 0).then_some(Schedule { start_ns: 0, used: false, arrivals })
    }

    /// Recorded arrivals, ns from the start and ascending; repeated if asked.
    pub(crate) fn of_arrivals(times_ns: Vec<u64>, repeat: bool) -> Schedule {
        let period_ns = if repeat { arrivals_period_ns(&times_ns) } else { None };
        Schedule {
            start_ns: 0,
            used: false,
            arrivals: Arrivals::Recorded { times_ns, period_ns, next: 0, round_ns: 0 },
        }
    }

    /// The schedule begins now.
    pub(crate) fn start(&mut self, now_ns: u64) {
        self.start_ns = now_ns;
        match &mut self.arrivals {
            Arrivals::Rate { due, .. } => *due = 0.0,
            Arrivals::Recorded { next, round_ns, .. } => (*next, *round_ns) = (0, 0),
        }
    }

    /// Whether it has ever sent anything.
    pub(crate) fn is_used(&self) -> bool {
        self.used
    }

    /// Delays all remaining operations by this time.
    pub(crate) fn postpone(&mut self, by_ns: u64) {
        self.start_ns += by_ns;
    }

    /// When the next operation is due; `None` if there is none.
    #[inline]
    pub(crate) fn due_ns(&self) -> Option<u64> {
        match &self.arrivals {
            Arrivals::Rate { due, .. } => Some(self.start_ns + *due as u64),
            Arrivals::Recorded { times_ns, next, round_ns, .. } => {
                times_ns.get(*next).map(|time_ns| self.start_ns + round_ns + time_ns)
            }
        }
    }

    /// The due operation is sent; it moves `length` bytes. A rate advances by one gap: by bytes, by
    /// operations, or by the slower of both.
    #[inline]
    pub(crate) fn advance(&mut self, length: u32) {
        self.used = true;
        match &mut self.arrivals {
            Arrivals::Rate { ns_per_byte, ns_per_op, random, gap, due } => {
                *gap = (*ns_per_byte * f64::from(length)).max(*ns_per_op);
                *due += random.as_mut().map_or(*gap, |random| *gap * exponential(random));
            }
            Arrivals::Recorded { times_ns, period_ns, next, round_ns } => {
                *next += 1;
                if let Some(period_ns) = period_ns.filter(|_| *next == times_ns.len()) {
                    (*next, *round_ns) = (0, *round_ns + period_ns);
                }
            }
        }
    }

    /// How many operations are due by `now_ns`. Until `held_ns`, which is earlier, nothing could be
    /// sent. The next operation does not count if it was due before `latest_ns`: then it is queued
    /// behind one of another direction. For Poisson arrivals this is the expected number; for bytes
    /// per second it assumes the length of the last operation.
    pub(crate) fn count_due(&self, latest_ns: u64, held_ns: u64, now_ns: u64) -> u64 {
        let Some(due_ns) = self.due_ns().filter(|due_ns| *due_ns <= now_ns) else { return 0 };
        match &self.arrivals {
            Arrivals::Rate { gap, .. } if *gap > 0.0 => {
                u64::from(due_ns >= latest_ns) + (now_ns.saturating_sub(due_ns.max(held_ns)) as f64 / gap) as u64
            }
            Arrivals::Rate { .. } => 1,
            Arrivals::Recorded { times_ns, period_ns, next, round_ns } => {
                let elapsed_ns = now_ns - self.start_ns - round_ns;
                let by = |within_ns: u64| times_ns.partition_point(|time_ns| *time_ns <= within_ns) as u64;
                let whole = match period_ns {
                    Some(period_ns) => elapsed_ns / period_ns * times_ns.len() as u64 + by(elapsed_ns % period_ns),
                    None => by(elapsed_ns),
                };
                whole - *next as u64
            }
        }
    }
}

/// An exponential variate of mean 1, by inversion.
fn exponential(random: &mut SplitMix64) -> f64 {
    -random.unit().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(process: RateProcess) -> PacingPlan {
        PacingPlan { rate_iops: [1000, 0, 0], process, ..crate::pacing::tests::plan() }
    }

    fn times(mut schedule: Schedule, count: usize) -> Vec<u64> {
        schedule.start(1_000);
        let mut next = || {
            let due_ns = schedule.due_ns();
            schedule.advance(4096);
            due_ns
        };
        (0..count).map_while(|_| next()).collect()
    }

    #[test]
    fn even_rates_are_even() {
        let by_ops = plan(RateProcess::Linear);
        let by_bytes = PacingPlan { rate_bytes: [4_096_000, 0, 0], rate_iops: [0; 3], ..by_ops.clone() };
        let by_both = PacingPlan { rate_bytes: [4_096_000, 0, 0], rate_iops: [9_000, 0, 0], ..by_ops.clone() };
        for plan in [by_ops, by_bytes, by_both] {
            let schedule = Schedule::of_rate(&plan, 0).unwrap();
            assert_eq!(times(schedule, 3), [1_000, 1_001_000, 2_001_000]);
            assert!(Schedule::of_rate(&plan, 1).is_none());
        }
    }

    #[test]
    fn even_rates_do_not_drift() {
        // A gap that is no whole number of ns: a million operations later the error is below a
        // microsecond.
        let plan = PacingPlan { rate_iops: [30_000, 0, 0], ..plan(RateProcess::Linear) };
        let last = times(Schedule::of_rate(&plan, 0).unwrap(), 3_000_001).pop().unwrap();
        assert!(last.abs_diff(100_000_001_000) < 1_000, "{last}");
    }

    #[test]
    fn poisson_gaps_are_exponential_and_independent() {
        let times = times(Schedule::of_rate(&plan(RateProcess::Poisson), 0).unwrap(), 100_001);
        let mut gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        let count = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / count;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count).sqrt();
        assert!((mean - 1.0).abs() < 0.01, "mean {mean}");
        assert!((deviation / mean - 1.0).abs() < 0.02, "an exponential's deviation is its mean: {deviation}");
        let follows = gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        let correlation = follows / (count * deviation * deviation);
        assert!(correlation.abs() < 0.01, "a gap tells nothing of the next: {correlation}");
        // Kolmogorov-Smirnov: the largest distance from 1 - exp(-x). It exceeds 1.63/sqrt(n) in one
        // of a hundred cases.
        gaps.sort_by(f64::total_cmp);
        let distance =
            gaps.iter().enumerate().map(|(index, gap)| ((index as f64 + 0.5) / count + (-gap).exp() - 1.0).abs());
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < 1.63 / count.sqrt(), "{distance}");
    }

    #[test]
    fn poisson_counts_have_the_mean_as_their_variance() {
        let times = times(Schedule::of_rate(&plan(RateProcess::Poisson), 0).unwrap(), 200_000);
        let mut counts = vec![0_f64; (times[times.len() - 1] / 10_000_000) as usize];
        let whole = counts.len();
        for place in times.iter().map(|time| (time / 10_000_000) as usize).filter(|place| *place < whole) {
            counts[place] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / whole as f64;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / whole as f64;
        assert!((variance / mean - 1.0).abs() < 0.05, "dispersion {}", variance / mean);
    }

    #[test]
    fn recorded_arrivals_end_or_begin_again() {
        let recorded = vec![500, 500, 1_500];
        assert_eq!(times(Schedule::of_arrivals(recorded.clone(), false), 9), [1_500, 1_500, 2_500]);
        let again = times(Schedule::of_arrivals(recorded, true), 5);
        assert_eq!(again, [1_500, 1_500, 2_500, 3_500, 3_500], "a mean gap, 500, follows the last: a period of 2000");
    }

    #[test]
    fn what_is_due_is_counted() {
        let mut even = Schedule::of_rate(&plan(RateProcess::Linear), 0).unwrap();
        even.start(1_000);
        let recorded = |repeat| {
            let mut schedule = Schedule::of_arrivals(vec![500, 500, 1_500], repeat);
            schedule.start(1_000);
            schedule.advance(1);
            schedule
        };
        for (what, schedule, latest_ns, now_ns, expected) in [
            ("nothing yet", &even, 0, 999, 0),
            ("the first", &even, 0, 1_000, 1),
            ("one and a half gaps on", &even, 0, 1_501_000, 2),
            ("held back by another direction until then", &even, 1_001_000, 2_501_000, 1),
            ("the other of the pair", &recorded(false), 0, 1_500, 1),
            ("all that is left", &recorded(false), 0, 1_000_000, 2),
            ("one round and two of the next", &recorded(true), 0, 3_500, 4),
            ("before the next", &recorded(true), 0, 1_400, 0),
        ] {
            assert_eq!(schedule.count_due(latest_ns, latest_ns, now_ns), expected, "{what}");
        }
    }
}
