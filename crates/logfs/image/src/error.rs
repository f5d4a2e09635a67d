//! Errors of an image, each with its path.

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
        /// The operation that failed.
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The path does not exist.
    #[error("{}: no such file or device; create an image with `iolab fs mkfs --size=SIZE`", .0.display())]
    Missing(PathBuf),
    /// A directory, a pipe, a terminal.
    #[error("{}: neither a regular file nor a block device", .0.display())]
    NoImage(PathBuf),
    /// Another process has it open.
    #[error("{}: in use: another process {reason}; wait until it ends (end a mount with `iolab fs umount`)", path.display())]
    InUse {
        /// The image.
        path: PathBuf,
        /// How the other process uses it.
        reason: &'static str,
    },
    /// An error of the file system.
    #[error("{}: {source}", path.display())]
    FileSystem {
        /// The image.
        path: PathBuf,
        /// The error.
        source: iolab_logfs::Error,
    },
    /// All tasks wait for each other: a bug in this program, or a disk that was tampered with in a
    /// way not foreseen.
    #[error("{}: the file system is deadlocked; please report this bug, with the image if possible", .0.display())]
    Stalled(PathBuf),
}
