//! The jobs of preconditioning: purge and fill, derived from the plans of the trials, so that they
//! use the same targets.
//!
//! They run like any job, so every rule that keeps data safe applies: targets that would be
//! overwritten must be named, even if the trials only read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use iolab_engine::{EngineDescription, FileUse};
use iolab_order::Gather;
use iolab_plan::{FilePlan, Plan, Reach, WorkerPlan};
use iolab_recording::{Recording, WorkerOutcome};
use iolab_runner::Engines;
use iolab_study::Purge;

/// Storage that trials use, and how it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    path: PathBuf,
    /// Bytes; `None` for devices, which are taken as a whole.
    size_bytes: Option<u64>,
    /// Options that reach it: the engine and its own.
    reach: Vec<(String, String)>,
    direct: bool,
}

/// Everything that trials with these plans read or write, once.
pub(crate) fn targets(engines: Engines, plans: &[Plan]) -> Vec<Target> {
    let mut targets: BTreeMap<PathBuf, Target> = BTreeMap::new();
    for plan in plans {
        for worker in &plan.workers {
            let Some(engine) = engines.description(&worker.engine.name) else { continue };
            let reaches_files = !matches!(engine.capabilities.reach, Reach::Processor | Reach::Programs);
            if engine.capabilities.files == FileUse::Paths || !reaches_files {
                continue;
            }
            let is_device = |file: &FilePlan| file.block_device || engine.capabilities.files.is_devices();
            for file in &worker.files {
                let end = file.layout_bytes.max(file.start_bytes.saturating_add(file.length_bytes));
                let size_bytes = (!is_device(file)).then_some(end);
                let target = targets.entry(file.path.clone()).or_insert_with(|| Target {
                    path: file.path.clone(),
                    size_bytes,
                    reach: reach(engine, plan, worker),
                    direct: worker.layout.direct,
                });
                target.size_bytes = target.size_bytes.max(size_bytes);
            }
        }
    }
    targets.into_values().collect()
}

/// The engine and the options of its own, as the user wrote them.
fn reach(engine: &EngineDescription, plan: &Plan, worker: &WorkerPlan) -> Vec<(String, String)> {
    let mut options: BTreeMap<&String, &String> = plan.global_options.iter().gather();
    options.extend(&worker.job_options);
    let own = options.into_iter().filter(|(name, _)| engine.options.iter().any(|entry| entry.answers_to(name)));
    let mut reach = vec![("ioengine".to_owned(), worker.engine.name.clone())];
    reach.extend(own.map(|(name, value)| (name.clone(), value.clone())));
    reach
}

const KIB: u64 = 1024;

/// Twice the capacity, sequentially, 128 KiB at a time, one target after the other (SNIA SSS PTS
/// 2.0.2, workload-independent preconditioning).
pub(crate) fn fill_job(targets: &[Target]) -> String {
    let fill = |target: &Target| format!("rw=write\nbs={}\niodepth=32\nloops=2\n", at_most(128 * KIB, target));
    job("fill", targets, fill)
}

/// Discards everything.
pub(crate) fn purge_job(targets: &[Target]) -> String {
    job("purge", targets, |target| format!("rw=trim\nbs={}\n", at_most(1024 * KIB, target)))
}

/// A block size that fits a small file.
fn at_most(block_bytes: u64, target: &Target) -> u64 {
    match target.size_bytes {
        Some(size) if size < block_bytes && size >= 512 => size & !511,
        _ => block_bytes,
    }
}

fn job(name: &str, targets: &[Target], what: impl Fn(&Target) -> String) -> String {
    let mut text = String::new();
    for (number, target) in targets.iter().enumerate() {
        text += &format!("[{name}-{number}]\n");
        target.reach.iter().for_each(|(option, value)| text += &format!("{option}={value}\n"));
        text += &format!("filename={}\n", target.path.display().to_string().replace('\\', "\\\\").replace(':', "\\:"));
        text += &target.size_bytes.map_or("size=100%\n".to_owned(), |size| format!("size={size}\n"));
        text += if target.direct { "direct=1\n" } else { "" };
        text += &what(target);
        text += "stonewall\n\n";
    }
    text
}

/// Bytes that a fill writes, as far as they are known beforehand, and whether there are devices
/// whose capacity is to be added.
pub(crate) fn fill_bytes(targets: &[Target]) -> (u64, bool) {
    let files = targets.iter().filter_map(|target| target.size_bytes).map(|size| size.saturating_mul(2));
    (files.fold(0, u64::saturating_add), targets.iter().any(|target| target.size_bytes.is_none()))
}

/// The result of purging these targets.
pub(crate) fn purged(targets: &[Target], recording: &Recording) -> Purge {
    let mut purge = Purge::default();
    for (number, target) in targets.iter().enumerate() {
        let path = target.path.display();
        match recording.workers.get(number).map(|worker| &worker.outcome) {
            Some(WorkerOutcome::Finished) => purge.done.push(path.to_string()),
            Some(WorkerOutcome::Failed { message, .. } | WorkerOutcome::Crashed { message, .. }) => {
                purge.not_done.push(format!("{path}: {message}"));
            }
            _ => purge.not_done.push(format!("{path}: not attempted")),
        }
    }
    purge
}

/// Names of all targets, for messages.
pub(crate) fn names(targets: &[Target]) -> Vec<String> {
    let names: BTreeSet<String> = targets.iter().map(|target| target.path.display().to_string()).gather();
    names.into_iter().collect()
}
