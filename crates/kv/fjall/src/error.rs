//! Errors of fjall as errors of a store.

use std::path::Path;

use fjall::Error;
use iolab_kv::{ErrorKind, StoreError};

/// What an error of the library means for a user of the store.
pub(crate) fn error_of(folder: &Path, doing: &str, error: Error) -> StoreError {
    let path = folder.display();
    match error {
        Error::Locked => {
            StoreError::new(ErrorKind::Busy, format!("{path}: the store is open in another program or job"))
        }
        Error::Io(error) => StoreError::of_file(folder, doing, &error),
        Error::Storage(fjall::LsmError::Io(error)) => StoreError::of_file(folder, doing, &error),
        Error::Poisoned => {
            let message =
                format!("{path}: cannot {doing}: an earlier write failed, and fjall accepts no more writes after that");
            StoreError::new(ErrorKind::Io, message)
        }
        error => {
            let message = format!("{path}: cannot {doing}: fjall says {error:?}; the store is damaged");
            StoreError::new(ErrorKind::Corrupt, message)
        }
    }
}
