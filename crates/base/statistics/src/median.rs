//! The median of trials, and its uncertainty.

use crate::Interval;

/// The middle value, or the mean of the two middle values. `None` without values, or if one of them
/// is not a number.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The value below which the share `share` of the values lies, with linear interpolation
/// (definition 7 of Hyndman and Fan 1996, which is the default of R and numpy).
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let sorted = sorted(values)?;
    let place = share.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let low = sorted[place.floor() as usize];
    let high = sorted[place.ceil() as usize];
    Some(if low == high { low } else { low + (high - low) * place.fract() })
}

fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

/// An interval for the median that assumes nothing about the distribution of the values. Its limits
/// are between order statistics, interpolated so that it nearly reaches the requested confidence
/// (Hettmansperger and Sheather, "Confidence intervals based on interpolated order statistics",
/// Statistics and Probability Letters 4, 1986).
///
/// With too few values for the confidence (fewer than 6 for 95 %), the limits are the smallest and
/// the largest value, with the confidence that these reach. `None` without values.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let sorted = sorted(values)?;
    let estimate = median(&sorted)?;
    let count = sorted.len();
    // The confidence of the interval from the `depth`th value to the one equally far from the other
    // end.
    let mut at_most = binomial_share(count, 0);
    let mut coverage = 1.0 - 2.0 * at_most;
    if coverage <= confidence {
        return Some(Interval { estimate, low: sorted[0], high: sorted[count - 1], confidence: coverage.max(0.0) });
    }
    let mut depth = 1;
    loop {
        at_most += binomial_share(count, depth);
        let next = 1.0 - 2.0 * at_most;
        if next < confidence {
            let part = (coverage - confidence) / (coverage - next);
            let (depth_f, count_f) = (depth as f64, count as f64);
            let weight = (count_f - depth_f) * part / (depth_f + (count_f - 2.0 * depth_f) * part);
            let between = |near: f64, far: f64| near + weight * (far - near);
            let low = between(sorted[depth - 1], sorted[depth]);
            let high = between(sorted[count - depth], sorted[count - depth - 1]);
            return Some(Interval { estimate, low, high, confidence });
        }
        coverage = next;
        depth += 1;
    }
}

/// The probability that exactly `successes` of `count` fair coins show the same side.
fn binomial_share(count: usize, successes: usize) -> f64 {
    let ln_choose: f64 = (0..successes).map(|step| ((count - step) as f64).ln() - ((step + 1) as f64).ln()).sum();
    (ln_choose - count as f64 * std::f64::consts::LN_2).exp()
}
