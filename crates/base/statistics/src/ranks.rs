//! Ranks with ties, and the distribution of sums of ranks.

/// Twice the rank of each value, from 2 on. Equal values share their mean rank, and doubling makes
/// it a whole number.
pub(crate) fn double_ranks(values: &[f64]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let is_equal = |place: &usize| values[order[*place]] == values[order[start]];
        let end = (start..order.len()).take_while(is_equal).count() + start;
        // The ranks are start + 1 to end; this is twice their mean.
        for place in &order[start..end] {
            ranks[*place] = (start + 1 + end) as u32;
        }
        start = end;
    }
    ranks
}

/// The sum of t^3 - t over groups of t equal ranks: ties reduce the variance of a rank sum by it.
pub(crate) fn tie_loss(double_ranks: &[u32]) -> f64 {
    let mut sorted = double_ranks.to_vec();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a == b).map(|group| (group.len() as f64).powi(3) - group.len() as f64).sum()
}

/// The two-sided p-value of an integer statistic: twice the lighter tail, including `value`, of
/// weights over 0, 1, 2 …
pub(crate) fn two_sided(weights: &[f64], value: usize) -> f64 {
    let total: f64 = weights.iter().sum();
    let below: f64 = weights[..=value].iter().sum();
    let above: f64 = weights[value..].iter().sum();
    (2.0 * below.min(above) / total).min(1.0)
}

/// How many values to leave out at each end of a symmetric distribution so that at most
/// `confidence` remains between them (but at least one, so that an interval has limits), and the
/// confidence that this reaches. This is what `wilcox.test` of R does.
pub(crate) fn critical(weights: &[f64], confidence: f64) -> (usize, f64) {
    let total: f64 = weights.iter().sum();
    let tail = (1.0 - confidence) / 2.0;
    let mut below = 0.0;
    // Slightly more, so that a tail that differs only by rounding counts as equal.
    for (value, weight) in weights.iter().enumerate() {
        if (below + weight) / total > tail * (1.0 + 1e-12) {
            // The probability of all values up to `value - 1`.
            return if value == 0 { (1, 1.0 - 2.0 * weight / total) } else { (value, 1.0 - 2.0 * below / total) };
        }
        below += weight;
    }
    (1, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_a_rank() {
        let check = |values: &[f64], twice: &[u32]| assert_eq!(double_ranks(values), twice, "{values:?}");
        check(&[], &[]);
        check(&[3.0, 1.0, 2.0], &[6, 2, 4]);
        check(&[1.0, 1.0], &[3, 3]);
        check(&[5.0, 1.0, 5.0, 5.0, 0.0], &[8, 4, 8, 8, 2]);
        assert_eq!(tie_loss(&double_ranks(&[5.0, 1.0, 5.0, 5.0, 0.0])), 24.0);
    }
}
