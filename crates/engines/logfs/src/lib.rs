//! The engine `logfs`: jobs on files inside this repository's log-structured file system, without a
//! mount and without the kernel's file systems.
//!
//! ```text
//!  submit ─▶ mailbox of the slot ─▶ task of the slot ─▶ LogFs ─▶ block device: io_uring on a file or disk, or memory
//!  reap  ◀─ finished operations ◀──────┘                          (the executor's driver: reap gives it the turn)
//! ```
//!
//! Small writes to one file that are submitted together, and small reads that continue each other,
//! are one run, which goes to the mailbox of its first slot: the file system does most of its work
//! once for all of them.
//!
//! A lane has its own domain of a file system, and works on it in the thread that drives it:
//! nothing runs between two calls. With `logfs_shared`, all lanes share one file system instead,
//! served by its own threads. The device uses the slots as buffers; nothing is copied if operations
//! cover whole blocks.
//!
//! Unsafe island for one promise: that the pool of slots outlives the lane, which is the contract
//! of lanes; and for locking a part of a file.
#![allow(unsafe_code, reason = "island: lends slots to a device, locks ranges of a file")]

mod device;
mod files;
mod lane;
mod opened;
mod options;
mod own_lane;
mod perform;
mod run;
mod service;
mod shared_lane;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use iolab_engine::{Capabilities, Engine, EngineDescription, FileUse, LaneRequest, OpenError};
use iolab_options::{Reach, Settings};

pub use lane::LogfsLane;
pub use options::{Requested, paths};

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Logfs;

impl Engine for Logfs {
    type Lane = LogfsLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "logfs",
        aliases: &[],
        summary: "Files inside a log-structured file system in user space, without a mount",
        details: "filename and directory name files in the file system, which are created in the needed size before \
            the job starts. The file system is on logfs_device, or in memory. Each operation is a task of the file \
            system; it accesses the device with O_DIRECT through io_uring, or through native AIO where io_uring \
            would need threads. Writes beyond the end extend a file, trims punch holes, fsync and fdatasync write \
            the metadata log and flush the device. sync_file_range does nothing, because data is on the device when \
            a write completes. Small writes to one file that are submitted together are performed as one, and \
            so are small reads that continue each other. Each worker has its own domain (iolab fs mkfs --domains), or all share one file system (logfs_shared).",
        options: &options::OPTIONS,
        capabilities: Capabilities {
            files: FileUse::Nothing,
            extends_files: true,
            reach: Reach::Private,
            ..Capabilities::DEVICES
        },
        trials: &[],
    };

    fn opens(options: &Settings) -> Vec<PathBuf> {
        Requested::of(options).devices.into_iter().map(|(path, _)| path).collect()
    }

    fn remakes(options: &Settings) -> bool {
        Requested::of(options).makes
    }

    fn open(request: &LaneRequest<'_>) -> Result<LogfsLane, OpenError> {
        LogfsLane::open(request)
    }
}
