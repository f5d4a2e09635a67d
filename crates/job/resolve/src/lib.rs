//! Resolving: parsed job sections become a [`Plan`] in which nothing is left to decide.
//!
//! `JobSet + engine descriptions + facts about the machine → Plan`, or the list of everything that
//! is wrong with the job, each finding with the place of the setting at fault. The semantics are
//! fio's (its manual page and its behaviour); each topic has its own file. All findings are
//! collected, not only the first.
//!
//! Deliberately absent: I/O (the [`Machine`] trait answers what the job's paths are), entropy (the
//! caller brings it in [`Overrides`]), parsing of job files (`jobfile`), anything that happens
//! during a run.

mod blocks;
mod buffers;
mod defaults;
mod device_settings;
mod directions;
mod distribution;
mod engine;
mod errors;
mod files;
mod findings;
mod groups;
mod job;
mod limits;
mod logs;
mod machine;
mod measurement;
mod names;
mod pacing;
mod pattern;
mod process;
mod queue;
mod readings;
mod seeds;
mod sizes;
mod status;
mod steady;
mod worker;
mod workload;

pub use machine::{Machine, PathKind};

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use iolab_engine::EngineDescription;
use iolab_jobfile::{Diagnostic, JobSet};
use iolab_options::{OptionEntry, Settings};
use iolab_plan::{Plan, SourceText, WorkerPlan};

use defaults::Defaults;
use findings::Findings;

/// How strictly a job is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// What iolab does not do, and what cannot be meant, is an error.
    #[default]
    Iolab,
    /// As fio: what does no harm is a warning.
    Fio,
}

/// What the command line says about the run as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// `--readonly`: refuse jobs that write or trim.
    pub readonly: bool,
    /// `--section`: run only sections of these names; empty: all.
    pub sections: Vec<String>,
    /// `--runtime`: replaces every job's runtime, ns.
    pub runtime_ns: Option<u64>,
    /// `--max-jobs`: most workers allowed.
    pub max_jobs: Option<u32>,
    /// `--aux-path`: directory for log files with relative names.
    pub aux_path: Option<String>,
    /// Seed of jobs with `randrepeat=0`: fresh entropy from the caller.
    pub entropy: u64,
}

/// Everything [`resolve`] looks at.
pub struct Request<'a> {
    /// The parsed job files and command line.
    pub jobs: &'a JobSet,
    /// The job language's option table (`jobfile::OPTIONS`), for the status of each option.
    pub options: &'a [OptionEntry],
    /// The engines of this build.
    pub engines: &'a [&'static EngineDescription],
    /// Facts about paths and CPUs.
    pub machine: &'a dyn Machine,
    /// How strictly to read.
    pub mode: Mode,
    /// What the command line says about the run.
    pub overrides: Overrides,
}

/// A plan and what the user should know of it.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The plan; its warnings repeat the texts of `warnings`.
    pub plan: Plan,
    /// Findings that do not stop the run, with their places.
    pub warnings: Vec<Diagnostic>,
}

/// What all jobs of a run share while they are resolved.
pub(crate) struct Resolving {
    pub(crate) findings: Findings,
    /// Names of options that were looked at, for the test that every supported option is.
    pub(crate) reads: RefCell<BTreeSet<&'static str>>,
    pub(crate) defaults: Defaults,
}

/// Resolves a job set: the plan with its warnings, or every finding if at least one of them is an
/// error.
pub fn resolve(request: &Request<'_>) -> Result<Resolved, Vec<Diagnostic>> {
    resolve_recording(request).0
}

/// Names of the job options that resolving `request` looked at, and the findings: the means by
/// which a test proves that every option the table calls supported has a reader.
pub fn options_read(request: &Request<'_>) -> (BTreeSet<&'static str>, Vec<Diagnostic>) {
    let (result, reads) = resolve_recording(request);
    let findings = match result {
        Ok(resolved) => resolved.warnings,
        Err(findings) => findings,
    };
    (reads, findings)
}

/// The result, and the names of the options that were looked at.
fn resolve_recording(request: &Request<'_>) -> (Result<Resolved, Vec<Diagnostic>>, BTreeSet<&'static str>) {
    let resolving =
        Resolving { findings: Findings::default(), reads: RefCell::default(), defaults: Defaults::of(request.options) };
    let placements = groups::place(request, &resolving);
    let mut workers = Vec::new();
    for placement in &placements {
        worker::resolve_section(request, &resolving, placement, &mut workers);
    }
    groups::check_waits(request, &placements, &resolving.findings);
    steady::check_groups(&placements, &workers, &resolving.findings);
    (conclude(request, workers, resolving.findings.into_inner()), resolving.reads.into_inner())
}

fn conclude(
    request: &Request<'_>,
    workers: Vec<WorkerPlan>,
    found: Vec<Diagnostic>,
) -> Result<Resolved, Vec<Diagnostic>> {
    if found.iter().any(|finding| finding.severity.is_error()) {
        return Err(found);
    }
    let warnings = request.jobs.warnings.iter().chain(&found).map(|warning| warning.reason.clone()).collect();
    let plan = Plan {
        sources: request
            .jobs
            .sources
            .iter()
            .map(|(name, text)| SourceText { name: name.clone(), text: text.clone() })
            .collect(),
        global_options: texts(&request.jobs.global),
        workers,
        warnings,
    };
    Ok(Resolved { plan, warnings: found })
}

/// Options as the user wrote them.
pub(crate) fn texts(settings: &Settings) -> BTreeMap<String, String> {
    settings.iter().map(|(name, setting)| (name.to_owned(), setting.text.clone())).collect()
}
