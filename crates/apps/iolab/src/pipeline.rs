//! The pipeline with this program's engines, its command line and its terminal.

use std::fs::File;
use std::path::PathBuf;

use iolab_guard::Guard;
use iolab_pipeline::{JudgedPlan, Pipeline, PlanRequest, ThisMachine};
use iolab_plan::{Plan, Rank};
use iolab_recording::Recording;
use iolab_resolve::Mode;
use iolab_runner::{RunObserver, Spools, Telling};

use crate::exit::ExitFailure;
use crate::printing::{StandardError, use_color};
use crate::run_options::Asked;

pub(crate) use iolab_pipeline::Planned;

/// The pipeline of this program.
pub(crate) fn pipeline() -> Pipeline<'static> {
    Pipeline { engines: iolab_engine_catalogue::engines(), color: use_color(), console: &StandardError, telling: None }
}

/// This machine's answers to the job language.
pub(crate) fn here() -> ThisMachine {
    ThisMachine::new(iolab_engine_catalogue::engines())
}

/// Makes a plan from job files and the command line.
pub(crate) fn plan(asked: &Asked, mode: Mode) -> Result<Planned, ExitFailure> {
    with_request(asked, mode, |request| Ok(pipeline().plan(request)?))
}

/// Does the same as [`plan`], for a command that changes nothing.
pub(crate) fn plan_only(asked: &Asked) -> Result<Planned, ExitFailure> {
    with_request(asked, Mode::Iolab, |request| Ok(pipeline().plan(&PlanRequest { merges: false, ..*request })?))
}

/// Does the same as [`plan`] in fio mode; `None` if nothing defines a job. With `--parse-only`, the
/// files and devices of this machine are not examined.
pub(crate) fn plan_or_nothing(asked: &Asked) -> Result<Option<Planned>, ExitFailure> {
    with_request(asked, Mode::Fio, |request| {
        let request = PlanRequest { imagines_files: asked.run.parse_only, ..*request };
        Ok(pipeline().plan_if_any(&request)?)
    })
}

/// Merges traces and does nothing else (`--merge-blktrace-only`).
pub(crate) fn merge_only(asked: &Asked, mode: Mode) -> Result<(), ExitFailure> {
    let merged = with_request(asked, mode, |request| pipeline().merge_only(request))?;
    if merged == 0 {
        return Err(ExitFailure::mistake(
            "iolab: --merge-blktrace-only: no job has read_iolog and merge_blktrace_file, so there is nothing to merge",
        ));
    }
    Ok(())
}

/// What a job may overwrite: what its command line names, and what the user always allows.
pub(crate) fn allowed(named: &[String]) -> Vec<PathBuf> {
    named.iter().map(PathBuf::from).chain(iolab_configuration::allow_destroy()).collect()
}

/// Builds the plan request of a command line and passes it to `work`.
pub(crate) fn with_request<T>(asked: &Asked, mode: Mode, work: impl FnOnce(&PlanRequest<'_>) -> T) -> T {
    let run = &asked.run;
    let allowed = allowed(&run.allow_destroy);
    let rank = run.rank.map(|(number, ranks)| Rank { number, ranks, host: iolab_observe::host_name() });
    work(&PlanRequest {
        line: &asked.line,
        mode,
        sections: &run.sections,
        readonly: run.readonly,
        max_jobs: run.max_jobs,
        aux_path: run.aux_path.as_deref(),
        allowed: &allowed,
        keep_secrets: run.keep_secrets,
        client: None,
        rank: rank.as_ref(),
        imagines_files: false,
        merges: !run.parse_only,
    })
}

/// Refuses to destroy anything that the user did not name, and to write more than fits.
pub(crate) fn judge(plan: &Plan, mode: Mode, allowed: &[PathBuf]) -> Result<JudgedPlan, ExitFailure> {
    Ok(pipeline().judge(plan, mode, allowed)?)
}

/// Runs a plan and makes its recording; see [`Pipeline::run`].
pub(crate) fn run(
    planned: &Planned,
    guard: Guard,
    stream: Option<File>,
    observer: &mut dyn RunObserver,
    telling: Option<&Telling>,
) -> Result<(Recording, Vec<Spools>), ExitFailure> {
    Ok(Pipeline { telling, ..pipeline() }.run(planned, guard, stream, observer)?)
}
