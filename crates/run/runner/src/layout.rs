//! Laying out files before the measured part: making them as long as the jobs need, with data if
//! they are read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use iolab_engine::{FileUse, Op, OpKind};
use iolab_guard::{Guard, OpenMode, PathChange, Presence, Removal, SpaceNeed};
use iolab_plan::{BufferContent, Fallocate, FilePlan, Plan, WorkerPlan};
use iolab_workload::BufferFiller;
use rustix::fs::{FallocateFlags, OFlags};

use crate::changes::{change_of, target_of, writes};
use crate::open_files::{explained, fatal, reads, refused};
use crate::registry::EngineEntry;
use crate::trouble::Fatal;
use crate::{Event, RunObserver, engine_of};

const BLOCK_BYTES: usize = 1 << 20;

/// What one file needs; several workers may share it.
struct Task<'a> {
    bytes: u64,
    with_data: bool,
    worker: &'a WorkerPlan,
    file: &'a FilePlan,
    change: PathChange,
}

/// Lays out every file the plan needs. Stops early, without error, when `interrupted` says so. When
/// it fails, new files are removed, and extended files get their former length, so that no full
/// file system is left behind.
pub(crate) fn lay_out(
    plan: &Plan,
    engines: &[EngineEntry],
    guard: &Guard,
    observer: &mut dyn RunObserver,
    interrupted: &dyn Fn() -> bool,
) -> Result<(), (PathBuf, Fatal)> {
    let tasks = tasks(plan, engines);
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let needed: Vec<_> = tasks.iter().filter(|(path, task)| length(path) < task.bytes).collect();
    let total: u64 = needed.iter().filter(|(_, task)| task.with_data).map(|(_, task)| task.bytes).sum();
    let mut done = 0;
    let mut unsynced = Unsynced::default();
    let mut touched = Vec::new();
    let all = || {
        for (path, task) in needed {
            let before = done;
            let mut progress = |written: u64| {
                done = before + written;
                observer.take(&Event::LaidOut { path, done_bytes: done, total_bytes: total });
                !interrupted()
            };
            let found = guard.allow(&target_of(task.file), &task.change);
            let explain = |failure| (path.clone(), explained(failure, task.file));
            let found = found.map_err(|refusal| explain(refused(&at(path, "laying out"), refusal)))?;
            touched.push((task, (found == Presence::There).then(|| length(path))));
            let file = one(path, task, guard, &mut progress).map_err(explain)?;
            if interrupted() {
                break;
            }
            if task.with_data && task.worker.layout.create_fsync {
                unsynced.add(path, file)?;
            }
        }
        unsynced.sync()
    };
    let laid_out = all();
    if laid_out.is_err() {
        touched.iter().for_each(|(task, length)| undo(task, *length, guard));
    }
    laid_out
}

/// The storage that the files of a plan will take: that of the layout, and what jobs write beyond
/// it.
pub fn needs(plan: &Plan, engines: &[EngineEntry]) -> Vec<SpaceNeed> {
    let tasks = tasks(plan, engines);
    let takes = |task: &Task<'_>| {
        task.with_data || !matches!(task.worker.layout.fallocate, Fallocate::None | Fallocate::Truncate)
    };
    let laid_out = tasks.iter().filter(|(_, task)| takes(task));
    let laid_out = laid_out.map(|(path, task)| SpaceNeed { path: path.clone(), bytes: task.bytes });
    let written = plan.workers.iter().filter(|worker| {
        let engine = engine_of(engines, worker).map(|engine| engine.description.capabilities);
        let stores = engine.is_some_and(|can| can.files == FileUse::Descriptors && can.moves_data);
        stores && writes(worker) && !worker.layout.fill_device && !worker.layout.read_only
    });
    let written = written.flat_map(|worker| {
        // One pass writes at most its amount of I/O, at any offsets.
        let limits = &worker.limits;
        let most = if limits.time_based || limits.loops > 1 { u64::MAX } else { limits.io_bytes };
        let files = worker.files.iter().filter(|file| !file.block_device);
        files.map(move |file| SpaceNeed { path: file.path.clone(), bytes: file.length_bytes.min(most) })
    });
    laid_out.chain(written).collect()
}

fn at(path: &Path, what: &str) -> String {
    format!("{}: {what}", path.display())
}

/// Undoes a layout. Errors are ignored: the failure that led here is the one to report.
fn undo(task: &Task<'_>, length: Option<u64>, guard: &Guard) {
    let target = target_of(task.file);
    let Some(length) = length else {
        let _ = guard.remove(&target, &task.change);
        return;
    };
    let opening = OpenMode { flags: OFlags::RDWR, create: false, make_folders: false };
    if let Ok(file) = guard.open(&target, &task.change, &opening) {
        // Setting the same length also frees space reserved beyond the end (ftruncate(2) of ext4,
        // XFS and btrfs).
        let _ = file.set_len(length);
    }
}

/// Files that are laid out but not yet flushed. They are flushed many at a time: the first flush
/// then commits the journal for all of them, so many small files do not need as many commits.
#[derive(Default)]
struct Unsynced<'a> {
    files: Vec<(&'a PathBuf, File)>,
}

impl<'a> Unsynced<'a> {
    const MOST: usize = 256;

    fn add(&mut self, path: &'a PathBuf, file: File) -> Result<(), (PathBuf, Fatal)> {
        self.files.push((path, file));
        if self.files.len() < Unsynced::MOST { Ok(()) } else { self.sync() }
    }

    fn sync(&mut self) -> Result<(), (PathBuf, Fatal)> {
        for (path, file) in self.files.drain(..) {
            let failed = |error| (path.clone(), fatal(&format!("{}: fsync", path.display()), &error));
            file.sync_all().map_err(failed)?;
        }
        Ok(())
    }
}

fn tasks<'a>(plan: &'a Plan, engines: &[EngineEntry]) -> BTreeMap<PathBuf, Task<'a>> {
    let mut tasks: BTreeMap<PathBuf, Task<'_>> = BTreeMap::new();
    for worker in &plan.workers {
        let Some(capabilities) = engine_of(engines, worker).map(|engine| engine.description.capabilities) else {
            continue;
        };
        let later = worker.layout.create_on_open && capabilities.extends_files;
        if capabilities.files != FileUse::Descriptors || later || worker.layout.read_only {
            continue;
        }
        let with_data = reads(worker) || worker.layout.overwrite || !capabilities.extends_files;
        for file in worker.files.iter().filter(|file| file.layout_bytes > 0 && !file.block_device) {
            let change = change_of(worker, &capabilities, file);
            let fresh = Task { bytes: 0, with_data: false, worker, file, change };
            let task = tasks.entry(file.path.clone()).or_insert(fresh);
            task.bytes = task.bytes.max(file.layout_bytes);
            task.change.extends_to = task.bytes;
            task.change.overwrites |= change.overwrites;
            task.with_data |= with_data && !worker.layout.fill_device;
        }
    }
    tasks
}

fn one(path: &Path, task: &Task<'_>, guard: &Guard, progress: &mut dyn FnMut(u64) -> bool) -> Result<File, Fatal> {
    let context = |what: &str| at(path, what);
    let layout = &task.worker.layout;
    let opening = OpenMode { flags: OFlags::RDWR, create: layout.allow_create, make_folders: layout.make_folders };
    // Files to be removed at the end are judged then.
    let change = PathChange { removal: Removal::None, ..task.change };
    let file = guard.open(&target_of(task.file), &change, &opening);
    let file = file.map_err(|refusal| refused(&context("laying out"), refusal))?;
    let length = file.metadata().map_err(|error| fatal(&context("stat"), &error))?.len();
    reserve(&file, layout.fallocate, task).map_err(|error| fatal(&context("reserving space"), &error))?;
    if task.with_data {
        write_data(&file, task, length, progress).map_err(|error| fatal(&context("laying out"), &error))?;
    }
    Ok(file)
}

/// Reserves space. Where data follows, the length grows only with the data, so that a layout that
/// is cut off never looks complete.
fn reserve(file: &File, how: Fallocate, task: &Task<'_>) -> io::Result<()> {
    let flags = match how {
        Fallocate::None => return Ok(()),
        Fallocate::Truncate if task.with_data => return Ok(()),
        Fallocate::Truncate => return file.set_len(task.bytes),
        _ if task.with_data => FallocateFlags::KEEP_SIZE,
        Fallocate::Keep => FallocateFlags::KEEP_SIZE,
        Fallocate::Native | Fallocate::Posix => FallocateFlags::empty(),
    };
    match rustix::fs::fallocate(file, flags, 0, task.bytes) {
        // Without fallocate, the layout only writes, like posix_fallocate(3).
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) if how != Fallocate::Posix || task.with_data => {
            Ok(())
        }
        answer => answer.map_err(Into::into),
    }
}

/// Writes from `from` (where an earlier layout stopped) to the end, with the job's own kind of
/// data.
fn write_data(file: &File, task: &Task<'_>, from: u64, progress: &mut dyn FnMut(u64) -> bool) -> io::Result<()> {
    let mut buffers = task.worker.buffers.clone();
    buffers.refill = buffers.content == BufferContent::Random;
    let mut filler = BufferFiller::new(&buffers, task.worker.workload.buffer_seed);
    // An earlier layout wrote the data before `from`; its last, perhaps partial, block is written
    // again.
    let mut offset = from - from % BLOCK_BYTES as u64;
    let mut block = vec![0; (task.bytes.saturating_sub(offset)).min(BLOCK_BYTES as u64) as usize];
    filler.initialise(&mut block);
    while offset < task.bytes {
        let length = (task.bytes - offset).min(BLOCK_BYTES as u64) as usize;
        let kind = OpKind::Write;
        let op = Op { offset, length: length as u32, buffer_offset: 0, file: 0, slot: 0, kind, priority: 0 };
        filler.before_write(&op, &mut block[..length]);
        file.write_all_at(&block[..length], offset)?;
        offset += length as u64;
        if !progress(offset) {
            break;
        }
    }
    Ok(())
}
