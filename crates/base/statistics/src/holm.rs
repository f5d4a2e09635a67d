//! Corrects p-values for many tests at once.

/// Adjusts p-values so that the probability of any false alarm among them stays below the level
/// with which each is compared (Holm 1979, step-down Bonferroni). The order is that of the input.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (place, test) in order.into_iter().enumerate() {
        largest = largest.max(p_values[test] * (p_values.len() - place) as f64);
        adjusted[test] = largest.min(1.0);
    }
    adjusted
}
