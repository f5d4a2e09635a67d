//! Preconditioning: the preparation of storage before trials, so that they measure lasting
//! performance, and its result.
//!
//! Source: SNIA, "Solid State Storage Performance Test Specification" 2.0.2: purge,
//! workload-independent preconditioning (twice the capacity, sequentially, 128 KiB), then rounds of
//! the load until steady. The rule itself is `iolab_statistics::snia`. The program does the
//! writing; this module says what to do, and judges the rounds.

use iolab_statistics::{SniaRules, SteadyState, snia};
use iolab_text::counted;
use serde::{Deserialize, Serialize};

use crate::{Figure, JobSource};

/// What to do, and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preconditioning {
    /// The kind.
    pub kind: PreconditionKind,
    /// The user's job: the job to run ([`PreconditionKind::Job`]), or the load of the rounds
    /// instead of the study's own ([`PreconditionKind::Snia`]).
    pub job: Option<JobSource>,
    /// How often.
    pub once: PreconditionFrequency,
    /// Length of a round, as in a job file.
    pub round: String,
    /// The figure that has to become steady.
    pub figure: Figure,
    /// When it counts as steady.
    pub rules: SniaRules,
}

/// Kinds of preconditioning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PreconditionKind {
    /// Twice the capacity, sequentially, 128 KiB at a time.
    Fill,
    /// Purge, fill, and rounds of the load until it is steady.
    Snia,
    /// The user's job.
    Job,
}

/// How often storage is preconditioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PreconditionFrequency {
    /// Before the first trial.
    Study,
    /// Before each block.
    Block,
    /// Before each trial.
    Trial,
}

/// What a preconditioning precedes. `block` and `configuration` are `None` for the whole study;
/// `configuration` is `None` for a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Before {
    /// Block, from 0.
    pub block: Option<u32>,
    /// Number of the configuration.
    pub configuration: Option<usize>,
    /// Number of the ladder's level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<usize>,
}

/// The result of purging.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Purge {
    /// Targets that discarded their content.
    pub done: Vec<String>,
    /// Targets that could not, each with the reason.
    pub not_done: Vec<String>,
}

/// The result of one preconditioning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Preconditioned {
    /// What it precedes.
    pub before: Before,
    /// The kind.
    pub kind: PreconditionKind,
    /// The result of purging; `None` if it is not part of the kind, or has not been done yet.
    pub purge: Option<Purge>,
    /// Bytes written by the fill or the user's job.
    pub written_bytes: Option<u64>,
    /// The figure of the rounds.
    pub figure: Figure,
    /// Its value in each round, in order; `None` where a round had none.
    pub rounds: Vec<Option<f64>>,
    /// The rules for judging the rounds.
    pub rules: SniaRules,
    /// The verdict; `None` for kinds without rounds.
    pub verdict: Option<SteadyState>,
}

impl Preconditioned {
    /// The state of the rounds so far.
    pub fn judge(kind: PreconditionKind, rounds: &[Option<f64>], rules: &SniaRules) -> Option<SteadyState> {
        // A round without a value is not a round of a steady load: nothing was transferred.
        let values: Vec<f64> = rounds.iter().map(|value| value.unwrap_or(0.0)).collect();
        (kind == PreconditionKind::Snia).then(|| snia(&values, rules))
    }

    /// A description in a line.
    pub fn describe(&self) -> String {
        let mut text = match (self.before.block, self.before.configuration) {
            (None, _) => "before the study".to_owned(),
            (Some(block), None) => format!("before block {}", block + 1),
            (Some(block), Some(configuration)) => {
                format!("before configuration {configuration} of block {}", block + 1)
            }
        };
        if let Some(purge) = &self.purge {
            text += match purge.not_done.is_empty() {
                true => ": purged",
                false => ": not purged",
            };
            if !purge.not_done.is_empty() {
                text += &format!(" ({})", purge.not_done.join("; "));
            }
        }
        if let Some(bytes) = self.written_bytes {
            text += &format!(": wrote {}", iolab_units::format_bytes(bytes));
        }
        match &self.verdict {
            Some(SteadyState::Reached { start, end, range, slope, .. }) => {
                let (range, slope) = (range * 100.0, slope * 100.0);
                text += &format!(
                    ": steady in rounds {} to {end} ({} within {range:.1} %, trend {slope:.1} %)",
                    start + 1,
                    self.figure.name()
                );
            }
            Some(SteadyState::GivenUp { range, slope }) => {
                let (range, slope) = (range * 100.0, slope * 100.0);
                text += &format!(
                    ": not steady after {} (last window: {} within {range:.1} %, trend {slope:.1} %)",
                    counted(self.rounds.len() as u64, "round"),
                    self.figure.name()
                );
            }
            Some(SteadyState::NotYet { .. }) => {
                text += &format!(": not steady yet after {}", counted(self.rounds.len() as u64, "round"));
            }
            None => {}
        }
        text
    }
}
