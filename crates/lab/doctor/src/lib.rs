//! What this machine can and cannot do, the consequences, and the commands that fix it.
//!
//! Ways of doing I/O are tried with a small file of the program's own, not guessed from versions.
//! The machine is not changed. For a job, only what matters for it is checked, and whether it would
//! run.

mod check;
mod device;
mod engines;
mod job;
mod machine;
mod stores;

pub use check::{Check, CheckStatus};
pub use device::{DeviceLayer, DeviceReport, of_device};
use iolab_pipeline::{Pipeline, PlanRequest};
use iolab_runner::Engines;

/// All checks of this machine.
pub fn of_machine(all: Engines) -> Vec<Check> {
    [engines::all(all), stores::all(), machine::limits(), machine::processors(), machine::devices(), machine::tracing()]
        .concat()
}

/// What matters for one job.
pub fn of_job(pipeline: &Pipeline<'_>, request: &PlanRequest<'_>) -> Vec<Check> {
    job::checks(pipeline, request)
}

/// Whether the checked job would run.
pub fn would_run(checks: &[Check]) -> bool {
    !checks.iter().any(|check| check.status == CheckStatus::No)
}

/// Whether a small job of this engine works here.
pub fn engine_works(all: Engines, name: &str) -> bool {
    let checks = engines::of(all, &[name]);
    !checks.is_empty() && would_run(&checks)
}
