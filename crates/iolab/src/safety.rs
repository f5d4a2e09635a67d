//! What must not be overwritten: looked up before the first byte is written, refused unless the user said so.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use iolab_engine::FileUse;
use iolab_observe::{Hazard, System, WriteTarget};
use iolab_plan::{BufferMemory, Direction, FilePlan, Plan, WorkerPlan};
use iolab_resolve::Mode;

use crate::engine_registry;

mod logfs;
mod nvme;

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
    for worker in &plan.workers {
        let (touches_files, destroys) = (touches_files(worker), destroys(worker));
        let files = worker.files.iter().filter(|file| touches_files && (destroys || is_laid_out(file)));
        let targets = files.map(|file| WriteTarget { path: &file.path, generated: file.generated });
        for target in targets.chain(buffer_file(worker)) {
            if !seen.insert(target.path.to_owned()) || is_allowed(target.path, allowed) {
                continue;
            }
            for hazard in system.hazards(target) {
                judge(&hazard, worker, mode, &mut verdict);
            }
        }
        if let Some((paths, makes)) = logfs::devices(worker) {
            for path in paths.iter().filter(|path| seen.insert((*path).clone()) && !is_allowed(path, allowed)) {
                let hazards = system.hazards(WriteTarget { path, generated: false });
                let counts = |hazard: &Hazard| makes || hazard.is_about_a_device_in_use();
                hazards
                    .iter()
                    .filter(|hazard| counts(hazard))
                    .for_each(|hazard| judge(hazard, worker, mode, &mut verdict));
            }
        }
        if opens_devices(worker) && destroys {
            let unseen = worker.files.iter().filter(|file| seen.insert(file.path.clone()));
            verdict.refusals.extend(unseen.filter_map(|file| nvme::refusal(&file.path, &worker.job, allowed)));
        }
    }
    verdict
}

fn judge(hazard: &Hazard, worker: &WorkerPlan, mode: Mode, verdict: &mut Verdict) {
    let waived = hazard.is_about_a_device_in_use() && worker.layout.allow_mounted_write;
    if waived || (mode == Mode::Fio && !hazard.is_about_a_device_in_use()) {
        let deed = if destroys(worker) { "overwrites" } else { "extends" };
        verdict.warnings.push(format!("{hazard}; job {} {deed} it all the same", worker.job));
        return;
    }
    let deed = if destroys(worker) { "overwrite" } else { "extend" };
    verdict.refusals.push(format!(
        "{hazard}; job {} would {deed} it. If that is what you want, say --allow-destroy {}",
        worker.job,
        hazard.path().display()
    ));
}

/// Whether the engine does anything with files at all: `null` and `cpuio` make their offsets up, and devices that are
/// opened by name are looked at in another way.
fn touches_files(worker: &WorkerPlan) -> bool {
    let files = engine_registry::description(&worker.engine.name).map(|engine| engine.capabilities.files);
    matches!(files, None | Some(FileUse::Descriptors | FileUse::Paths))
}

/// Whether the engine opens devices that the kernel knows nothing of.
fn opens_devices(worker: &WorkerPlan) -> bool {
    engine_registry::description(&worker.engine.name)
        .is_some_and(|engine| matches!(engine.capabilities.files, FileUse::Devices))
}

fn destroys(worker: &WorkerPlan) -> bool {
    worker.workload.pattern.directions.iter().any(|direction| *direction != Direction::Read)
        || worker.engine.name == "filedelete"
        || worker.layout.unlink
        || worker.layout.unlink_each_loop
}

/// The file that `mem=mmap:FILE` makes as long as the buffers and, when it is shared, fills with their content.
fn buffer_file(worker: &WorkerPlan) -> Option<WriteTarget<'_>> {
    match &worker.buffers.memory {
        BufferMemory::File { path, .. } => Some(WriteTarget { path: Path::new(path), generated: false }),
        _ => None,
    }
}

/// A regular file that is shorter than the job needs is filled up before the run, even if the job only reads.
fn is_laid_out(file: &FilePlan) -> bool {
    let length = std::fs::metadata(&file.path).map(|metadata| metadata.len());
    !file.block_device && length.is_ok_and(|length| length < file.layout_bytes)
}

fn is_allowed(path: &Path, allowed: &[PathBuf]) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    allowed.iter().any(|named| named == path || real(named) == real(path))
}
