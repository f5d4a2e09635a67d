//! Errors of redb as errors of a store.

use std::path::Path;

use iolab_kv::{ErrorKind, StoreError};
use redb::{DatabaseError, StorageError};

/// Why a store was not opened.
pub(crate) fn open_error(folder: &Path, error: DatabaseError) -> StoreError {
    let path = folder.display();
    match error {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
            StoreError::new(ErrorKind::Busy, format!("{path}: the store is open in another program or job"))
        }
        DatabaseError::UpgradeRequired(version) => {
            let message = format!("{path}: the store has redb's older file format {version}; create a new store");
            StoreError::new(ErrorKind::Folder, message)
        }
        DatabaseError::Storage(error) => error_of(folder, "open the store", redb::Error::from(error)),
        error => StoreError::new(ErrorKind::Corrupt, format!("{path}: cannot open the store: redb says {error}")),
    }
}

/// What an error of the library means for a user of the store.
pub(crate) fn error_of(folder: &Path, doing: &str, error: redb::Error) -> StoreError {
    let path = folder.display();
    match error {
        redb::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            let message = format!("{path}: cannot {doing}: {error}; the store is damaged");
            StoreError::new(ErrorKind::Corrupt, message)
        }
        redb::Error::Io(error) => StoreError::of_file(folder, doing, &error),
        redb::Error::Corrupted(what) => {
            StoreError::new(ErrorKind::Corrupt, format!("{path}: cannot {doing}: the store is damaged: {what}"))
        }
        error => StoreError::new(ErrorKind::Io, format!("{path}: cannot {doing}: redb says {error}")),
    }
}

/// What an error of the library's storage means for a user of the store.
pub(crate) fn storage_error(folder: &Path, doing: &str, error: StorageError) -> StoreError {
    error_of(folder, doing, redb::Error::from(error))
}
