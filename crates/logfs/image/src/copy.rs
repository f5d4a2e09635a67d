//! Copies between folders of this machine and an image, with attributes, holes and hard links.
//!
//! Special files (pipes, sockets, devices) are left out and told. Owners are set where the system
//! lets us; on the way into an image they always are. Extended attributes are not copied. The first
//! error ends a copy: what was copied until then stays.

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

/// Bytes that are moved at once.
pub(crate) const PIECE_BYTES: u64 = 4 << 20;

/// What a copy has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// Files, links among them.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Bytes of content, holes left out.
    pub bytes: u64,
    /// What was left out, and why.
    pub left_out: Vec<String>,
}

/// Told what a copy has done so far, between its pieces; answers whether it is to go on.
pub type CopyProgress<'t> = &'t mut dyn FnMut(&Copied) -> bool;

/// Why a copy ended.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// Something on this machine.
    #[error("{}: {what}: {source}", path.display())]
    Host {
        /// Where.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Something in the image.
    #[error("in the image: {}: {source}", path.escape_ascii())]
    Inside {
        /// Where.
        path: Vec<u8>,
        /// What the file system answered.
        source: Error,
    },
    /// The observer ended it.
    #[error(
        "interrupted after {} and {}; they stay, but running the command again copies everything",
        counted(.0.files, "file"),
        counted(.0.directories, "directory")
    )]
    Ended(Copied),
    /// A directory, and it was not said that directories are to be copied.
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
