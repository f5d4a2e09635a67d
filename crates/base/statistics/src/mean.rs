//! The uncertainty of the mean of a series from one run, and of the ratio of two such means.
//!
//! Each second depends on the one before it, so groups of consecutive intervals are resampled, as
//! for percentiles. The limits of the ratio of two figures that were measured separately follow
//! from the limits of both (the method of variance estimates recovery: Zou and Donner 2008,
//! "Construction of confidence limits about effect measures", Statistics in Medicine 27). Both
//! describe only these runs: a single run cannot show how much runs differ from each other.

use crate::percentile::{LEAST_INTERVALS, stretch};
use crate::{Interval, Random, normal, quantile};

/// The interval of the mean of `values`, which follow one another in time. `None` with fewer than
/// ten.
pub fn mean_interval(values: &[f64], confidence: f64, resamples: usize, seed: u64) -> Option<Interval> {
    let count = values.len();
    if count < LEAST_INTERVALS || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    // Rates consist only of the slowly varying part, so longer groups must be drawn together than
    // for latencies, which also vary independently.
    let length = 2 * stretch(count);
    let mut random = Random::new(seed);
    let mut resampled = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        let mut sum = 0.0;
        let mut drawn = 0;
        while drawn < count {
            let start = random.below(count);
            sum += (0..length.min(count - drawn)).map(|step| values[(start + step) % count]).sum::<f64>();
            drawn += length;
        }
        resampled.push(sum / count as f64);
    }
    let estimate = values.iter().sum::<f64>() / count as f64;
    let tail = normal::expanded_tail((1.0 - confidence) / 2.0, count as f64 / length as f64);
    let (low, high) = (quantile(&resampled, tail)?, quantile(&resampled, 1.0 - tail)?);
    Some(Interval { estimate, low: low.min(estimate), high: high.max(estimate), confidence })
}

/// The interval of `candidate` over `baseline`, which were measured separately. `None` if a limit
/// is not positive.
pub fn ratio_interval(baseline: &Interval, candidate: &Interval) -> Option<Interval> {
    if baseline.low <= 0.0 || candidate.low <= 0.0 {
        return None;
    }
    let (theirs, ours) = (baseline.map(f64::ln), candidate.map(f64::ln));
    let estimate = ours.estimate - theirs.estimate;
    let below = (ours.estimate - ours.low).hypot(theirs.high - theirs.estimate);
    let above = (ours.high - ours.estimate).hypot(theirs.estimate - theirs.low);
    let confidence = baseline.confidence.min(candidate.confidence);
    Some(Interval { estimate, low: estimate - below, high: estimate + above, confidence }.map(f64::exp))
}
