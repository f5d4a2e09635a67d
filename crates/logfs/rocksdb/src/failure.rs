//! The error of a call: an errno for programs, a sentence for people.

use iolab_image::ImageError;
use iolab_logfs::Error;

/// A call that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CallFailure {
    /// The errno(3).
    pub errno: i32,
    /// What it concerned, and what happened.
    pub message: String,
}

impl CallFailure {
    pub(crate) fn of(what: &[u8], error: &Error) -> CallFailure {
        // As fsync(2) would return: the file system itself answers changes with EROFS.
        let errno = if matches!(error, Error::Failed(_)) {
            Error::Device(iolab_disk::DeviceError::Gone).errno()
        } else {
            error.errno()
        };
        CallFailure { errno, message: format!("{}: {error}", String::from_utf8_lossy(what)) }
    }
}

impl From<ImageError> for CallFailure {
    fn from(error: ImageError) -> CallFailure {
        let errno = match &error {
            ImageError::Io { source, .. } => source.raw_os_error(),
            ImageError::Missing(_) => Some(Error::NotFound.errno()),
            ImageError::InUse { .. } => Some(rustix::io::Errno::BUSY.raw_os_error()),
            ImageError::FileSystem { source, .. } => Some(source.errno()),
            ImageError::NoImage(_) | ImageError::Stalled(_) => None,
        };
        let errno = errno.unwrap_or(rustix::io::Errno::INVAL.raw_os_error());
        CallFailure { errno, message: error.to_string() }
    }
}

impl From<crate::BadLocation> for CallFailure {
    fn from(error: crate::BadLocation) -> CallFailure {
        CallFailure { errno: rustix::io::Errno::INVAL.raw_os_error(), message: error.to_string() }
    }
}
