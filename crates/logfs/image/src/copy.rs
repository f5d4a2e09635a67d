//! Copies between directories of this machine and an image, with attributes, holes and hard links.
//!
//! Special files (pipes, sockets, devices) are skipped and reported. Owners are set where the
//! system permits it; on the way into an image, always. Extended attributes are not copied. The
//! first error ends a copy: what was copied until then stays.

mod beneath;
mod from_host;
mod to_host;

use std::io;
use std::path::{Path, PathBuf};

use iolab_logfs::Error;
use iolab_text::counted;

pub use beneath::CopyTarget;
pub use from_host::{CopySource, from_host, from_host_told};
pub use to_host::{to_host, to_host_told};

/// Bytes copied at once.
pub(crate) const PIECE_BYTES: u64 = 4 << 20;

/// The work of a copy so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// Files, including links.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Bytes of content, without holes.
    pub bytes: u64,
    /// What was skipped, and why.
    pub left_out: Vec<String>,
}

/// Called between pieces with the work so far; returns whether to continue.
pub type CopyProgress<'t> = &'t mut dyn FnMut(&Copied) -> bool;

/// Why a copy ended.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// An error on this machine.
    #[error("{}: {what}: {source}", path.display())]
    Host {
        /// The path.
        path: PathBuf,
        /// The operation that failed.
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// An error in the image.
    #[error("in the image: {}: {source}", path.escape_ascii())]
    Inside {
        /// The path.
        path: Vec<u8>,
        /// The error of the file system.
        source: Error,
    },
    /// The observer interrupted it.
    #[error(
        "interrupted after {} and {}; they stay, but running the command again copies everything",
        counted(.0.files, "file"),
        counted(.0.directories, "directory")
    )]
    Ended(Copied),
    /// A directory, although directories were not to be copied.
    #[error("{0}: is a directory; use -r to copy it with its contents")]
    Directory(String),
}

fn host(path: &Path, what: &'static str) -> impl Fn(io::Error) -> CopyError {
    let path = path.to_owned();
    move |source| CopyError::Host { path: path.clone(), what, source }
}

fn inside(path: &[u8]) -> impl Fn(Error) -> CopyError {
    let path = path.to_vec();
    move |source| CopyError::Inside { path: path.clone(), source }
}

#[cfg(test)]
mod tests;
