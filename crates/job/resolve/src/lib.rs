//! Resolving: parsed job sections become a [`Plan`] in which nothing is left to decide.
//!
//! `JobSet + engine descriptions + facts about the machine → Plan`, or the list of all errors in
//! the job, each with the place of the setting. The semantics are fio's (its manual page and its
//! behaviour); each topic has its own file. All findings are collected, not only the first.
//!
//! Deliberately absent: I/O (the [`MachineFacts`] trait answers questions about the job's paths),
//! entropy (the caller provides it in [`Overrides`]), parsing of job files (`jobfile`), anything
//! that happens during a run.

mod absent_engines;
mod blocks;
mod buffers;
mod defaults;
mod device_settings;
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
mod priorities;
mod process;
mod queue;
mod ranks;
mod readings;
mod replay;
mod request;
mod seeds;
mod sizes;
mod sprandom;
mod status;
mod steady;
mod verify;
mod worker;
mod workload;
mod zones;

pub use absent_engines::{ABSENT_ENGINES, AbsentEngines};
pub use machine::{MachineFacts, PathKind};
pub use names::split as split_names;
pub use request::{Mode, Overrides, ResolveRequest};

use std::cell::RefCell;
use std::collections::BTreeSet;

use iolab_jobfile::Diagnostic;
use iolab_plan::{Plan, SourceText, WorkerPlan};

use crate::job::texts;

use defaults::Defaults;
use findings::Findings;
use request::{Reads, Resolving};

/// A plan and its warnings.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The plan; its warnings repeat the texts of `warnings`.
    pub plan: Plan,
    /// Findings that do not stop the run, with their places.
    pub warnings: Vec<Diagnostic>,
}

/// Resolves a job set: the plan with its warnings, or every finding if at least one of them is an
/// error.
pub fn resolve(request: &ResolveRequest<'_>) -> Result<Resolved, Vec<Diagnostic>> {
    resolve_noting(request, None).0
}

/// Names of the job options that resolving `request` looked at, and the findings. With these, a
/// test proves that every supported option of the table has a reader.
pub fn options_read(request: &ResolveRequest<'_>) -> (BTreeSet<&'static str>, Vec<Diagnostic>) {
    let (result, reads) = resolve_noting(request, Some(RefCell::default()));
    let findings = match result {
        Ok(resolved) => resolved.warnings,
        Err(findings) => findings,
    };
    (reads.map(RefCell::into_inner).unwrap_or_default(), findings)
}

/// The result, and the names of the options that were looked at, if they are to be noted.
fn resolve_noting(request: &ResolveRequest<'_>, reads: Reads) -> (Result<Resolved, Vec<Diagnostic>>, Reads) {
    let resolving = Resolving {
        findings: Findings::default(),
        reads,
        defaults: Defaults::of(request.options),
        zone_ranges: RefCell::default(),
    };
    let placements = groups::place(request, &resolving);
    let mut workers = Vec::new();
    for placement in &placements {
        worker::resolve_section(request, &resolving, placement, &mut workers);
    }
    buffers::share_working_sets(&mut workers);
    groups::check_waits(request, &placements, &resolving.findings);
    steady::check_groups(&placements, &workers, &resolving.findings);
    verify::check_neighbours(&workers, request.mode, &resolving.findings);
    (conclude(request, workers, resolving.findings.into_inner()), resolving.reads)
}

fn conclude(
    request: &ResolveRequest<'_>,
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
        rank: request.overrides.rank_among_others().map(|_| request.overrides.rank.clone()),
    };
    Ok(Resolved { plan, warnings: found })
}
