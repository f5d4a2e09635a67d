//! Latency by decile, ten to a hundred percent, with several loads next to each other.

use super::groups::{GroupSeries, Groups};
use crate::captions::times;
use crate::{AxisMeasure, AxisUnit, DrawnChart, Estimate, Heading, Spacing};

/// Latency at each tenth of the operations.
#[derive(Debug, Clone, PartialEq)]
pub struct Deciles {
    /// Title and note.
    pub heading: Heading,
    /// One for each load.
    pub series: Vec<DecileSeries>,
    /// Scale of the latency axis.
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
    /// Draws the chart.
    pub fn draw(&self) -> DrawnChart {
        let series = |one: &DecileSeries| GroupSeries {
            name: one.name.clone(),
            values: one.latencies_ns.iter().take(10).cloned().collect(),
        };
        let groups = Groups {
            heading: self.heading.clone(),
            measure: AxisMeasure { name: "latency".to_owned(), unit: AxisUnit::Nanoseconds, spacing: self.latency },
            group_title: "decile of operations".to_owned(),
            groups: (1..=10).map(|tenth| format!("{}\u{A0}%", tenth * 10)).collect(),
            series: self.series.iter().map(series).collect(),
        };
        DrawnChart { caption: self.seen(), ..groups.draw() }
    }

    /// How far the slowest operation is from the median.
    fn seen(&self) -> String {
        let tail = |one: &DecileSeries| {
            let value = |tenth: usize| one.latencies_ns.get(tenth)?.sound().value.filter(|value| *value > 0.0);
            let (fast, half, slow, all) = (value(0)?, value(4)?, value(8)?, value(9)?);
            let unit = AxisUnit::Nanoseconds;
            Some(format!(
                "{}: eight in ten operations took between {} and {}; the slowest took {} as long as the median.",
                one.name,
                unit.format(fast),
                unit.format(slow),
                times(all / half)
            ))
        };
        self.series.iter().take(3).filter_map(tail).collect::<Vec<_>>().join(" ")
    }
}
