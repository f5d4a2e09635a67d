//! Preconditioning: what is done to the storage before trials, so that they measure what will last,
//! and its result.
//!
//! Source: SNIA, "Solid State Storage Performance Test Specification" 2.0.2: purge,
//! workload-independent preconditioning (twice the capacity, sequentially, 128 KiB), then rounds of
//! the load until steady. The rule itself is `iolab_statistics::snia`. What writes is the program;
//! this says what is to be done, and judges.

use iolab_statistics::{SniaRules, SteadyState, snia};
use iolab_text::counted;
use serde::{Deserialize, Serialize};

use crate::{Figure, JobSource};

/// What is done, and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preconditioning {
    /// Which kind.
    pub kind: PreconditionKind,
    /// The user's job: what is run ([`PreconditionKind::Job`]), or the load of the rounds in place
    /// of the study's own ([`PreconditionKind::Snia`]).
    pub job: Option<JobSource>,
    /// How often.
    pub once: PreconditionFrequency,
    /// Length of a round, as in a job file.
    pub round: String,
    /// The figure that has to become steady.
    pub figure: Figure,
    /// When it is.
    pub rules: SniaRules,
}

/// Kinds of preconditioning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreconditionKind {
    /// Twice the capacity, sequentially, 128 KiB at a time.
    Fill,
    /// Purge, fill, and rounds of the load until it is steady.
    Snia,
    /// A job of the user's.
    Job,
}

/// How often storage is preconditioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreconditionFrequency {
    /// Before the first trial.
    Study,
    /// Before each block.
    Block,
    /// Before each trial.
    Trial,
}

/// One preconditioning: before what it is done. Both are `None` for the whole study,
/// `configuration` is for a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Before {
    /// Block, from 0.
    pub block: Option<u32>,
    /// Number of the configuration.
    pub configuration: Option<usize>,
    /// Number of the ladder's level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<usize>,
}

/// What purging came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purge {
    /// Targets that were told to forget their content.
    pub done: Vec<String>,
    /// Those that could not be, each with the reason.
    pub not_done: Vec<String>,
}

/// What one preconditioning came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preconditioned {
    /// Before what.
    pub before: Before,
    /// Which kind.
    pub kind: PreconditionKind,
    /// Purging; `None` where it is no part of the kind, or has not been yet.
    pub purge: Option<Purge>,
    /// Bytes written by the fill or the user's job.
    pub written_bytes: Option<u64>,
    /// The figure of the rounds.
    pub figure: Figure,
    /// Its value in each round, in order; `None` where a round had none.
    pub rounds: Vec<Option<f64>>,
    /// By which rules the rounds are judged.
    pub rules: SniaRules,
    /// What they say; `None` for kinds without rounds.
    pub verdict: Option<SteadyState>,
}

impl Preconditioned {
    /// The state of the rounds so far.
    pub fn judge(kind: PreconditionKind, rounds: &[Option<f64>], rules: &SniaRules) -> Option<SteadyState> {
        // A round without a value is no round of a steady load: nothing moved.
        let values: Vec<f64> = rounds.iter().map(|value| value.unwrap_or(0.0)).collect();
        (kind == PreconditionKind::Snia).then(|| snia(&values, rules))
    }

    /// What is to be said of it, in a line.
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
