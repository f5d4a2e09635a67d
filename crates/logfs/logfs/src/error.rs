//! Errors, as far as a caller has to distinguish them.

use iolab_disk::DeviceError;

/// Why an operation failed. Unless stated otherwise, nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No such name or inode.
    #[error("no such file or directory")]
    NotFound,
    /// The name is taken.
    #[error("the name already exists")]
    Exists,
    /// Not a directory, where one is needed.
    #[error("not a directory")]
    NotDirectory,
    /// A directory, where none is allowed.
    #[error("is a directory")]
    IsDirectory,
    /// The directory has entries.
    #[error("the directory is not empty")]
    NotEmpty,
    /// A name or link target that is too long; its length.
    #[error("the name is too long: {0} bytes at most")]
    NameTooLong(usize),
    /// An argument that is invalid.
    #[error("invalid: {0}")]
    Invalid(&'static str),
    /// Beyond the largest size of a file.
    #[error("beyond the maximum file size")]
    TooLarge,
    /// No space, even after cleaning.
    #[error("no space left on the device")]
    NoSpace,
    /// No extended attribute of this name.
    #[error("no such attribute")]
    NoAttribute,
    /// An operation that would combine names and inodes of different domains.
    #[error("source and destination are in different domains: copy instead")]
    CrossDomain,
    /// More hard links than the limit.
    #[error("too many hard links to the file")]
    TooManyLinks,
    /// The device refused a request of this call.
    #[error("the device failed: {0}")]
    Device(DeviceError),
    /// Content on the disk does not match its checksum.
    #[error(
        "the content at byte {place} of the device does not match its checksum; check the rest with `iolab fs fsck \
        --content`"
    )]
    Content {
        /// The damaged block.
        place: u64,
    },
    /// Writing the log has failed, so that no more changes are possible.
    #[error("the file system failed ({0}) and is now read-only: open it again")]
    Failed(DeviceError),
    /// The file system is closed or closing.
    #[error("the file system is closed")]
    Closed,
    /// There is no file system, or none that this version can use.
    #[error("not usable: {0}")]
    Unusable(String),
    /// The disk contradicts itself, or something that was durable is missing.
    #[error("corrupt: {0}; run fsck")]
    Corrupt(String),
}

impl Error {
    /// The corresponding errno(3).
    pub fn errno(&self) -> i32 {
        match self {
            Error::NotFound => 2,
            Error::Exists => 17,
            Error::CrossDomain => 18,
            Error::NotDirectory => 20,
            Error::IsDirectory => 21,
            Error::Invalid(_) | Error::Unusable(_) => 22,
            Error::TooLarge => 27,
            Error::NoSpace => 28,
            Error::Failed(_) => 30,
            Error::TooManyLinks => 31,
            Error::NameTooLong(_) => 36,
            Error::NotEmpty => 39,
            Error::NoAttribute => 61,
            Error::Device(DeviceError::Failed(errno)) => *errno,
            Error::Device(_) | Error::Content { .. } => 5,
            Error::Closed => 108,
            Error::Corrupt(_) => 117,
        }
    }
}

impl From<DeviceError> for Error {
    fn from(error: DeviceError) -> Error {
        Error::Device(error)
    }
}
