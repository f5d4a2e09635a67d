//! Outliers among trials: a stall, or a burst of load from another program.
//!
//! The expected value of a trial follows from its block and its configuration by medians (Tukey's
//! median polish, "Exploratory Data Analysis" 1977), which a single outlier does not move. Trials
//! further away than some spreads are moved to that distance, as in Huber's estimate (1964), and
//! reported. The spread is the larger of the pooled one and the configuration's own, so that a
//! noisy configuration does not look like a series of stalls.

use crate::columns::{Table, median_of};
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
    let residuals = if layout.is_complete() { polished(values) } else { polished_with_gaps(layout, values) };
    let (common, own) = sizes(layout, &residuals);
    let trials = layout.present().iter().flatten().filter(|is| **is).count();
    let scale = NORMAL * (trials as f64 / layout.freedom() as f64).sqrt();
    let mut far = Vec::new();
    for ((configuration, left), own) in residuals.rows().enumerate().zip(own) {
        // Differences caused by rounding are ignored.
        let limit = (spreads * scale * common.max(own)).max(1e-9);
        for (block, distance) in left.iter().enumerate().filter(|(_, distance)| distance.abs() > limit) {
            values[configuration][block] -= distance - distance.clamp(-limit, limit);
            far.push(FarTrial { configuration, block, distance: *distance, spreads: distance.abs() * spreads / limit });
        }
    }
    far
}

/// The median size of the residuals: of all trials, and of those of each configuration.
fn sizes(layout: &Layout, residuals: &Table) -> (f64, Vec<f64>) {
    let mut sizes = residuals.clone();
    sizes.cells_mut().iter_mut().for_each(|size| *size = size.abs());
    if layout.is_complete() {
        let own = sizes.turned().medians_of_columns();
        return (median_of(sizes.cells_mut()), own);
    }
    let present = |(size, is): (&f64, &bool)| is.then_some(*size);
    let of = |(row, is): (&[f64], &Vec<bool>)| row.iter().zip(is).filter_map(present).collect::<Vec<f64>>();
    let mut each: Vec<Vec<f64>> = sizes.rows().zip(layout.present()).map(of).collect();
    (median_of(&mut each.concat()), each.iter_mut().map(|own| median_of(own)).collect())
}

/// The residuals of a complete design, after the medians of configurations and of blocks are
/// subtracted alternately.
fn polished(values: &[Vec<f64>]) -> Table {
    let mut left = Table::of(values);
    for _ in 0..SWEEPS {
        let mut by_configuration = left.turned();
        by_configuration.subtract_from_columns(&by_configuration.medians_of_columns());
        left = by_configuration.turned();
        left.subtract_from_columns(&left.medians_of_columns());
    }
    left
}

/// The residuals of any design; 0 where there is no trial.
fn polished_with_gaps(layout: &Layout, values: &[Vec<f64>]) -> Table {
    let present = layout.present();
    let blocks = present.first().map_or(0, Vec::len);
    let mut left = values.to_vec();
    let mut own = Vec::with_capacity(values.len().max(blocks));
    for _ in 0..SWEEPS {
        for (row, is) in left.iter_mut().zip(present) {
            own.clear();
            own.extend(row.iter().zip(is).filter(|(_, is)| **is).map(|(value, _)| *value));
            let middle = median_of(&mut own);
            row.iter_mut().for_each(|value| *value -= middle);
        }
        for block in 0..blocks {
            own.clear();
            own.extend(left.iter().zip(present).filter(|(_, is)| is[block]).map(|(row, _)| row[block]));
            let middle = median_of(&mut own);
            left.iter_mut().for_each(|row| row[block] -= middle);
        }
    }
    for (row, is) in left.iter_mut().zip(present) {
        row.iter_mut().zip(is).filter(|(_, is)| !**is).for_each(|(value, _)| *value = 0.0);
    }
    Table::of(&left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn complete_designs_are_polished_to_the_last_bit_as_those_with_gaps() {
        let mut random = Random::new(7);
        for (rows, blocks) in [(2, 7), (3, 5), (6, 10), (4, 20), (18, 3)] {
            let layout = Layout::new(vec![vec![true; blocks]; rows]);
            let values: Vec<Vec<f64>> = (0..rows).map(|_| (0..blocks).map(|_| random.normal()).collect()).collect();
            assert_eq!(polished(&values), polished_with_gaps(&layout, &values), "{rows} x {blocks}");
        }
    }
}
