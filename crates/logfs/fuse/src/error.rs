//! Why a file system could not be mounted, or its server ended early.

use iolab_fuse::FuseError;

/// Why it failed.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// An error of the connection to the kernel.
    #[error("{0}")]
    Fuse(FuseError),
    /// An error of the file system.
    #[error("{0}")]
    FileSystem(#[from] iolab_logfs::Error),
    /// A system call that the server needs failed.
    #[error("{0}: {1}")]
    System(&'static str, std::io::Error),
    /// Every operation waits for another one.
    #[error("the file system is deadlocked; synced data is safe")]
    Stalled,
}

impl From<FuseError> for MountError {
    fn from(error: FuseError) -> MountError {
        MountError::Fuse(error)
    }
}
