//! How steady the rate of a job, or of a group of jobs, was according to `steadystate`.

use serde::{Deserialize, Serialize};

/// The result of the plan's `steady`. It is in the recording of the worker that judged: in a group
/// that is reported as one, the last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SteadyRecording {
    /// Whether the rate became steady, which ended the jobs.
    pub attained: bool,
    /// What was last compared with the limit, in the limit's unit; slopes with their sign. `None`
    /// until the window is full.
    pub criterion: Option<f64>,
    /// The criterion in IOPS or bytes per second: the largest deviation from the mean, or the slope
    /// from one sample to the next.
    pub excursion: Option<f64>,
    /// Operations per second of each sample of the window, the oldest first; fewer than the plan
    /// says until it is full.
    pub iops: Vec<f64>,
    /// Bytes per second of each.
    pub bytes_per_s: Vec<f64>,
}
