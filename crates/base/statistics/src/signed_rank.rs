//! Is the middle of paired differences zero? Wilcoxon's signed-rank test, with the corresponding
//! estimate and interval.
//!
//! Sources: Wilcoxon 1945; Hodges and Lehmann 1963 for the pseudo-median. The interval inverts the
//! test as in Hollander and Wolfe, "Nonparametric Statistical Methods", section 3.3, and
//! `wilcox.test` of R. Differences must be symmetric about their middle, as differences of
//! exchangeable trials are.

use crate::normal;
use crate::ranks::{critical, double_ranks, tie_loss, two_sided};
use crate::{Interval, TestResult, median};

/// The largest number of differences for which all arrangements are counted.
const EXACT_UP_TO: usize = 100;

/// The number of ways to reach each value of twice the sum of positive ranks, when both signs are
/// equally likely.
fn weights(double_ranks: &[u32]) -> Vec<f64> {
    let most: usize = double_ranks.iter().map(|rank| *rank as usize).sum();
    let mut weights = vec![0.0; most + 1];
    weights[0] = 1.0;
    let mut reached = 0;
    for rank in double_ranks.iter().map(|rank| *rank as usize) {
        for sum in (0..=reached).rev() {
            weights[sum + rank] += weights[sum];
        }
        reached += rank;
    }
    weights
}

/// Tests whether the middle of `differences` is zero. Zeroes are left out (Wilcoxon's own rule).
/// The statistic is the sum of the ranks of positive differences. `None` if nothing is left.
///
/// With up to 100 differences, the p-value is exact, even with ties (the permutation distribution
/// of the midranks). With more, it is the normal approximation with the tie correction and without
/// a continuity correction, as in `scipy.stats.wilcoxon`.
pub fn signed_rank(differences: &[f64]) -> Option<TestResult> {
    let kept: Vec<f64> = differences.iter().copied().filter(|difference| *difference != 0.0).collect();
    if kept.is_empty() || kept.iter().any(|difference| difference.is_nan()) {
        return None;
    }
    let sizes: Vec<f64> = kept.iter().map(|difference| difference.abs()).collect();
    let ranks = double_ranks(&sizes);
    let positive: usize =
        ranks.iter().zip(&kept).filter(|(_, value)| **value > 0.0).map(|(rank, _)| *rank as usize).sum();
    let statistic = positive as f64 / 2.0;
    if kept.len() <= EXACT_UP_TO {
        return Some(TestResult { statistic, p_value: two_sided(&weights(&ranks), positive), exact: true });
    }
    let count = kept.len() as f64;
    let mean = count * (count + 1.0) / 4.0;
    let variance = (count * (count + 1.0) * (2.0 * count + 1.0) - tie_loss(&ranks) / 2.0) / 24.0;
    let z = (statistic - mean) / variance.sqrt();
    Some(TestResult { statistic, p_value: normal::two_sided(z), exact: false })
}

/// The Hodges-Lehmann pseudo-median of `values` (the median of the means of all pairs, including
/// each value with itself), and the interval of all middles that [`signed_rank()`] would not
/// reject.
///
/// The confidence that was reached is that of the exact distribution: with 7 values, a request for
/// 95 % gives 95.3 %. Fewer than 6 values cannot reach 95 %; the interval is then from the smallest
/// to the largest value, with the confidence that these reach. `None` without values.
pub fn signed_rank_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut means: Vec<f64> = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (place, one) in values.iter().enumerate() {
        means.extend(values[place..].iter().map(|other| (one + other) / 2.0));
    }
    means.sort_by(f64::total_cmp);
    let estimate = median(&means)?;
    let (left_out, reached) = if values.len() <= EXACT_UP_TO {
        let ranks: Vec<u32> = (1..=values.len() as u32).collect();
        critical(&weights(&ranks), confidence)
    } else {
        let count = values.len() as f64;
        let spread = (count * (count + 1.0) * (2.0 * count + 1.0) / 24.0).sqrt();
        let left_out = count * (count + 1.0) / 4.0 + normal::quantile((1.0 - confidence) / 2.0) * spread;
        ((left_out.floor() as usize).max(1), confidence)
    };
    let (low, high) = (means[left_out - 1], means[means.len() - left_out]);
    Some(Interval { estimate, low, high, confidence: reached })
}
