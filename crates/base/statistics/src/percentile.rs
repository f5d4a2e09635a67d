//! The uncertainty of a percentile of one run.
//!
//! Latencies that follow one another depend on each other. Therefore, a run is divided into
//! intervals (for example of one second), and groups of consecutive intervals are resampled: the
//! circular block bootstrap (Politis and Romano 1992) with groups of n^(1/3) intervals. Histograms
//! are merged; percentiles are never averaged. Because there are few groups, the limits are wider
//! than the nominal confidence (the expanded percentile interval of Hesterberg, "What teachers
//! should know about the bootstrap", The American Statistician 69(4), 2015). Limits are
//! interpolated within their buckets, so that the width of a bucket does not widen the interval.

use iolab_histogram::{SparseHistogram, bucket_low};

use crate::{Interval, Random, normal, quantile};

/// How many latencies the `percent`-th percentile needs to be meaningful: 10 / (1 - p), so that ten
/// of them are beyond it.
pub fn samples_needed(percent: f64) -> u64 {
    // Slightly less, so that 1 - 0.999 counts as a thousandth.
    (10.0 / (1.0 - percent / 100.0) - 1e-6).ceil() as u64
}

/// Fewer intervals than this cannot be resampled usefully.
pub(crate) const LEAST_INTERVALS: usize = 10;

/// Intervals for percentiles of all latencies in `intervals`, in ns. `None` for a percentile with
/// fewer samples than [`samples_needed`], and for all percentiles with fewer than ten intervals.
pub fn percentile_intervals(
    intervals: &[SparseHistogram],
    percents: &[f64],
    confidence: f64,
    resamples: usize,
    seed: u64,
) -> Vec<Option<Interval>> {
    let mut whole = SparseHistogram::default();
    intervals.iter().for_each(|interval| whole.merge(interval));
    let is_enough = |percent: &f64| intervals.len() >= LEAST_INTERVALS && whole.count >= samples_needed(*percent);
    let rows = Rows::new(intervals, &whole);
    let mut resampled = vec![Vec::with_capacity(resamples); percents.len()];
    let mut random = Random::new(seed);
    let mut sums = vec![0; whole.buckets.len()];
    for _ in 0..if percents.iter().any(is_enough) { resamples } else { 0 } {
        rows.resample(&mut random, &mut sums);
        for (percent, values) in percents.iter().zip(&mut resampled) {
            values.push(rows.percentile(&sums, *percent));
        }
    }
    let stretches = intervals.len() as f64 / stretch(intervals.len()) as f64;
    let tail = normal::expanded_tail((1.0 - confidence) / 2.0, stretches);
    let answer = |(percent, values): (&f64, &Vec<f64>)| {
        let (low, high) = (quantile(values, tail)?, quantile(values, 1.0 - tail)?);
        let estimate = whole.percentile(*percent) as f64;
        is_enough(percent).then_some(Interval {
            estimate,
            low: low.min(estimate),
            high: high.max(estimate),
            confidence,
        })
    };
    percents.iter().zip(&resampled).map(answer).collect()
}

/// The number of intervals that are drawn together.
pub(crate) fn stretch(intervals: usize) -> usize {
    (intervals as f64).cbrt().round().max(1.0) as usize
}

/// The counts of each interval in the buckets that any of them uses.
struct Rows {
    counts: Vec<Vec<u64>>,
    /// The sums of the intervals that are drawn together, by the first of them.
    stretches: Vec<Vec<u64>>,
    /// Lower and upper end of each bucket.
    ends: Vec<(f64, f64)>,
    stretch: usize,
}

fn add(sums: &mut [u64], more: &[u64]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

impl Rows {
    fn new(intervals: &[SparseHistogram], whole: &SparseHistogram) -> Rows {
        let row = |interval: &SparseHistogram| {
            let mut row = vec![0; whole.buckets.len()];
            for (bucket, count) in &interval.buckets {
                let place = whole.buckets.binary_search_by_key(bucket, |other| other.0);
                row[place.expect("the whole has every bucket of its parts")] = *count;
            }
            row
        };
        let within = |value: u64| value.clamp(whole.min, whole.max) as f64;
        let ends =
            |(bucket, _): &(u32, u64)| (within(bucket_low(*bucket as usize)), within(bucket_low(*bucket as usize + 1)));
        let counts: Vec<Vec<u64>> = intervals.iter().map(row).collect();
        let stretch = stretch(intervals.len());
        let together = |start: usize| {
            let mut sums = vec![0; whole.buckets.len()];
            (start..start + stretch).for_each(|at| add(&mut sums, &counts[at % counts.len()]));
            sums
        };
        Rows {
            stretches: (0..counts.len()).map(together).collect(),
            ends: whole.buckets.iter().map(ends).collect(),
            stretch,
            counts,
        }
    }

    fn resample(&self, random: &mut Random, sums: &mut [u64]) {
        sums.fill(0);
        let count = self.counts.len();
        let mut drawn = 0;
        while drawn < count {
            let start = random.below(count);
            match count - drawn {
                rest if rest < self.stretch => {
                    (start..start + rest).for_each(|at| add(sums, &self.counts[at % count]));
                }
                _ => add(sums, &self.stretches[start]),
            }
            drawn += self.stretch;
        }
    }

    fn percentile(&self, sums: &[u64], percent: f64) -> f64 {
        let total: u64 = sums.iter().sum();
        let rank = percent / 100.0 * total as f64;
        let mut seen = 0.0;
        for (count, (low, high)) in sums.iter().map(|count| *count as f64).zip(&self.ends) {
            if count > 0.0 && seen + count >= rank {
                return low + (high - low) * (rank - seen) / count;
            }
            seen += count;
        }
        f64::NAN
    }
}
