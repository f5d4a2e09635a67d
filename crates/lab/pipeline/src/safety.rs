//! What must not be overwritten: checked before the first byte is written, and refused unless the
//! user allowed it.
//!
//! The guard judges; this module collects what it judges, and words the messages.

use std::collections::BTreeSet;
use std::path::PathBuf;

use iolab_activity::Failure;
use iolab_engine::{Capabilities, FileUse};
use iolab_guard::{Danger, FileSystemRoom, Guard, GuardRules, GuardedPath, JudgedHazard, PathChange, Removal};
use iolab_observe::System;
use iolab_plan::{Plan, WorkerPlan};
use iolab_resolve::Mode;
use iolab_runner::{EngineEntry, Engines, buffer_file, change_of, target_of, writes};
use iolab_text::size_text;

/// What was found.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Reasons not to run.
    pub(crate) refusals: Vec<String>,
    /// Accepted, but worth a clear warning.
    pub(crate) warnings: Vec<String>,
    /// Judges the same files again when they are opened.
    pub(crate) guard: Guard,
}

/// Checks every file and device that the plan changes.
///
/// What is in use is refused in both modes unless `--allow-destroy` names it or, as in fio, the job
/// says `allow_mounted_write=1`. An existing regular file that no job made is refused, too; as fio,
/// a job that writes overwrites one that its `filename` names.
pub(crate) fn check(engines: Engines, plan: &Plan, mode: Mode, allowed: &[PathBuf]) -> Verdict {
    let rules = GuardRules { allowed: allowed.to_vec(), as_fio: mode == Mode::Fio };
    let guard = Guard::new(&System::live(), rules);
    let mut check = Check { verdict: Verdict { refusals: Vec::new(), warnings: Vec::new(), guard } };
    let mut seen = BTreeSet::new();
    for worker in &plan.workers {
        let Some(engine) = engines.entry(&worker.engine.name) else { continue };
        let can = &engine.description.capabilities;
        for file in &worker.files {
            let change = change_of(worker, can, file);
            // Thousands of workers may use a file in the same way.
            if seen.insert((file.path.clone(), change)) {
                check.judge(&target_of(file), &change, worker);
            }
        }
        if let Some(target) = buffer_file(worker) {
            check.judge(&target, &PathChange::OVERWRITES, worker);
        }
        check.opened(engine, worker);
        if knows_its_own(can) && destroys(worker, can) {
            let names = worker.files.iter().map(|file| &file.path);
            let options = &worker.engine.options;
            let refusals = names.filter_map(|path| (engine.overwrite_refusal)(path, options, &worker.job, allowed));
            for refusal in refusals {
                if !check.verdict.refusals.contains(&refusal) {
                    check.verdict.refusals.push(refusal);
                }
            }
        }
    }
    check.verdict
}

/// The file systems that the plan needs more of.
pub(crate) fn rooms(engines: Engines, plan: &Plan) -> Vec<FileSystemRoom> {
    iolab_guard::rooms(&iolab_runner::needs(plan, engines.entries()))
}

/// Why a run cannot begin that needs more than there is room for, and what to do; `None` if there
/// is room.
pub fn no_room<'r>(rooms: impl IntoIterator<Item = &'r FileSystemRoom>) -> Option<Failure> {
    let said = rooms.into_iter().filter_map(FileSystemRoom::shortage).map(|shortage| {
        format!(
            "{}: the files need {} more, but the file system has only {} free. Use a smaller size, free some space, or set fill_device=1 to write until it is full",
            shortage.path.display(),
            size_text(shortage.needed_bytes),
            size_text(shortage.usable_bytes)
        )
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| Failure::failed(format!("no room\n  {}", said.join("\n  "))))
}

struct Check {
    verdict: Verdict,
}

impl Check {
    fn judge(&mut self, target: &GuardedPath<'_>, change: &PathChange, worker: &WorkerPlan) {
        for judgement in self.verdict.guard.judge(target, change) {
            self.say(judgement, change, worker);
        }
    }

    /// Checks what the engine opens by its own options. If the engine remakes it, it is
    /// overwritten; otherwise only use by others counts, because the engine itself refuses what it
    /// does not recognise as its own, and changes nothing.
    fn opened(&mut self, engine: &EngineEntry, worker: &WorkerPlan) {
        let options = &worker.engine.options;
        let (paths, makes) = ((engine.opens)(options), (engine.remakes)(options));
        let change = PathChange { in_use_is_accepted: worker.layout.allow_mounted_write, ..PathChange::OVERWRITES };
        for path in paths {
            let judgements = self.verdict.guard.judge(&GuardedPath::named(&path), &change);
            // The engine locks images itself: its workers share them.
            let counts = |danger: &Danger| (makes || danger.is_use()) && *danger != Danger::Locked;
            for judgement in judgements.into_iter().filter(|judgement| counts(&judgement.hazard.danger)) {
                self.say(judgement, &change, worker);
            }
        }
    }

    fn say(&mut self, judgement: JudgedHazard, change: &PathChange, worker: &WorkerPlan) {
        let JudgedHazard { hazard, accepted } = judgement;
        let (does, would) = match change {
            PathChange { overwrites: true, .. } => ("overwrites", "overwrite"),
            PathChange { removal: Removal::None, .. } => ("extends", "extend"),
            _ => ("removes", "remove"),
        };
        let job = &worker.job;
        if accepted {
            self.verdict.warnings.push(format!("{hazard}; job {job} {does} it anyway"));
            return;
        }
        let advice = match hazard.danger {
            Danger::Strays { .. } => "Set the folder with directory=, or the file with filename=".to_owned(),
            _ => format!("If you want that, add --allow-destroy {}", hazard.path.display()),
        };
        self.verdict.refusals.push(format!("{hazard}; job {job} would {would} it. {advice}"));
    }
}

/// Whether the engine itself recognises what is its own: it opens it, or it works below a name.
fn knows_its_own(can: &Capabilities) -> bool {
    can.files.needs_threads() || matches!(can.files, FileUse::Nothing | FileUse::Paths)
}

fn destroys(worker: &WorkerPlan, can: &Capabilities) -> bool {
    writes(worker) || can.effect != iolab_engine::FileEffect::ByDirection
}
