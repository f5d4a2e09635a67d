//! Findings: warnings about the figures, with the evidence.

use serde::{Deserialize, Serialize};

/// One finding. Findings are derived from a recording when its run has ended, and are stored in it;
/// the most severe come first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Name of the rule, e.g. `page-cache`.
    pub rule: String,
    /// Its severity.
    pub severity: Severity,
    /// What was seen, with the numbers.
    pub evidence: String,
    /// The consequence for the figures, in one sentence.
    pub consequence: String,
    /// What to change.
    pub advice: String,
    /// Names of the jobs it is about; empty when it is about the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<String>,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The figures do not show what the job seems to measure.
    Invalid,
    /// The figures show it, but are distorted or weak.
    Warning,
    /// Good to know.
    Note,
}

impl Severity {
    /// Its name in recordings and in formats for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Invalid => "invalid",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}
