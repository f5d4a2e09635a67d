//! The values of one figure of one configuration, block by block.

use iolab_statistics::{DecisionRules, Interval, median_interval};
use serde::{Deserialize, Serialize};

use crate::TrialId;
use crate::trial::Trial;

/// One figure of one configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureValues {
    /// Number of the configuration.
    pub configuration: usize,
    /// Number of the figure.
    pub figure: usize,
    /// Values by block; `None` where the trial is missing, flawed or had too few samples.
    pub values: Vec<Option<f64>>,
    /// Median with its interval; `None` without values.
    pub median: Option<Interval>,
}

pub(crate) fn row(
    blocks: u32,
    trials: &[Trial],
    configuration: usize,
    figure: usize,
    rules: &DecisionRules,
) -> FigureValues {
    let value = |block: u32| {
        let planned = TrialId { block, configuration, level: None };
        let mut own = trials.iter().filter(|trial| trial.planned() == planned);
        own.find(|trial| trial.flaw.is_none()).and_then(|trial| trial.values[figure])
    };
    let values: Vec<Option<f64>> = (0..blocks).map(value).collect();
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    FigureValues { configuration, figure, values, median: median_interval(&known, rules.confidence) }
}
