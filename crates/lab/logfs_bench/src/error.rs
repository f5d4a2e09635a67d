//! What ends a benchmark before its time.

use std::io;
use std::path::PathBuf;

use iolab_image::ImageError;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The image, or the file system in it.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// logfs answered an error to the load.
    #[error("{}: while {doing}: {source}", path.display())]
    LogFs {
        /// The image.
        path: PathBuf,
        /// What the load did.
        doing: &'static str,
        /// What logfs answered.
        source: iolab_logfs::Error,
    },
    /// The other file system or the kernel did.
    #[error("{}: while {doing}: {source}", path.display())]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// What the load did.
        doing: &'static str,
        /// What it answered.
        source: io::Error,
    },
    /// Another thread of the load failed: its error is the one to report.
    #[error("stopped, because another domain failed")]
    Abandoned,
    /// The load does not fit its target.
    #[error("{0}")]
    Unfit(String),
}
