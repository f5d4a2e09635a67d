//! The data's way: job → plan → run → recording.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use iolab_bounded_read::{JOB_FILE, ReadError};
use iolab_clock::Clock;
use iolab_guard::Guard;
use iolab_jobfile::{Diagnostic, Input, JobSet, Severity};
use iolab_plan::Plan;
use iolab_recording::{Recording, Redaction};
use iolab_resolve::{Mode, Overrides};
use iolab_runner::{Observer, RunError, RunRequest};

use crate::device_state;
use crate::engine_registry::{self, ENGINES};
use crate::exit::{FAILED, Failure};
use crate::run_options::{Asked, RunOptions};
use crate::safety;
use crate::surroundings::Here;

/// A plan and what there is to say about it.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) jobs: JobSet,
    pub(crate) warnings: Vec<Diagnostic>,
    /// What is taken out of all that is kept.
    pub(crate) redaction: Redaction,
}

/// Job files and command line to plan.
pub(crate) fn plan(asked: &Asked, mode: Mode) -> Result<Planned, Failure> {
    let here = Here::new();
    iolab_engine_nvme::allow_media(asked.run.allow_destroy.iter().map(std::path::Path::new));
    let jobs = parse(asked, &here)?;
    let descriptions = engine_registry::descriptions();
    let request = iolab_resolve::Request {
        jobs: &jobs,
        options: iolab_jobfile::OPTIONS,
        engines: &descriptions,
        machine: &here,
        mode,
        overrides: overrides(&asked.run),
    };
    match iolab_resolve::resolve(&request) {
        Ok(resolved) => {
            let warnings = jobs.warnings.iter().cloned().chain(resolved.warnings).collect();
            let redaction = if asked.run.keep_secrets { Redaction::default() } else { redaction(&jobs) };
            Ok(Planned { plan: resolved.plan, jobs, warnings, redaction })
        }
        Err(findings) => {
            let errors: Vec<Diagnostic> = findings.into_iter().filter(|finding| finding.severity.is_error()).collect();
            let text = iolab_jobfile::render(&errors, &jobs.sources, use_color());
            // What is wrong besides has to be mended first.
            let is_refusal = errors.iter().all(|error| error.severity == Severity::Refusal);
            Err(if is_refusal { Failure::refused(text) } else { Failure::mistake(text) })
        }
    }
}

/// What the environment told the jobs: it may be a password.
fn redaction(jobs: &JobSet) -> Redaction {
    let expansions = || jobs.expansions.iter();
    let options = expansions().map(|one| (one.option.clone(), one.text.clone(), one.written.clone()));
    Redaction::new(options, expansions().flat_map(|one| one.variables.clone()).collect::<BTreeMap<_, _>>())
}

/// Job files and command line to job set.
fn parse(asked: &Asked, here: &Here) -> Result<JobSet, Failure> {
    let mut inputs = Vec::new();
    for name in &asked.line.files {
        let bytes = read_input(name).map_err(|error| Failure::mistake(format!("iolab: {name}: {error}")))?;
        inputs.push(Input { name: name.clone(), bytes });
    }
    let request =
        iolab_jobfile::Request { command_line: Some(&asked.line), files: &inputs, sections: &asked.run.sections };
    iolab_jobfile::parse(&request, here)
        .map_err(|failure| Failure::mistake(iolab_jobfile::render(&failure.diagnostics, &failure.sources, use_color())))
}

/// The bytes of a job file; `-` is standard input.
pub(crate) fn read_input(name: &str) -> Result<Vec<u8>, ReadError> {
    match name {
        "-" => iolab_bounded_read::read_standard_input(JOB_FILE),
        name => iolab_bounded_read::read(Path::new(name), JOB_FILE),
    }
}

fn overrides(run: &RunOptions) -> Overrides {
    Overrides {
        readonly: run.readonly,
        sections: Vec::new(),
        runtime_ns: None,
        max_jobs: run.max_jobs,
        aux_path: run.aux_path.clone(),
        entropy: entropy(),
    }
}

/// A seed nobody chose, for `randrepeat=0`.
fn entropy() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

/// Whether messages are coloured (NO_COLOR, <https://no-color.org>).
pub(crate) fn use_color() -> bool {
    crate::console::stderr_has_colors()
}

/// Refuses what would destroy something the user did not name, and what there is no room for. What
/// is worth a word, and the guard that will judge the same files when they are opened.
pub(crate) fn check_safety(plan: &Plan, mode: Mode, allowed: &[PathBuf]) -> Result<(Vec<String>, Guard), Failure> {
    let verdict = safety::check(plan, mode, allowed);
    if !verdict.refusals.is_empty() {
        return Err(Failure::refused(format!("iolab: refused\n  {}", verdict.refusals.join("\n  "))));
    }
    let no_room = safety::no_room(plan);
    if !no_room.is_empty() {
        return Err(Failure::failed(format!("iolab: no room\n  {}", no_room.join("\n  "))));
    }
    Ok((verdict.warnings, verdict.guard))
}

/// Plan to recording; `guard` has judged the plan, `stream` takes the partial recording of the run
/// as it goes on.
pub(crate) fn run(
    Planned { plan, redaction, .. }: &Planned,
    guard: Guard,
    stream: Option<File>,
    observer: &mut dyn Observer,
) -> Result<(Recording, Vec<Option<File>>), Failure> {
    iolab_process::count_signals();
    let machine = device_state::is_asked(plan).then(device_state::machine).transpose()?;
    let applied = machine.as_ref().map(|machine| device_state::apply_to(machine, plan)).transpose()?;
    let (clock, unfit) = Clock::best();
    let host = iolab_observe::System::live().host_facts(clock.name(), std::env::args().collect());
    let request = RunRequest {
        plan,
        engines: ENGINES,
        guard,
        host,
        clock,
        spool_folder: std::env::temp_dir(),
        stream,
        redaction,
        interrupts: &iolab_process::INTERRUPTS,
        observer,
    };
    let result = iolab_runner::run(request).map_err(|error| match error {
        RunError::Layout { errno, .. } => Failure { code: FAILED, message: format!("iolab: {error} (errno {errno})") },
        other => Failure::failed(format!("iolab: {other}")),
    })?;
    let mut recording = result.recording;
    recording.warnings.extend(unfit.map(|reason| format!("time stamps come from clock_gettime: {reason}")));
    if let Some(applied) = applied {
        device_state::put_back(applied, &mut recording);
    }
    recording.findings = iolab_findings::find(&recording);
    Ok((recording, result.spools))
}
