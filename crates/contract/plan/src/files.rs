//! Files and devices: where, how long, how they are made, opened and removed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One file or device of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilePlan {
    /// Path, or the engine's replacement for one.
    pub path: PathBuf,
    /// First byte the worker may touch.
    pub start_bytes: u64,
    /// Bytes it may touch from there.
    pub length_bytes: u64,
    /// Size the file must have before the measured part; the runner lays it out if it is shorter.
    /// 0 for devices and for files that are created as they are written.
    pub layout_bytes: u64,
    /// How the path came about.
    #[serde(default)]
    pub origin: FileOrigin,
    /// Whether it was a block device when the plan was made.
    pub block_device: bool,
}

/// Where a job got the path of a file from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FileOrigin {
    /// The user named it: `filename`, or a job named after a device.
    #[default]
    Named,
    /// It was made from the job's name or by `filename_format`, and stays below a folder:
    /// `directory`, or the current one (an empty path).
    Generated {
        /// That folder.
        folder: PathBuf,
    },
    /// It was found below `opendir`.
    Found,
}

/// How files are made, opened, flushed and removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LayoutPlan {
    /// `direct=1`: open with `O_DIRECT`.
    pub direct: bool,
    /// `atomic=1`: untorn writes (`RWF_ATOMIC`).
    pub atomic: bool,
    /// `O_SYNC`/`O_DSYNC`.
    pub sync: FileSync,
    /// Which operations exclude each other (`lockfile`).
    #[serde(default, skip_serializing_if = "FileLock::is_none")]
    pub lock: FileLock,
    /// Drop the files from the page cache before starting.
    pub invalidate: bool,
    /// Whether files that are written are laid out first (`overwrite`).
    pub overwrite: bool,
    /// Create files only when they are opened.
    pub create_on_open: bool,
    /// Lay out one job's files after another's.
    pub create_serialize: bool,
    /// `fsync` files after laying them out.
    pub create_fsync: bool,
    /// Stop after laying out.
    pub create_only: bool,
    /// Whether files may be created.
    pub allow_create: bool,
    /// Whether missing folders of files are made, too, as fio does.
    #[serde(default)]
    pub make_folders: bool,
    /// How space is reserved.
    pub fallocate: Fallocate,
    /// `posix_fadvise` on open.
    pub fadvise: FadviseHint,
    /// `fcntl(F_SET_RW_HINT)` on open.
    pub write_hint: WriteHint,
    /// Read the files once before starting.
    pub pre_read: bool,
    /// `fsync` all files at the end of the job.
    pub end_fsync: bool,
    /// `fsync` each file when it is closed.
    pub fsync_on_close: bool,
    /// `syncfs` at the end of the job.
    pub end_syncfs: bool,
    /// Remove the files at the end.
    pub unlink: bool,
    /// Remove the files after each loop.
    pub unlink_each_loop: bool,
    /// Allow writing to a mounted device (`allow_mounted_write`).
    pub allow_mounted_write: bool,
    /// Append after the end of existing files.
    pub append: bool,
    /// Write until the file system is full.
    pub fill_device: bool,
    /// Never write: refuse jobs that would (`--readonly`).
    pub read_only: bool,
    /// Settings of the block devices under the files, for the time of the run: name as in
    /// `/sys/block/DEVICE/queue`, and value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub device_settings: BTreeMap<String, String>,
}

/// `lockfile`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FileLock {
    /// None do.
    #[default]
    None,
    /// All operations on one file.
    Exclusive,
    /// Those that write, and others.
    ReadWrite,
}

impl FileLock {
    fn is_none(&self) -> bool {
        *self == FileLock::None
    }
}

/// `sync=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FileSync {
    /// Buffered writes stay buffered.
    None,
    /// `O_SYNC`.
    Sync,
    /// `O_DSYNC`.
    Dsync,
}

/// `fallocate=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Fallocate {
    /// No reservation.
    None,
    /// `fallocate(2)` mode 0; silently skipped where the file system does not support it.
    Native,
    /// `posix_fallocate(3)`.
    Posix,
    /// `FALLOC_FL_KEEP_SIZE`.
    Keep,
    /// `ftruncate(2)` to the final size.
    Truncate,
}

/// `fadvise_hint=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FadviseHint {
    /// Nothing.
    None,
    /// Random or sequential, after the pattern.
    ByPattern,
    /// `POSIX_FADV_RANDOM`.
    Random,
    /// `POSIX_FADV_SEQUENTIAL`.
    Sequential,
    /// `POSIX_FADV_NOREUSE`.
    Noreuse,
}

/// `write_hint=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum WriteHint {
    /// Not set.
    Unset,
    /// `RWH_WRITE_LIFE_NONE`.
    None,
    /// `RWH_WRITE_LIFE_SHORT`.
    Short,
    /// `RWH_WRITE_LIFE_MEDIUM`.
    Medium,
    /// `RWH_WRITE_LIFE_LONG`.
    Long,
    /// `RWH_WRITE_LIFE_EXTREME`.
    Extreme,
}
