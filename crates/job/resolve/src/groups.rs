//! The sections that run, and their positions: reporting groups, stages, numbers of workers, and
//! waits.
//!
//! As in fio, a new reporting group begins at `stonewall` or `new_group` unless the current one is
//! still empty, and at every further job file; `group_reporting` changes only how a group is shown.
//! A stage begins at a stonewall unless nothing precedes it. Clones share both with their section.

use std::rc::Rc;

use iolab_jobfile::{DiagnosticSeverity, JobSection};

use crate::findings::Findings;
use crate::job::Job;
use crate::ranks;
use crate::replay::{self, Trace};
use crate::request::{Mode, ResolveRequest, Resolving};

/// Largest number of workers without `--max-jobs`, as in fio.
const MAX_WORKERS: u32 = 4096;

/// One section that runs.
pub(crate) struct Placement<'a> {
    pub(crate) section: &'a JobSection,
    /// Index among all sections of the job set.
    pub(crate) index: u32,
    pub(crate) group: u32,
    pub(crate) stage: u32,
    pub(crate) clones: u32,
    /// The trace that it replays.
    pub(crate) trace: Option<Rc<Trace>>,
    /// Number of its first worker.
    pub(crate) first: u32,
}

/// Places every section that runs.
pub(crate) fn place<'a>(request: &'a ResolveRequest<'a>, resolving: &'a Resolving<'a>) -> Vec<Placement<'a>> {
    let mut placements: Vec<Placement<'a>> = Vec::new();
    let (mut group, mut stage, mut in_group, mut workers) = (0, 0, 0u32, 0u32);
    let (mut pending_file, mut pending_wall, mut left_out) = (false, false, false);
    for (index, section) in request.jobs.jobs.iter().enumerate() {
        pending_file |= section.begins_file;
        if !selected(request, section) {
            continue;
        }
        let Some(engine) = crate::engine::find(request, resolving, section) else { continue };
        let job =
            Job { request, resolving, section, engine, number: workers, clone: 0, zone_bytes: Default::default() };
        let wall = job.on("stonewall") | std::mem::take(&mut pending_file);
        if (wall | job.on("new_group")) && in_group > 0 {
            group += 1;
            in_group = 0;
        }
        pending_wall |= wall;
        if !ranks::is_for_this(&job) {
            // Groups have the same numbers on all ranks, and what comes after it waits for what
            // came before it.
            (in_group, left_out) = (in_group + 1, true);
            ranks::warn_of_left_out(&job);
            continue;
        }
        if std::mem::take(&mut pending_wall) && workers > 0 {
            stage += 1;
        }
        let trace = replay::trace_of(&job);
        let clones = clones(&job, trace.as_ref().map_or(1, |trace| trace.shares()));
        placements.push(Placement { section, index: index as u32, group, stage, clones, trace, first: workers });
        in_group += clones;
        workers += clones;
    }
    if placements.is_empty() && left_out {
        let (reason, suggestion) = ranks::nothing_to_do(request);
        resolving.findings.add(DiagnosticSeverity::Error, (0, (0, 0)), reason, suggestion);
    } else if placements.is_empty() && request.jobs.jobs.iter().all(|section| !selected(request, section)) {
        let names: Vec<&str> = request.jobs.jobs.iter().map(|section| section.name.as_str()).collect();
        let reason = if names.is_empty() { "no jobs are defined".into() } else { "no job is selected".into() };
        let suggestion = if names.is_empty() {
            "add a section such as [job], or use --name=job".into()
        } else {
            format!("the sections are: {}", names.join(", "))
        };
        resolving.findings.add(DiagnosticSeverity::Error, (0, (0, 0)), reason, &suggestion);
    }
    placements
}

fn selected(request: &ResolveRequest<'_>, section: &JobSection) -> bool {
    let wanted = &request.overrides.sections;
    wanted.is_empty() || wanted.contains(&section.name)
}

/// `numjobs` times `each` workers, within the limit of the run.
fn clones(job: &Job<'_>, each: u32) -> u32 {
    let clones = job.count("numjobs").max(1).saturating_mul(each);
    let most = match job.request.overrides.max_jobs {
        // fio no longer needs a limit, but scripts may still give a small one.
        Some(most) if job.request.mode == Mode::Fio => most.max(MAX_WORKERS),
        asked => asked.unwrap_or(MAX_WORKERS),
    };
    if job.number.saturating_add(clones) <= most {
        return clones;
    }
    if job.number > most {
        // Already reported, for the first job beyond the limit.
        return 1;
    }
    job.error(
        "numjobs",
        format!(
            "the run would have {} workers or more; the limit is {most}",
            u64::from(job.number) + u64::from(clones)
        ),
        "reduce numjobs, or raise --max-jobs",
    );
    1
}

/// A job may wait only for a job that is defined before it (fio starts them in order).
pub(crate) fn check_waits(request: &ResolveRequest<'_>, placements: &[Placement<'_>], findings: &Findings) {
    let mut names: Vec<&str> = Vec::new();
    for placement in placements {
        let section = placement.section;
        let own_name = job_name(section);
        if let Some(setting) = section.settings.get("wait_for") {
            let waited = setting.text.trim();
            let place = (setting.source, setting.span);
            if waited == own_name {
                findings.add(DiagnosticSeverity::Error, place, format!("job {own_name} cannot wait for itself"), "");
            } else if !names.contains(&waited) {
                let known = request.jobs.jobs.iter().any(|other| job_name(other) == waited);
                let reason = if known {
                    format!("job {own_name} waits for {waited}, which is defined after it or does not run")
                } else {
                    format!("job {own_name} waits for {waited}, but there is no such job")
                };
                findings.add(
                    DiagnosticSeverity::Error,
                    place,
                    reason,
                    "wait_for needs the name of a job defined earlier",
                );
            }
        }
        names.push(own_name);
    }
}

/// `name=`, otherwise the section's name.
pub(crate) fn job_name(section: &JobSection) -> &str {
    match section.own.get("name") {
        Some(setting) if !setting.text.is_empty() => &setting.text,
        _ => &section.name,
    }
}
