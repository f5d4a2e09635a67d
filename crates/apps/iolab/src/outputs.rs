//! The outputs of the program: what each command reads and where it may write, before it does
//! either.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use iolab_archive::{iologs, log_files, recordings};
use iolab_outputs::{OutputKind, Outputs};
use iolab_plan::{Direction, Plan};

use crate::exit::ExitFailure;
use crate::output;
use crate::run_options::RunOptions;

pub(crate) use iolab_archive::outputs_beside as beside;

/// Checks all outputs of a run: a run that cannot save its results should not begin.
pub(crate) fn of_run(plan: &Plan, run: &RunOptions) -> Result<Outputs, ExitFailure> {
    let mut outputs = beside(run.force, []);
    plan.sources.iter().for_each(|source| outputs.reads(Path::new(&source.name), "a job file"));
    let mut seen = HashSet::new();
    for worker in &plan.workers {
        for file in worker.files.iter().filter(|file| seen.insert(&file.path)) {
            outputs.occupied(&file.path, &format!("a file of job {}", worker.job));
        }
    }
    if let Some(path) = run.record.as_deref().map(Path::new) {
        recordings::judge(&mut outputs, path)?;
    }
    if let Some(path) = &run.output {
        outputs.place(Path::new(path), OutputKind::Report, output::REPORT)?;
    }
    let mut seen = HashSet::new();
    let of_workers = plan.workers.iter().flat_map(|worker| iolab_report::log_file_names(&worker.logs, worker));
    let moves = |direction: &Direction| {
        plan.workers.iter().any(|worker| worker.workload.pattern.directions.contains(direction))
    };
    let of_all = Direction::ALL.into_iter().filter(|direction| run.bandwidth_log && moves(direction));
    let of_all = of_all.map(iolab_report::aggregate_bandwidth_log_name);
    for name in of_workers.map(|(_, name)| name).chain(of_all).filter(|name| seen.insert(name.clone())) {
        outputs.place(&PathBuf::from(name), OutputKind::Log, log_files::LOG)?;
    }
    for name in iologs::names(plan) {
        outputs.place(Path::new(name), OutputKind::Report, iologs::IOLOG)?;
    }
    Ok(outputs)
}
