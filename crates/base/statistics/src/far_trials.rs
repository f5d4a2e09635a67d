//! Outliers among trials: a stall, or a burst of load from another program.
//!
//! The expected value of a trial follows from its block and its configuration by medians (Tukey's
//! median polish, "Exploratory Data Analysis" 1977), which a single outlier does not move. Trials
//! further away than some spreads are moved to that distance, as in Huber's estimate (1964), and
//! reported. The spread is the larger of the pooled one and the configuration's own, so that a
//! noisy configuration does not look like a series of stalls.

use crate::layout::Layout;

/// A trial at least this many spreads away is not an ordinary one.
pub const VERY_FAR: f64 = 6.0;
/// With fewer degrees of freedom, outliers cannot be recognised.
const LEAST_FREEDOM: usize = 6;
/// One over the median of |x| of a standard normal x.
const NORMAL: f64 = 1.482_602_218_505_602;
const SWEEPS: usize = 4;

/// A trial that is far from the value expected from its block and its configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FarTrial {
    /// Number of the configuration.
    pub configuration: usize,
    /// Number of the block.
    pub block: usize,
    /// Its distance: a difference of logarithms.
    pub distance: f64,
    /// Its distance in spreads.
    pub spreads: f64,
}

/// Moves trials that are further away than `spreads`, and returns them.
pub(crate) fn draw_in(layout: &Layout, values: &mut [Vec<f64>], spreads: f64) -> Vec<FarTrial> {
    if layout.freedom() < LEAST_FREEDOM || spreads.is_infinite() {
        return Vec::new();
    }
    let residuals = polished(layout, values);
    let mut sizes = Vec::new();
    let size = |(_, residual): (usize, &f64)| residual.abs();
    for (row, left) in residuals.iter().enumerate() {
        sizes.extend(left.iter().enumerate().filter(|(block, _)| layout.present()[row][*block]).map(size));
    }
    let scale = NORMAL * (sizes.len() as f64 / layout.freedom() as f64).sqrt();
    let common = middle(&mut sizes);
    let mut far = Vec::new();
    for (configuration, left) in residuals.iter().enumerate() {
        sizes.clear();
        sizes.extend(left.iter().enumerate().filter(|(block, _)| layout.present()[configuration][*block]).map(size));
        // Differences caused by rounding are ignored.
        let limit = (spreads * scale * common.max(middle(&mut sizes))).max(1e-9);
        for (block, distance) in left.iter().enumerate().filter(|(_, distance)| distance.abs() > limit) {
            values[configuration][block] -= distance - distance.clamp(-limit, limit);
            far.push(FarTrial { configuration, block, distance: *distance, spreads: distance.abs() * spreads / limit });
        }
    }
    far
}

/// The residuals after the medians of configurations and of blocks are subtracted alternately; 0
/// where there is no trial.
fn polished(layout: &Layout, values: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let present = layout.present();
    let blocks = present.first().map_or(0, Vec::len);
    let mut left = values.to_vec();
    let mut own = Vec::with_capacity(values.len().max(blocks));
    for _ in 0..SWEEPS {
        for (row, is) in left.iter_mut().zip(present) {
            own.clear();
            own.extend(row.iter().zip(is).filter(|(_, is)| **is).map(|(value, _)| *value));
            let middle = middle(&mut own);
            row.iter_mut().for_each(|value| *value -= middle);
        }
        for block in 0..blocks {
            own.clear();
            own.extend(left.iter().zip(present).filter(|(_, is)| is[block]).map(|(row, _)| row[block]));
            let middle = middle(&mut own);
            left.iter_mut().for_each(|row| row[block] -= middle);
        }
    }
    for (row, is) in left.iter_mut().zip(present) {
        row.iter_mut().zip(is).filter(|(_, is)| !**is).for_each(|(value, _)| *value = 0.0);
    }
    left
}

/// The median, or 0 without values. It reorders the values. It is fast for the few values of a row,
/// because thousands of layouts are polished.
fn middle(values: &mut [f64]) -> f64 {
    let count = values.len();
    if count == 0 {
        return 0.0;
    }
    if count <= 16 {
        for end in 1..count {
            let value = values[end];
            let mut place = end;
            while place > 0 && values[place - 1] > value {
                values[place] = values[place - 1];
                place -= 1;
            }
            values[place] = value;
        }
        return (values[count / 2] + values[(count - 1) / 2]) / 2.0;
    }
    let (below, upper, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    let upper = *upper;
    if count % 2 == 1 { upper } else { (below.iter().copied().fold(f64::NEG_INFINITY, f64::max) + upper) / 2.0 }
}
