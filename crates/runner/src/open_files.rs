//! Opening a worker's files, and what happens to them before and after its I/O: caches, advice, hints, flushes,
//! removal.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use iolab_engine::{Capabilities, FileUse, TargetFile};
use iolab_plan::{Direction, FadviseHint, FilePlan, FileSync, LayoutPlan, WorkerPlan, WriteHint};
use rustix::fs::Advice;

use crate::trouble::{Fatal, errno_text};

/// A worker's open files.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    files: Vec<File>,
    pub(crate) targets: Vec<TargetFile>,
}

impl OpenFiles {
    /// Opens what the engine needs.
    pub(crate) fn open(plan: &WorkerPlan, capabilities: &Capabilities) -> Result<OpenFiles, Fatal> {
        let mut opened = OpenFiles { files: Vec::new(), targets: Vec::new() };
        for file in &plan.files {
            let mut target = TargetFile {
                path: file.path.clone(),
                fd: -1,
                size_bytes: file.start_bytes + file.length_bytes,
                is_block_device: false,
            };
            if capabilities.files == FileUse::Descriptors {
                let handle = open_one(plan, file)?;
                if let Ok(metadata) = handle.metadata() {
                    target.is_block_device = metadata.file_type().is_block_device();
                    if metadata.is_file() {
                        target.size_bytes = metadata.len();
                    }
                }
                target.fd = handle.as_raw_fd();
                prepare(&handle, plan, file, target.is_block_device)?;
                opened.files.push(handle);
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

    /// Removes and makes the files anew, as long as they were laid out, under their old descriptors: for
    /// `unlink_each_loop`.
    pub(crate) fn renew(&mut self, plan: &WorkerPlan) -> Result<(), Fatal> {
        for (handle, file) in self.files.iter_mut().zip(&plan.files) {
            remove(file)?;
            let fresh = open_one(plan, file)?;
            if file.layout_bytes > 0 && writes(plan) && !file.block_device {
                let context = || format!("{}: making it anew", file.path.display());
                fresh.set_len(file.layout_bytes).map_err(|error| fatal(&context(), &error))?;
            }
            let mut old = std::os::fd::OwnedFd::from(std::mem::replace(handle, fresh));
            rustix::io::dup2(&*handle, &mut old).map_err(|errno| fatal("dup2", &errno.into()))?;
            *handle = File::from(old);
        }
        Ok(())
    }
}

/// Removes a regular file of the job; anything else stays.
pub(crate) fn remove(file: &FilePlan) -> Result<(), Fatal> {
    match std::fs::symlink_metadata(&file.path) {
        Ok(metadata) if metadata.is_file() => {
            let context = format!("{}: unlink", file.path.display());
            std::fs::remove_file(&file.path).map_err(|error| fatal(&context, &error))
        }
        _ => Ok(()),
    }
}

pub(crate) fn fatal(what: &str, error: &std::io::Error) -> Fatal {
    let errno = error.raw_os_error().unwrap_or(libc::EIO);
    let advice = if errno == libc::EMFILE { " (raise the limit: ulimit -n)" } else { "" };
    Fatal { errno, message: format!("{what}: {}{advice}", errno_text(errno)) }
}

/// Makes the folder a file is to be made in.
pub(crate) fn make_folder_of(file: &Path) -> Result<(), Fatal> {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.exists() => std::fs::create_dir_all(folder)
            .map_err(|error| fatal(&format!("{}: making the folder", folder.display()), &error)),
        _ => Ok(()),
    }
}

pub(crate) fn writes(plan: &WorkerPlan) -> bool {
    plan.workload.pattern.directions.iter().any(|direction| *direction != Direction::Read)
}

pub(crate) fn reads(plan: &WorkerPlan) -> bool {
    plan.workload.pattern.directions.contains(&Direction::Read)
}

fn open_one(plan: &WorkerPlan, file: &FilePlan) -> Result<File, Fatal> {
    let (writing, layout) = (writes(plan), &plan.layout);
    let mut flags = match layout.sync {
        FileSync::None => 0,
        FileSync::Sync => libc::O_SYNC,
        FileSync::Dsync => libc::O_DSYNC,
    };
    if layout.direct {
        flags |= libc::O_DIRECT;
    }
    let mut options = OpenOptions::new();
    options.read(reads(plan) || plan.engine.name == "mmap" || !writing).write(writing).custom_flags(flags);
    if writing && layout.allow_create && !file.block_device {
        options.create(true);
    }
    if writing && layout.make_folders && !file.block_device {
        make_folder_of(&file.path)?;
    }
    let fresh = writing && !file.block_device && holds_nothing(&file.path);
    let handle = options.open(&file.path).map_err(|error| {
        let mut failure = fatal(&file.path.display().to_string(), &error);
        if layout.direct && failure.errno == libc::EINVAL {
            failure.message.push_str(" (this file system has no direct I/O: use direct=0)");
        }
        failure
    })?;
    if fresh {
        mark(&handle);
    }
    Ok(handle)
}

/// Whether there is no file yet, or a regular one without data: what will be in it then is the job's work.
pub(crate) fn holds_nothing(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => metadata.len() == 0 || metadata.blocks() == 0,
        Ok(_) => false,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Marks a file as made by a job, so that later jobs may overwrite it.
pub(crate) fn mark(file: &File) {
    // Without the mark a later run asks the user before it overwrites the file: no reason to fail this one.
    if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        let _ = iolab_observe::mark_layout(file);
    }
}

fn prepare(handle: &File, plan: &WorkerPlan, file: &FilePlan, block_device: bool) -> Result<(), Fatal> {
    let layout = &plan.layout;
    if layout.pre_read && reads(plan) {
        pre_read(file)?;
    } else if layout.invalidate && (!layout.direct || block_device) {
        if !layout.direct {
            write_back(handle);
        }
        let _ = rustix::fs::fadvise(handle, 0, None, Advice::DontNeed);
    }
    let random = plan.workload.pattern.random;
    let advice = match layout.fadvise {
        FadviseHint::None => None,
        FadviseHint::ByPattern if random => Some(Advice::Random),
        FadviseHint::ByPattern | FadviseHint::Sequential => Some(Advice::Sequential),
        FadviseHint::Random => Some(Advice::Random),
        FadviseHint::Noreuse => Some(Advice::NoReuse),
    };
    if let (Some(advice), false) = (advice, layout.direct) {
        let _ = rustix::fs::fadvise(handle, file.start_bytes, std::num::NonZeroU64::new(file.length_bytes), advice);
    }
    set_write_hint(handle, layout.write_hint)
}

/// Writes dirty pages, which `POSIX_FADV_DONTNEED` would not drop. Nothing has to survive a loss of power, so the device
/// is not told to flush its cache: `fdatasync(2)` does that even for a file without a dirty page, and of thousands of
/// files the last would be opened minutes after the first.
fn write_back(handle: &File) {
    if iolab_file_calls::sync_file_range(handle.as_raw_fd(), 0, 0, 0) != 0 {
        // A file system that has no such thing.
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
