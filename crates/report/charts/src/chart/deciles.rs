//! Latency by decile, ten to a hundred percent, several loads beside each other.

use super::groups::{GroupSeries, Groups};
use crate::{Estimate, Figure, Heading, Measure, Spacing, Unit};

/// Latency at each tenth of the operations.
#[derive(Debug, Clone, PartialEq)]
pub struct Deciles {
    /// What it is called.
    pub heading: Heading,
    /// One for each load.
    pub series: Vec<DecileSeries>,
    /// How the latency axis is divided.
    pub latency: Spacing,
}

/// One load.
#[derive(Debug, Clone, PartialEq)]
pub struct DecileSeries {
    /// Name.
    pub name: String,
    /// Latencies, ns: that of the fastest tenth first, the largest of all last.
    pub latencies_ns: Vec<Estimate>,
}

impl Deciles {
    /// Draws it.
    pub fn draw(&self) -> Figure {
        let series = |one: &DecileSeries| GroupSeries {
            name: one.name.clone(),
            values: one.latencies_ns.iter().take(10).cloned().collect(),
        };
        let groups = Groups {
            heading: self.heading.clone(),
            measure: Measure { name: "latency".to_owned(), unit: Unit::Nanoseconds, spacing: self.latency },
            group_title: "decile of operations".to_owned(),
            groups: (1..=10).map(|tenth| format!("{}\u{A0}%", tenth * 10)).collect(),
            series: self.series.iter().map(series).collect(),
        };
        groups.draw()
    }
}
