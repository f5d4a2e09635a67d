//! Conditions: the combinations of the points of given axes, such as a load or a number of threads.
//!
//! Nobody chooses them, so configurations are compared under the same condition only.

use serde::{Deserialize, Serialize};

/// The result of one figure under one condition: the points of the given axes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GivenCondition {
    /// Numbers of the given axes, and their points here.
    pub points: Vec<(usize, String)>,
    /// Numbers of the configurations, in the order of the design.
    pub configurations: Vec<usize>,
    /// The configuration that the others are compared with.
    pub baseline: usize,
    /// The best of them; `None` without values.
    pub best: Option<usize>,
}
