//! Finds where a load-latency curve turns upwards.
//!
//! Source: Satopaa, Albrecht, Irwin and Raghavan, "Finding a 'Kneedle' in a haystack" (SIMPLEX
//! 2011), for a convex, rising curve: both axes are scaled to 0 … 1, and the knee is where the
//! curve is furthest below the diagonal.

/// The index of the knee among `points` of (load, latency), which are ascending by load. `None` if
/// there are fewer than three points, if nothing rises, or if the curve is nowhere below the
/// diagonal by more than 5 % of the axes, so that it has no knee.
pub fn knee(points: &[(f64, f64)]) -> Option<usize> {
    if points.len() < 3 || points.iter().any(|(load, latency)| !load.is_finite() || !latency.is_finite()) {
        return None;
    }
    let scale = |values: Vec<f64>| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (high > low).then(|| values.into_iter().map(|value| (value - low) / (high - low)).collect::<Vec<f64>>())
    };
    let loads = scale(points.iter().map(|point| point.0).collect())?;
    let latencies = scale(points.iter().map(|point| point.1).collect())?;
    let below = |place: usize| loads[place] - latencies[place];
    let deepest = (0..points.len()).max_by(|a, b| below(*a).total_cmp(&below(*b)))?;
    (below(deepest) > 0.05).then_some(deepest)
}
