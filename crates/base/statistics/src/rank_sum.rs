//! Do two unpaired samples have the same location? The Mann-Whitney (Wilcoxon rank-sum) test, with
//! the corresponding shift and interval.
//!
//! Sources: Mann and Whitney 1947; Hodges and Lehmann 1963; Hollander and Wolfe, "Nonparametric
//! Statistical Methods", section 4.3. This is for trials that were not measured in blocks. For
//! trials in blocks, use the signed-rank test, which accounts for a slow block.

use crate::normal;
use crate::ranks::{critical, double_ranks, tie_loss, two_sided};
use crate::{Interval, TestResult, median};

/// The largest number of values, of both samples together, for which all arrangements are counted.
const EXACT_UP_TO: usize = 60;

/// The number of ways to reach each value of twice the sum of `chosen` ranks.
fn weights(double_ranks: &[u32], chosen: usize) -> Vec<f64> {
    let most: usize = double_ranks.iter().map(|rank| *rank as usize).sum();
    let mut weights = vec![vec![0.0; most + 1]; chosen + 1];
    weights[0][0] = 1.0;
    for (seen, rank) in double_ranks.iter().map(|rank| *rank as usize).enumerate() {
        for taken in (1..=chosen.min(seen + 1)).rev() {
            for sum in rank..=most {
                weights[taken][sum] += weights[taken - 1][sum - rank];
            }
        }
    }
    weights.swap_remove(chosen)
}

/// Tests whether values of one sample tend to be larger than those of the other. The statistic is U
/// of `first`: the number of pairs in which it is larger, with ties counted as half. `None` if
/// either is empty.
///
/// With up to 60 values in total, the p-value is exact, even with ties. With more, it is the normal
/// approximation with tie and continuity correction, as in `scipy.stats.mannwhitneyu`.
pub fn rank_sum(first: &[f64], second: &[f64]) -> Option<TestResult> {
    let all = [first, second].concat();
    if first.is_empty() || second.is_empty() || all.iter().any(|value| value.is_nan()) {
        return None;
    }
    let ranks = double_ranks(&all);
    let sum: usize = ranks[..first.len()].iter().map(|rank| *rank as usize).sum();
    let (ours, theirs, total) = (first.len() as f64, second.len() as f64, all.len() as f64);
    let statistic = sum as f64 / 2.0 - ours * (ours + 1.0) / 2.0;
    if all.len() <= EXACT_UP_TO {
        let p_value = two_sided(&weights(&ranks, first.len()), sum);
        return Some(TestResult { statistic, p_value, exact: true });
    }
    let mean = ours * theirs / 2.0;
    let variance = ours * theirs / 12.0 * (total + 1.0 - tie_loss(&ranks) / (total * (total - 1.0)));
    let z = ((statistic - mean).abs() - 0.5) / variance.sqrt();
    Some(TestResult { statistic, p_value: (2.0 * normal::cdf(-z)).min(1.0), exact: false })
}

/// How much larger values of `first` are than those of `second`: the Hodges-Lehmann shift (the
/// median of all differences), and the shifts that [`rank_sum()`] would not reject. A confidence of
/// 95 % needs 4 values in each sample. `None` if either is empty.
pub fn rank_sum_interval(first: &[f64], second: &[f64], confidence: f64) -> Option<Interval> {
    let mut differences: Vec<f64> = first.iter().flat_map(|one| second.iter().map(move |other| one - other)).collect();
    if differences.iter().any(|difference| difference.is_nan()) {
        return None;
    }
    differences.sort_by(f64::total_cmp);
    let estimate = median(&differences)?;
    let (ours, theirs) = (first.len(), second.len());
    let (left_out, reached) = if ours + theirs <= EXACT_UP_TO {
        let ranks: Vec<u32> = (1..=(ours + theirs) as u32).collect();
        // Sums begin at 1 + 2 + … + ours; U begins at 0.
        critical(&weights(&ranks, ours)[ours * (ours + 1) / 2..], confidence)
    } else {
        let (one, other) = (ours as f64, theirs as f64);
        let spread = (one * other * (one + other + 1.0) / 12.0).sqrt();
        let left_out = one * other / 2.0 + normal::quantile((1.0 - confidence) / 2.0) * spread;
        ((left_out.floor() as usize).max(1), confidence)
    };
    let (low, high) = (differences[left_out - 1], differences[differences.len() - left_out]);
    Some(Interval { estimate, low, high, confidence: reached })
}
