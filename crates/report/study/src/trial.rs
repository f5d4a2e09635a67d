//! One trial of a study: its identity, and its results.

use iolab_aggregate::ReachedStorage;
use iolab_plan::PerDirection;
use serde::{Deserialize, Serialize};

use crate::WarmUp;

/// The results of one trial that are kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Block, from 0.
    pub block: u32,
    /// Number of the configuration.
    pub configuration: usize,
    /// Number of the ladder's level; `None` for a trial without a rate.
    #[serde(default)]
    pub level: Option<usize>,
    /// Values of the study's figures, in order.
    pub values: Vec<Option<f64>>,
    /// Why the run does not count: it failed or was interrupted.
    pub flaw: Option<String>,
    /// Operations per second, by direction.
    #[serde(default)]
    pub rates: PerDirection<f64>,
    /// Number of its workers.
    #[serde(default)]
    pub workers: u32,
    /// Percentiles of service times for its ladder, ns.
    #[serde(default)]
    pub service: Vec<Option<f64>>,
    /// Percentiles of response times for its ladder, ns.
    #[serde(default)]
    pub response: Vec<Option<f64>>,
    /// Whether it requested more than was done, and what the cause was.
    #[serde(default)]
    pub behind: Option<Behind>,
    /// Its warm-up that was left out.
    #[serde(default)]
    pub warm_up: Option<WarmUp>,
    /// How long it took, ns.
    #[serde(default)]
    pub elapsed_ns: u64,
    /// The storage it used; empty if that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reached: Vec<ReachedStorage>,
}

/// Which side was too slow for the requested rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behind {
    /// The storage.
    Device,
    /// The load generator.
    Generator,
}

/// One trial to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialId {
    /// Block, from 0.
    pub block: u32,
    /// Number of the configuration.
    pub configuration: usize,
    /// Number of the ladder's level; `None` for a trial without a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<usize>,
}

impl Trial {
    /// The identity of this trial.
    pub fn planned(&self) -> TrialId {
        TrialId { block: self.block, configuration: self.configuration, level: self.level }
    }
}
