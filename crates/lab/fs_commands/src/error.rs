//! Why a command on an image fails.

use std::path::PathBuf;

use iolab_activity::{Failure, FailureKind};
use iolab_image::{CopyError, ImageError};
use iolab_logfs_bench::BenchError;

use crate::facts::shown;

/// Why a command on an image fails.
#[derive(Debug, thiserror::Error)]
pub enum FsError {
    /// The image.
    #[error("{0}")]
    Image(#[from] ImageError),
    /// A copy.
    #[error("{0}")]
    Copy(#[from] CopyError),
    /// A path inside of the image.
    #[error("{}: {}: {source}", image.display(), shown(path))]
    Inside {
        /// The image.
        image: PathBuf,
        /// The path.
        path: Vec<u8>,
        /// What the file system says.
        source: iolab_logfs::Error,
    },
    /// A benchmark.
    #[error("{0}")]
    Bench(#[from] BenchError),
    /// Anything else.
    #[error("{0}")]
    Other(#[from] Failure),
}

impl From<FsError> for Failure {
    fn from(error: FsError) -> Failure {
        let message = error.to_string();
        match error {
            FsError::Image(error) | FsError::Bench(BenchError::Image(error)) => of_image(&error),
            FsError::Copy(CopyError::Directory(_)) | FsError::Bench(BenchError::Unfit(_)) => Failure::mistake(message),
            FsError::Copy(CopyError::Ended(_)) => {
                Failure { kind: FailureKind::Interrupted, ..Failure::failed(message) }
            }
            FsError::Copy(_) | FsError::Inside { .. } | FsError::Bench(_) => Failure::failed(message),
            FsError::Other(failure) => failure,
        }
    }
}

fn of_image(error: &ImageError) -> Failure {
    use iolab_logfs::Error;
    let hint = match error {
        ImageError::FileSystem { path, source: Error::Corrupt(_) } => format!(" (`iolab fs fsck {}`)", path.display()),
        ImageError::FileSystem { source: Error::Unusable(_), .. } => " (is it a logfs image?)".to_owned(),
        _ => String::new(),
    };
    let message = format!("{error}{hint}");
    match error {
        ImageError::Missing(_) | ImageError::NoImage(_) => Failure::mistake(message),
        ImageError::InUse { .. } => Failure::refused(message),
        _ => Failure::failed(message),
    }
}
