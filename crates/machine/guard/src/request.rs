//! Requests to the guard, and its results.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::Hazard;

/// What the user allows.
#[derive(Debug, Clone, Default)]
pub struct GuardRules {
    /// `--allow-destroy`: these may be changed, whatever they are.
    pub allowed: Vec<PathBuf>,
    /// As in fio: a job that writes overwrites a file that it names exactly, marked or not.
    pub as_fio: bool,
}

/// A path to be touched, and its origin.
#[derive(Debug, Clone, Copy)]
pub struct GuardedPath<'a> {
    /// File, folder or device.
    pub path: &'a Path,
    /// For a generated name, the folder that it must stay below; empty for the current folder.
    pub beneath: Option<&'a Path>,
    /// Whether the user named exactly this path as the target.
    pub exact: bool,
}

impl<'a> GuardedPath<'a> {
    /// A path that the user named.
    pub fn named(path: &'a Path) -> GuardedPath<'a> {
        GuardedPath { path, beneath: None, exact: true }
    }
}

/// How a target is removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Removal {
    /// It is not removed.
    #[default]
    None,
    /// A regular file is removed; a link to one stays ([`crate::Guard::remove`]).
    File,
    /// Whatever has the name is removed, including a symbolic link itself (unlink(2), rmdir(2)).
    Name,
}

/// What will be done to a target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathChange {
    /// Its content is replaced, trimmed or cut off.
    pub overwrites: bool,
    /// It is extended to this number of bytes if it is shorter.
    pub extends_to: u64,
    /// Whether and how it is removed.
    pub removal: Removal,
    /// The job accepts that the target is in use (`allow_mounted_write=1`).
    pub in_use_is_accepted: bool,
}

impl PathChange {
    /// Everything that can be done to a file, except removal.
    pub const OVERWRITES: PathChange =
        PathChange { overwrites: true, extends_to: 0, removal: Removal::None, in_use_is_accepted: false };

    /// Whether a file of this size would be changed at all.
    pub fn touches(&self, size_bytes: u64) -> bool {
        self.overwrites || self.removal != Removal::None || size_bytes < self.extends_to
    }
}

/// A hazard, and whether it is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedHazard {
    /// The hazard.
    pub hazard: Hazard,
    /// Whether the user's rules accept it; worth a message.
    pub accepted: bool,
}

/// Why the guard refused a request.
#[derive(Debug)]
pub enum Refusal {
    /// It would have destroyed something.
    Hazards(Vec<Hazard>),
    /// The system's error.
    Io(io::Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Hazards(hazards) => {
                let sentences: Vec<String> = hazards.iter().map(Hazard::to_string).collect();
                f.write_str(&sentences.join("; "))
            }
            Refusal::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Refusal {
        Refusal::Io(errno.into())
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        Refusal::Io(error)
    }
}

/// Whether a target exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It does not exist.
    Missing,
    /// It exists.
    There,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy)]
pub struct OpenMode {
    /// Access mode and other flags of open(2); never `O_TRUNC`.
    pub flags: OFlags,
    /// Whether a missing file is created.
    pub create: bool,
    /// Whether missing folders are created too.
    pub make_folders: bool,
}
