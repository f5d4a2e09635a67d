//! Opening a worker's files, and what happens to them before and after its I/O: caches, advice,
//! hints, flushes, removal.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;

use iolab_engine::file_calls::{atomic_write_limits, drop_cached};
use iolab_engine::{Capabilities, FileUse, TargetFile};
use iolab_guard::{Guard, OpenMode, PathChange, Presence, Refusal, Removal};
use iolab_plan::{Direction, FadviseHint, FilePlan, FileSync, LayoutPlan, WorkerPlan, WriteHint};
use rustix::fs::{Advice, OFlags};

use crate::changes::{change_of, target_of, writes};
use crate::trouble::{Fatal, errno_text};

/// A worker's open files.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    files: Vec<File>,
    pub(crate) targets: Vec<TargetFile>,
    /// Numbers of the files that did not exist when an engine on paths began. If they exist later,
    /// this run has created them.
    missing: Vec<usize>,
    changes: Vec<PathChange>,
}

impl OpenFiles {
    /// The targets for another lane of this worker, and what keeps them open. Regular files and
    /// block devices are opened again, because an open file has one position, which engines move
    /// (`lseek(2)`). They are opened through the descriptors, so that they are the files that the
    /// guard has allowed.
    pub(crate) fn for_another_lane(&self, plan: &WorkerPlan) -> Result<(Vec<TargetFile>, Vec<File>), Fatal> {
        let (mut targets, mut opened) = (self.targets.clone(), Vec::new());
        for ((target, handle), file) in targets.iter_mut().zip(&self.files).zip(&plan.files) {
            let kind = handle.metadata().map(|metadata| metadata.file_type());
            if !kind.is_ok_and(|kind| kind.is_file() || kind.is_block_device()) {
                continue;
            }
            let failed = |errno: rustix::io::Errno| fatal(&file.path.display().to_string(), &errno.into());
            let kept =
                OFlags::ACCMODE | OFlags::APPEND | OFlags::DIRECT | OFlags::DSYNC | OFlags::SYNC | OFlags::NOATIME;
            let flags = rustix::fs::fcntl_getfl(handle).map_err(failed)? & kept;
            let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
            let again = rustix::fs::open(path, flags | OFlags::CLOEXEC, rustix::fs::Mode::empty()).map_err(failed)?;
            let again = File::from(again);
            advise(&again, plan, file);
            target.fd = again.as_raw_fd();
            opened.push(again);
        }
        Ok((targets, opened))
    }

    /// Opens what the engine needs.
    pub(crate) fn open(plan: &WorkerPlan, capabilities: &Capabilities, guard: &Guard) -> Result<OpenFiles, Fatal> {
        let mut opened = OpenFiles { files: Vec::new(), targets: Vec::new(), missing: Vec::new(), changes: Vec::new() };
        for (number, file) in plan.files.iter().enumerate() {
            let change = change_of(plan, capabilities, file);
            opened.changes.push(change);
            let mut target = TargetFile {
                path: file.path.clone(),
                fd: -1,
                size_bytes: file.start_bytes + file.length_bytes,
                is_block_device: false,
            };
            if capabilities.files == FileUse::Descriptors {
                let handle = open_one(plan, file, &change, guard)?;
                if let Ok(metadata) = handle.metadata() {
                    target.is_block_device = metadata.file_type().is_block_device();
                    if metadata.is_file() {
                        target.size_bytes = metadata.len();
                    }
                }
                target.fd = handle.as_raw_fd();
                check_atomic(&handle, plan, file)?;
                prepare(&handle, plan, file)?;
                opened.files.push(handle);
            }
            if capabilities.files == FileUse::Paths {
                let found = guard.allow(&target_of(file), &change);
                let found = found.map_err(|refusal| refused(&file.path.display().to_string(), refusal))?;
                opened.missing.extend((found == Presence::Missing).then_some(number));
            }
            opened.targets.push(target);
        }
        Ok(opened)
    }

    /// Flushes at the end of the job, as the plan asks.
    pub(crate) fn flush(&self, layout: &LayoutPlan) -> Result<(), Fatal> {
        if layout.end_fsync || layout.fsync_on_close {
            for file in &self.files {
                file.sync_all().map_err(|error| fatal("fsync at the end", &error))?;
            }
        }
        if layout.end_syncfs
            && let Some(file) = self.files.first()
        {
            rustix::fs::syncfs(file).map_err(|errno| fatal("syncfs at the end", &errno.into()))?;
        }
        Ok(())
    }

    /// Writes dirty data back and drops it from the page cache, so that reads return what the
    /// storage holds.
    pub(crate) fn settle(&self, plan: &WorkerPlan) -> Result<(), Fatal> {
        for (handle, file) in self.files.iter().zip(&plan.files) {
            handle.sync_data().map_err(|error| fatal(&format!("{}: fdatasync", file.path.display()), &error))?;
            if plan.layout.invalidate && !plan.layout.direct {
                drop_cached(handle.as_raw_fd(), file.start_bytes, file.length_bytes);
            }
        }
        Ok(())
    }

    /// Removes the files and creates them again with their former length and under the same
    /// descriptors, for `unlink_each_loop`.
    pub(crate) fn renew(&mut self, plan: &WorkerPlan, guard: &Guard) -> Result<(), Fatal> {
        for ((handle, file), change) in self.files.iter_mut().zip(&plan.files).zip(&self.changes) {
            remove(file, change, guard)?;
            let fresh = open_one(plan, file, change, guard)?;
            if file.layout_bytes > 0 && writes(plan) && !file.block_device {
                let context = || format!("{}: recreating it", file.path.display());
                fresh.set_len(file.layout_bytes).map_err(|error| fatal(&context(), &error))?;
            }
            let mut old = std::os::fd::OwnedFd::from(std::mem::replace(handle, fresh));
            rustix::io::dup2(&*handle, &mut old).map_err(|errno| fatal("dup2", &errno.into()))?;
            *handle = File::from(old);
        }
        Ok(())
    }

    /// Removes the regular files that the job works on. Files that its engine does not touch stay.
    pub(crate) fn remove(&self, plan: &WorkerPlan, guard: &Guard) -> Result<(), Fatal> {
        let mut files = plan.files.iter().zip(&self.changes).filter(|(_, change)| change.removal != Removal::None);
        files.try_for_each(|(file, change)| remove(file, change, guard))
    }

    /// Marks the files and folders that an engine on paths has created.
    pub(crate) fn adopt_made(&self, plan: &WorkerPlan, guard: &Guard) {
        for number in &self.missing {
            guard.adopt(&target_of(&plan.files[*number]));
        }
    }
}

/// Removes a regular file of the job; anything else stays.
fn remove(file: &FilePlan, change: &PathChange, guard: &Guard) -> Result<(), Fatal> {
    let removed = guard.remove(&target_of(file), change);
    removed.map(drop).map_err(|refusal| refused(&format!("{}: unlink", file.path.display()), refusal))
}

/// Turns a refusal of the guard into the error that ends a job.
pub(crate) fn refused(what: &str, refusal: Refusal) -> Fatal {
    match refusal {
        Refusal::Io(error) => fatal(what, &error),
        hazards => Fatal { errno: libc::EACCES, message: format!("{what}: refused: {hazards}") },
    }
}

/// Adds which folder is missing, or is not a folder, if that is why a file cannot be opened or
/// made.
pub(crate) fn explained(mut failure: Fatal, file: &FilePlan) -> Fatal {
    let folder = target_of(file).beneath.or_else(|| file.path.parent());
    let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) else {
        return failure;
    };
    if failure.errno == libc::ENOENT {
        let folder = folder.display();
        failure.message += &format!(": there is no folder {folder}: make it (mkdir -p {folder}), or name another");
    } else if failure.errno == libc::ENOTDIR
        && let Some(other) = folder.ancestors().find(|above| above.exists() && !above.is_dir())
    {
        failure.message += &format!(": {} is not a folder: name another", other.display());
    }
    failure
}

pub(crate) fn fatal(what: &str, error: &std::io::Error) -> Fatal {
    let errno = error.raw_os_error().unwrap_or(libc::EIO);
    let advice = if errno == libc::EMFILE { " (raise the limit: ulimit -n)" } else { "" };
    Fatal { errno, message: format!("{what}: {}{advice}", errno_text(errno)) }
}

pub(crate) fn reads(plan: &WorkerPlan) -> bool {
    plan.workload.pattern.directions.contains(&Direction::Read)
}

fn open_one(plan: &WorkerPlan, file: &FilePlan, change: &PathChange, guard: &Guard) -> Result<File, Fatal> {
    let (writing, layout) = (writes(plan), &plan.layout);
    let reading = reads(plan) || plan.verify.is_some() || plan.engine.traits().reads_to_write || !writing;
    let access = match (reading, writing) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        (_, false) => OFlags::RDONLY,
    };
    let sync = match layout.sync {
        FileSync::None => OFlags::empty(),
        FileSync::Sync => OFlags::SYNC,
        FileSync::Dsync => OFlags::DSYNC,
    };
    let direct = if layout.direct { OFlags::DIRECT } else { OFlags::empty() };
    let makes = writing && !file.block_device;
    let opening = OpenMode {
        flags: access | sync | direct,
        create: makes && layout.allow_create,
        make_folders: makes && layout.make_folders,
    };
    guard.open(&target_of(file), change, &opening).map_err(|refusal| {
        let mut failure = refused(&file.path.display().to_string(), refusal);
        if layout.direct && failure.errno == libc::EINVAL {
            failure.message.push_str(" (this file system does not support direct I/O: use direct=0)");
        }
        explained(failure, file)
    })
}

/// Whether the kernel can write the job's blocks without tearing them (`atomic`).
fn check_atomic(handle: &File, plan: &WorkerPlan, file: &FilePlan) -> Result<(), Fatal> {
    if !plan.layout.atomic || !writes(plan) {
        return Ok(());
    }
    let refuse = |reason: String| {
        let message = format!("{}: atomic=1: {reason}", file.path.display());
        Err(Fatal { errno: libc::EOPNOTSUPP, message })
    };
    let Some((least, most)) = atomic_write_limits(handle.as_raw_fd()) else {
        return refuse(
            "the device or its file system cannot write without tearing, or the kernel is older than 6.11: use a \
             device that can (cat /sys/block/*/queue/atomic_write_unit_max_bytes), or remove atomic"
                .to_owned(),
        );
    };
    let sizes = &plan.workload.block_sizes[Direction::Write.index()];
    let fits = sizes.min() >= u64::from(least) && sizes.max() <= u64::from(most);
    let alike = sizes.min() == sizes.max() && sizes.min().is_power_of_two();
    if fits && alike && file.start_bytes.is_multiple_of(sizes.min()) {
        return Ok(());
    }
    refuse(format!(
        "a write that cannot be torn has a power of two from {least} to {most} bytes and begins at a multiple of it: \
         use one such bs, and an offset that is a multiple of it"
    ))
}

fn prepare(handle: &File, plan: &WorkerPlan, file: &FilePlan) -> Result<(), Fatal> {
    let layout = &plan.layout;
    if layout.pre_read && reads(plan) {
        pre_read(file)?;
    } else if layout.invalidate {
        if !layout.direct {
            write_back(handle);
        }
        drop_cached(handle.as_raw_fd(), file.start_bytes, file.length_bytes);
    }
    advise(handle, plan, file);
    set_write_hint(handle, layout.write_hint)
}

/// Gives the kernel the advice that was asked for, which is of a descriptor.
fn advise(handle: &File, plan: &WorkerPlan, file: &FilePlan) {
    let random = plan.workload.pattern.random;
    let advice = match plan.layout.fadvise {
        FadviseHint::None => None,
        FadviseHint::ByPattern if random => Some(Advice::Random),
        FadviseHint::ByPattern | FadviseHint::Sequential => Some(Advice::Sequential),
        FadviseHint::Random => Some(Advice::Random),
        FadviseHint::Noreuse => Some(Advice::NoReuse),
    };
    if let (Some(advice), false) = (advice, plan.layout.direct) {
        let _ = rustix::fs::fadvise(handle, file.start_bytes, std::num::NonZeroU64::new(file.length_bytes), advice);
    }
}

/// Writes dirty pages, which `POSIX_FADV_DONTNEED` would not drop. Nothing needs to survive a power
/// loss, so the device is not told to flush its cache. `fdatasync(2)` would do that even for a file
/// without a dirty page, and with thousands of files the last would be opened minutes after the
/// first.
fn write_back(handle: &File) {
    if iolab_engine::file_calls::sync_file_range(handle.as_raw_fd(), 0, 0, 0) != 0 {
        // The file system does not support this.
        let _ = handle.sync_data();
    }
}

/// Reads the file once, so that it is in the page cache.
fn pre_read(file: &FilePlan) -> Result<(), Fatal> {
    use std::io::Read;
    let context = format!("{}: pre_read", file.path.display());
    let failed = |error| fatal(&context, &error);
    let mut plain = File::open(&file.path).map_err(failed)?;
    let mut block = vec![0; 1 << 20];
    while plain.read(&mut block).map_err(failed)? > 0 {}
    Ok(())
}

fn set_write_hint(handle: &File, hint: WriteHint) -> Result<(), Fatal> {
    let hint = match hint {
        WriteHint::Unset => return Ok(()),
        WriteHint::None => 1,
        WriteHint::Short => 2,
        WriteHint::Medium => 3,
        WriteHint::Long => 4,
        WriteHint::Extreme => 5,
    };
    iolab_process::set_write_life_hint(handle.as_raw_fd(), hint).map_err(|error| fatal("write_hint", &error))
}
