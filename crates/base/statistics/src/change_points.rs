//! Finds where a series changes its level, and from where on it is stable.
//!
//! Change points: PELT (Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a
//! linear computational cost", JASA 107, 2012). The cost is the squared distance from the mean of a
//! segment. The penalty for each change is 3 · ln n times the variance of the noise, which is
//! measured from differences of neighbours, so that the changes themselves do not count as noise.
//! Fallback for short series: MSER-5 (White 1997; Spratt 1998).

use serde::{Deserialize, Serialize};

use crate::median;

/// A part of a series with one level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Segment {
    /// Index of its first value.
    pub start: usize,
    /// Index after its last value.
    pub end: usize,
    /// Mean of its values.
    pub mean: f64,
}

/// The variance of the noise, from the median size of differences between neighbours, which a few
/// jumps do not change.
pub fn noise_variance(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    // The median of |difference of two normals| is 0.6745 · √2 · σ.
    let sigma = median(&steps).unwrap_or(0.0) / (0.674_489_750_196_082 * std::f64::consts::SQRT_2);
    sigma * sigma
}

/// Divides `values` into segments of at least `least` values, so that the sum of the squared
/// distances from the segments' means and of `penalty` for each change is smallest. The result is
/// exact: no other division is better. One segment if there are fewer than twice `least` values;
/// none without values.
pub fn change_points(values: &[f64], least: usize, penalty: f64) -> Vec<Segment> {
    let count = values.len();
    if count == 0 {
        return Vec::new();
    }
    let least = least.max(1);
    let sums = Sums::new(values);
    // best[end]: the cost of the best division of the first `end` values, and where its last
    // segment starts.
    let mut best = vec![(f64::INFINITY, 0); count + 1];
    best[0] = (-penalty, 0);
    let mut starts = vec![0];
    for end in least..=count {
        let cost = |start: usize| best[start].0 + sums.cost(start, end);
        let costs: Vec<f64> = starts.iter().map(|start| cost(*start)).collect();
        for (start, cost) in starts.iter().zip(&costs) {
            if end - start >= least && cost + penalty < best[end].0 {
                best[end] = (cost + penalty, *start);
            }
        }
        // A start that is already worse without a further penalty never becomes the best again.
        let limit = best[end].0;
        let mut place = 0;
        starts.retain(|_| {
            place += 1;
            costs[place - 1] <= limit
        });
        if end + 1 >= 2 * least {
            starts.push(end + 1 - least);
        }
    }
    let mut segments = Vec::new();
    let mut end = count;
    while end > 0 {
        let start = best[end].1;
        segments.push(Segment { start, end, mean: sums.sum(start, end) / (end - start) as f64 });
        end = start;
    }
    segments.reverse();
    segments
}

/// Running sums, so that the cost of any segment takes constant time.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn new(values: &[f64]) -> Sums {
        // Relative to their mean, so that squares of large values do not hide small differences.
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let mut sums = vec![(0.0, 0.0)];
        let (mut sum, mut distances) = (0.0, 0.0);
        for value in values {
            sum += value;
            distances += (value - mean) * (value - mean);
            sums.push((sum - mean * sums.len() as f64, distances));
        }
        let mut shifted = Sums(sums);
        shifted.0.push((mean, 0.0));
        shifted
    }

    fn cost(&self, start: usize, end: usize) -> f64 {
        let sum = self.0[end].0 - self.0[start].0;
        (self.0[end].1 - self.0[start].1 - sum * sum / (end - start) as f64).max(0.0)
    }

    fn sum(&self, start: usize, end: usize) -> f64 {
        let mean = self.0[self.0.len() - 1].0;
        self.0[end].0 - self.0[start].0 + mean * (end - start) as f64
    }
}

/// The last part of a series, from which on its level stays within `tolerance` (a share, for
/// example 0.05) of the level of the last segment. `None` if that is less than half of the series,
/// which means that it has not settled.
pub fn steady_segment(values: &[f64], tolerance: f64) -> Option<Segment> {
    let penalty = 3.0 * (values.len() as f64).ln() * noise_variance(values);
    let segments = change_points(values, 3, penalty.max(f64::MIN_POSITIVE));
    let last = *segments.last()?;
    let is_near = |segment: &&Segment| (segment.mean - last.mean).abs() <= tolerance * last.mean.abs();
    let start = segments.iter().rev().take_while(is_near).last()?.start;
    let kept = &values[start..];
    let mean = kept.iter().sum::<f64>() / kept.len() as f64;
    (2 * kept.len() >= values.len()).then_some(Segment { start, end: values.len(), mean })
}

/// The number of first values to leave out so that the standard error of the mean is smallest. It
/// is the truncation with the least standard error over means of five, at most half of the series.
pub fn mser5(values: &[f64]) -> usize {
    let batches: Vec<f64> = values.chunks_exact(5).map(|batch| batch.iter().sum::<f64>() / 5.0).collect();
    let error = |kept: &[f64]| {
        let count = kept.len() as f64;
        let mean = kept.iter().sum::<f64>() / count;
        kept.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (count * count)
    };
    let left_out = (0..=batches.len() / 2).min_by(|a, b| error(&batches[*a..]).total_cmp(&error(&batches[*b..])));
    left_out.filter(|_| !batches.is_empty()).map_or(0, |batches| 5 * batches)
}
