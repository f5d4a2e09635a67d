//! What this machine can and cannot do, what follows, and the command that mends it.
//!
//! Ways of doing I/O are tried with a small file of the program's own, not guessed from versions.
//! Nothing of the machine is changed. For a job, only what matters for it is looked at, and whether
//! it would run.

mod engines;
mod job;
mod machine;

use iolab_pipeline::{Pipeline, PlanRequest};
use iolab_runner::Engines;
use serde::Serialize;

/// How well something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// As it should be.
    Ok,
    /// It works, with less than could be had or with something to know.
    Limited,
    /// It does not work.
    No,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// What.
    pub topic: String,
    /// How it stands.
    pub status: Standing,
    /// What was found.
    pub found: String,
    /// What follows; empty when all is well.
    pub consequence: String,
    /// The command that mends it, or the words where no command does; empty when all is well.
    pub mend: String,
}

impl Check {
    pub(crate) fn ok(topic: &str, found: impl Into<String>) -> Check {
        let (topic, found) = (topic.to_owned(), found.into());
        Check { topic, status: Standing::Ok, found, consequence: String::new(), mend: String::new() }
    }

    pub(crate) fn new(status: Standing, topic: &str, found: impl Into<String>, consequence: &str, mend: &str) -> Check {
        let (topic, found) = (topic.to_owned(), found.into());
        Check { topic, status, found, consequence: consequence.to_owned(), mend: mend.to_owned() }
    }
}

/// All that can be said of this machine.
pub fn of_machine(all: Engines) -> Vec<Check> {
    [engines::all(all), machine::limits(), machine::processors(), machine::devices(), machine::tracing()].concat()
}

/// What matters for one job.
pub fn of_job(pipeline: &Pipeline<'_>, request: &PlanRequest<'_>) -> Vec<Check> {
    job::checks(pipeline, request)
}

/// Whether a job would run that has been looked at.
pub fn would_run(checks: &[Check]) -> bool {
    !checks.iter().any(|check| check.status == Standing::No)
}

/// Whether a small job of this engine works here.
pub fn engine_works(all: Engines, name: &str) -> bool {
    let checks = engines::of(all, &[name]);
    !checks.is_empty() && would_run(&checks)
}

/// Text of a file of `/proc` or `/sys`, without the blanks around it.
pub(crate) fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}
