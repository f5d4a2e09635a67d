//! A straight line through points at 0, 1, 2 …

use serde::{Deserialize, Serialize};

/// `start + slope · place`, by least squares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
