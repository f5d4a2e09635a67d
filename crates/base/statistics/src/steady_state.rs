//! Has a device settled? SNIA's rules, and fio's.
//!
//! Source: SNIA, "Solid State Storage Performance Test Specification" 2.0.2, section 2.1.24: over a
//! window of five rounds, the difference between the largest and the smallest value is at most 20 %
//! of the mean (data excursion), and the least-squares line rises or falls by at most 10 % of the
//! mean from one end of the window to the other (slope excursion); at most 25 rounds. fio's
//! `steadystate` (fio(1)) judges by one of its own measures alone.

use serde::{Deserialize, Serialize};

/// Limits of the rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SniaRules {
    /// Rounds in the window.
    pub window: usize,
    /// The largest allowed difference between the largest and the smallest value, as a share of the
    /// mean.
    pub range: f64,
    /// The largest allowed rise or fall of the line over the window, as a share of the mean.
    pub slope: f64,
    /// Rounds after which to give up.
    pub most_rounds: usize,
}

impl Default for SniaRules {
    fn default() -> SniaRules {
        SniaRules { window: 5, range: 0.20, slope: 0.10, most_rounds: 25 }
    }
}

/// The state of a series of rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SteadyState {
    /// Steady over the window that ends before round `end` (counted from 0); later rounds are not
    /// examined.
    Reached {
        /// First round of the window.
        start: usize,
        /// Round after the window.
        end: usize,
        /// Mean over the window: the result.
        mean: f64,
        /// The largest minus the smallest value, as a share of the mean.
        range: f64,
        /// Rise or fall of the line over the window, as a share of the mean.
        slope: f64,
        /// The line over the window; place 0 is `start`.
        line: Line,
    },
    /// Not yet; continue.
    NotYet {
        /// As above, for the last window; `None` before the first is full.
        range: Option<f64>,
        /// As above.
        slope: Option<f64>,
    },
    /// Not steady within the allowed rounds: there is no steady state to report.
    GivenUp {
        /// As above, for the last window.
        range: f64,
        /// As above.
        slope: f64,
    },
}

/// Judges the rounds so far.
pub fn snia(rounds: &[f64], rules: &SniaRules) -> SteadyState {
    let rounds = &rounds[..rounds.len().min(rules.most_rounds)];
    let window = rules.window.max(2);
    let mut last = None;
    for start in 0..(rounds.len() + 1).saturating_sub(window) {
        let values = &rounds[start..start + window];
        let Some((range, slope, line)) = excursions(values) else { continue };
        if range <= rules.range && slope <= rules.slope {
            let mean = values.iter().sum::<f64>() / window as f64;
            return SteadyState::Reached { start, end: start + window, mean, range, slope, line };
        }
        last = Some((range, slope));
    }
    match last {
        Some((range, slope)) if rounds.len() >= rules.most_rounds => SteadyState::GivenUp { range, slope },
        last => SteadyState::NotYet { range: last.map(|both| both.0), slope: last.map(|both| both.1) },
    }
}

/// Data and slope excursion as shares of the mean. `None` when the mean is not above zero.
fn excursions(values: &[f64]) -> Option<(f64, f64, Line)> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let line = Line::through(values).filter(|_| mean > 0.0)?;
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let slope = (line.slope * (values.len() - 1) as f64).abs();
    Some(((largest - smallest) / mean, slope / mean, line))
}

/// The figure that fio compares for `ss=iops:x%`: the largest distance of a value from the mean, as
/// a share of the mean. `None` without values or with a mean of zero.
pub fn fio_deviation(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let largest = values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max);
    Some(largest / mean).filter(|share| share.is_finite())
}

/// The figure that fio compares for `ss=iops_slope:x%`: the growth of the least-squares line from
/// one value to the next, as a share of the mean.
pub fn fio_slope(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let slope = Line::through(values)?.slope.abs();
    Some(slope / mean).filter(|share| share.is_finite())
}

/// A straight line through points at places 0, 1, 2 …: `start + slope · place`, by least squares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Line {
    /// Value at place 0.
    pub start: f64,
    /// Growth from one place to the next.
    pub slope: f64,
}

impl Line {
    /// The line through `values`; flat through a single one. `None` without values.
    pub fn through(values: &[f64]) -> Option<Line> {
        if values.is_empty() {
            return None;
        }
        let count = values.len() as f64;
        let middle = (count - 1.0) / 2.0;
        let mean = values.iter().sum::<f64>() / count;
        let (mut products, mut squares) = (0.0, 0.0);
        for (place, value) in values.iter().enumerate() {
            let from_middle = place as f64 - middle;
            products += from_middle * (value - mean);
            squares += from_middle * from_middle;
        }
        let slope = if squares > 0.0 { products / squares } else { 0.0 };
        Some(Line { start: mean - slope * middle, slope })
    }
}
