//! What must not be overwritten: looked up before the first byte is written, refused unless the user said so.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use iolab_observe::{Hazard, System, WriteTarget};
use iolab_plan::{Direction, Plan, WorkerPlan};
use iolab_resolve::Mode;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// Reasons not to run.
    pub(crate) refusals: Vec<String>,
    /// Accepted, but worth a loud word.
    pub(crate) warnings: Vec<String>,
}

/// Checks every file and device the plan writes to.
///
/// A device in use (mounted, swapped on, held, partitioned) is refused in both modes unless `--allow-destroy` names
/// it or, as in fio, the job says `allow_mounted_write=1`. An existing regular file that no job made is refused in
/// iolab's own mode; fio's rule is to overwrite it, so fio mode does.
pub(crate) fn check(plan: &Plan, mode: Mode, allowed: &[PathBuf]) -> Verdict {
    let system = System::live();
    let mut verdict = Verdict::default();
    let mut seen = BTreeSet::new();
    for worker in plan.workers.iter().filter(|worker| destroys(worker)) {
        for file in &worker.files {
            if !seen.insert(file.path.clone()) || is_allowed(&file.path, allowed) {
                continue;
            }
            let target = WriteTarget { path: &file.path, generated: file.generated };
            for hazard in system.hazards(target) {
                judge(&hazard, worker, mode, &mut verdict);
            }
        }
    }
    verdict
}

fn judge(hazard: &Hazard, worker: &WorkerPlan, mode: Mode, verdict: &mut Verdict) {
    let path = match hazard {
        Hazard::Mounted { path, .. }
        | Hazard::Swap { path, .. }
        | Hazard::Held { path, .. }
        | Hazard::LoopBacking { path, .. }
        | Hazard::Claimed { path }
        | Hazard::Partitioned { path, .. }
        | Hazard::ForeignFile { path, .. }
        | Hazard::Unknown { path, .. } => path,
    };
    let waived = hazard.is_about_a_device_in_use() && worker.layout.allow_mounted_write;
    if waived || (mode == Mode::Fio && !hazard.is_about_a_device_in_use()) {
        verdict.warnings.push(format!("{hazard}; job {} overwrites it all the same", worker.job));
        return;
    }
    verdict.refusals.push(format!(
        "{hazard}; job {} would overwrite it. If that is what you want, say --allow-destroy {}",
        worker.job,
        path.display()
    ));
}

fn destroys(worker: &WorkerPlan) -> bool {
    worker.workload.pattern.directions.iter().any(|direction| *direction != Direction::Read)
        || worker.engine.name == "filedelete"
}

fn is_allowed(path: &Path, allowed: &[PathBuf]) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    allowed.iter().any(|named| named == path || real(named) == real(path))
}
