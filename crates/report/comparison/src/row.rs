//! One figure of one cell: the values of both sides, and the result.

use iolab_statistics::{Better, Comparison, Interval, Magnitude};
use iolab_study::Figure;
use serde::{Deserialize, Serialize};

use crate::{LatencyKind, pairing};

/// The basis of a row's interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Trials of the same blocks.
    Blocks,
    /// Trials without pairing.
    Trials,
    /// The intervals within one run on each side. They do not show how much runs vary, so there is
    /// no verdict.
    WithinRuns,
    /// There is no interval.
    Nothing,
}

/// One figure of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonRow {
    /// Axes and points of the configuration; empty when there is only one.
    pub points: Vec<(String, String)>,
    /// The job; `None` for all jobs together, empty when the job has different names on the two
    /// sides.
    pub job: Option<String>,
    /// Name of the figure.
    pub figure: String,
    /// The figure.
    pub of: Figure,
    /// The kind of latency, if the figure is one.
    pub latency: Option<LatencyKind>,
    /// Values of the baseline's trials; paired with the candidate's where the basis is blocks.
    pub baseline: Vec<f64>,
    /// Values of the candidate's trials.
    pub candidate: Vec<f64>,
    /// Median of the baseline.
    pub baseline_median: Option<f64>,
    /// Median of the candidate.
    pub candidate_median: Option<f64>,
    /// The basis of the interval.
    pub basis: Basis,
    /// Candidate over baseline, with limits if there are any.
    pub ratio: Option<Interval>,
    /// Test, effect and verdict, if there are enough trials.
    pub comparison: Option<Comparison>,
    /// The word for the size of the change.
    pub effect: Option<Magnitude>,
    /// Why there is no verdict, or no value.
    pub remark: Option<String>,
}

impl ComparisonRow {
    /// Job and configuration, for people; empty if there is only one of each.
    pub fn name(&self) -> String {
        pairing::name(&self.points, self.job.as_deref())
    }
}

/// Whether a larger value is worse.
pub(crate) fn is_worse_above(figure: &Figure) -> bool {
    figure.better() == Better::Lower
}
