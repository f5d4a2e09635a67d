//! Shared by the rules: their result type, and how the evidence of several jobs becomes one
//! sentence.
//!
//! There is one file for each subject. A rule is a function from facts to matches; it returns none
//! when all is well.

pub(crate) mod arithmetic;
pub(crate) mod cache;
pub(crate) mod client_cache;
pub(crate) mod damage;
pub(crate) mod ending;
pub(crate) mod host;
pub(crate) mod hosts;
pub(crate) mod layers;
pub(crate) mod network;
pub(crate) mod processor;
pub(crate) mod queue;
pub(crate) mod requests;
pub(crate) mod samples;
pub(crate) mod schedule;
pub(crate) mod steadiness;
pub(crate) mod stripes;

use iolab_recording::Severity;

use crate::facts::{Facts, Job};

/// Most jobs whose numbers are spelled out in one finding.
const JOBS_SHOWN: usize = 3;

/// What a rule has found.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleMatch {
    /// Its severity.
    pub severity: Severity,
    /// The numbers.
    pub evidence: String,
    /// The jobs concerned; empty for the whole run.
    pub jobs: Vec<String>,
    /// The consequence, if it differs from the one in the table of rules.
    pub consequence: Option<&'static str>,
}

impl RuleMatch {
    /// A match about the whole run.
    pub(crate) fn of_run(severity: Severity, evidence: String) -> RuleMatch {
        RuleMatch { severity, evidence, jobs: Vec::new(), consequence: None }
    }

    /// A match about several jobs together.
    pub(crate) fn of_several(severity: Severity, jobs: Vec<String>, evidence: &str) -> RuleMatch {
        let mut names = jobs.iter().take(JOBS_SHOWN).cloned().collect::<Vec<_>>().join(", ");
        if jobs.len() > JOBS_SHOWN {
            names.push_str(", …");
        }
        RuleMatch { severity, evidence: format!("{names}: {evidence}"), jobs, consequence: None }
    }

    /// The same match, with its own consequence.
    pub(crate) fn meaning(self, consequence: &'static str) -> RuleMatch {
        RuleMatch { consequence: Some(consequence), ..self }
    }
}

/// One finding about every job for which `look` returns something.
pub(crate) fn of_jobs<'a>(
    facts: &Facts<'a>,
    severity: Severity,
    look: impl Fn(&Job<'a>) -> Option<String>,
) -> Vec<RuleMatch> {
    let seen = facts.shown().filter_map(|job| Some((job.name, look(job)?))).collect();
    together(severity, seen)
}

/// One finding from the sentences about several jobs.
pub(crate) fn together(severity: Severity, seen: Vec<(&str, String)>) -> Vec<RuleMatch> {
    if seen.is_empty() {
        return Vec::new();
    }
    let mut sentences: Vec<String> =
        seen.iter().take(JOBS_SHOWN).map(|(job, evidence)| format!("{job}: {evidence}")).collect();
    if seen.len() > JOBS_SHOWN {
        sentences.push(format!("and {} more jobs", seen.len() - JOBS_SHOWN));
    }
    let jobs = seen.iter().map(|(job, _)| (*job).to_owned()).collect();
    vec![RuleMatch { severity, evidence: sentences.join("; "), jobs, consequence: None }]
}
