//! Errors of a store, classified by who can fix them.

use std::fmt;
use std::path::Path;

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The library or one of its functions is not on this machine.
    NotInstalled,
    /// An option that the store does not know, or does not take with this value.
    Option,
    /// The folder holds something else, or a store of another kind, or no store where one must be,
    /// or one where none may be.
    Folder,
    /// Another program or thread has the store open.
    Busy,
    /// The store's files are inconsistent.
    Corrupt,
    /// The disk, or the user's share of it, is full.
    Full,
    /// This store does not support it at all.
    Unsupported,
    /// Another error of a device, a file system or the store.
    Io,
}

impl ErrorKind {
    /// Whether the user can fix it by a different request; otherwise there is a problem with the
    /// machine or the store's data.
    pub fn is_mistake(self) -> bool {
        matches!(self, ErrorKind::NotInstalled | ErrorKind::Option | ErrorKind::Folder | ErrorKind::Unsupported)
    }
}

/// An error of a store: its kind, and a sentence about what was tried, what happened and, if
/// possible, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreError {
    /// Its kind.
    pub kind: ErrorKind,
    /// The sentence.
    pub message: String,
}

impl StoreError {
    /// An error with this message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> StoreError {
        StoreError { kind, message: message.into() }
    }

    /// An error of the file system about a file or folder; a full disk has a kind of its own.
    pub fn of_file(path: &Path, doing: &str, error: &std::io::Error) -> StoreError {
        let (kind, advice) = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                (ErrorKind::Full, "; the disk is full: free some space, or write less")
            }
            _ => (ErrorKind::Io, ""),
        };
        StoreError::new(kind, format!("{}: cannot {doing}: {error}{advice}", path.display()))
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for StoreError {}
