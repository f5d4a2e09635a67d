//! What can be wrong with an image, each with its path.

use std::io;
use std::path::PathBuf;

/// Why an image cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A system call on the image failed.
    #[error("{}: {what}: {source}", path.display())]
    Io {
        /// The image.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Nothing is there.
    #[error("{}: no such file or device; create an image with `iolab fs mkfs --size=SIZE`", .0.display())]
    Missing(PathBuf),
    /// A folder, a pipe, a terminal.
    #[error("{}: neither a regular file nor a block device", .0.display())]
    NoImage(PathBuf),
    /// Somebody else has it open.
    #[error("{}: in use: another process {reason}; wait until it ends (end a mount with `iolab fs umount`)", path.display())]
    InUse {
        /// The image.
        path: PathBuf,
        /// What it does.
        reason: &'static str,
    },
    /// The file system answered an error.
    #[error("{}: {source}", path.display())]
    FileSystem {
        /// The image.
        path: PathBuf,
        /// What it answered.
        source: iolab_logfs::Error,
    },
    /// All tasks wait for each other: a mistake in this program, or a disk that was tampered with
    /// in a way that nobody thought of.
    #[error("{}: the file system is deadlocked; please report this bug, with the image if possible", .0.display())]
    Stalled(PathBuf),
}
