//! When a job ends because its rate has become steady: `steadystate` of fio(1), resolved.

use serde::{Deserialize, Serialize};

/// The criterion, its limit, and the measure it applies to. The same for all jobs of a reporting
/// group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SteadyPlan {
    /// What is judged.
    pub measure: SteadyMeasure,
    /// The slope of the window's line, in place of the largest deviation from the window's mean.
    pub slope: bool,
    /// What the criterion has to stay below: percent of the mean, or IOPS, or bytes per second.
    pub limit: f64,
    /// Whether the limit is in percent of the window's mean.
    pub percent: bool,
    /// Samples in the window (at least 1).
    pub samples: u32,
    /// Time between samples, ns.
    pub interval_ns: u64,
    /// Measured time before the window may begin, ns.
    pub ramp_ns: u64,
}

/// The figure of a job that has to become steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SteadyMeasure {
    /// Operations per second, all directions together.
    Iops,
    /// Bytes per second, all directions together.
    Bandwidth,
}

impl SteadyMeasure {
    /// As fio calls it: `iops` or `bw`.
    pub fn name(self) -> &'static str {
        match self {
            SteadyMeasure::Iops => "iops",
            SteadyMeasure::Bandwidth => "bw",
        }
    }
}

impl SteadyPlan {
    /// Length of the window, ns.
    pub fn window_ns(&self) -> u64 {
        self.interval_ns.saturating_mul(u64::from(self.samples))
    }

    /// The unit after a limit or a criterion: `%` or nothing.
    pub fn unit(&self) -> &'static str {
        if self.percent { "%" } else { "" }
    }
}
