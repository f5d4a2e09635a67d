//! The store `redb`: a copy-on-write B-tree in one file, in Rust, part of this program.
//!
//! Every operation that changes something is a transaction of its own, and one such transaction runs
//! at a time. It has no log: a logged write is a commit without a sync, which a flush, a synced write
//! or closing makes durable; a process that dies before that loses it. An unlogged write is the same.

mod cursor;
mod store;

use std::path::Path;

use iolab_kv::{
    ErrorKind, OpenRequest, Store, StoreDescription, StoreError, StoreKind, judge, number, options_of, remove_owned,
    unknown_option,
};
use redb::{Database, DatabaseError, StorageError, TableDefinition};

use store::RedbStore;

/// The kind.
#[derive(Debug)]
pub struct Redb;

static DESCRIPTION: StoreDescription = StoreDescription {
    name: "redb",
    summary: "A copy-on-write B-tree in one file, built in",
    details: "Options: cache_size. Each put is its own transaction. It has no log: unsynced data becomes durable \
        only with a flush, a synced write or closing.",
    install: "",
    keeps_data: true,
};

const FILE: &str = "data.redb";

/// First bytes of its file.
const MARK: &[u8] = b"redb";

const ENTRIES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("entries");

impl StoreKind for Redb {
    fn description(&self) -> &'static StoreDescription {
        &DESCRIPTION
    }

    fn version(&self) -> Result<String, StoreError> {
        Ok(store::VERSION.to_owned())
    }

    fn recognises(&self, folder: &Path) -> bool {
        use std::io::Read;
        let mut mark = [0; MARK.len()];
        let read = std::fs::File::open(folder.join(FILE)).and_then(|mut file| file.read_exact(&mut mark));
        read.is_ok() && mark == MARK
    }

    fn owns(&self, name: &str) -> bool {
        name == FILE
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn Store>, StoreError> {
        judge(self, request)?;
        let mut builder = Database::builder();
        let mut cache_bytes = None;
        for (name, value) in options_of(request.options)? {
            match name {
                "cache_size" => {
                    let bytes = number(name, value)?;
                    builder.set_cache_size(bytes as usize);
                    cache_bytes = Some(bytes);
                }
                _ => return Err(unknown_option("redb", name, &["cache_size"])),
            }
        }
        if !request.folder.exists() {
            std::fs::create_dir(request.folder)
                .map_err(|error| StoreError::of_file(request.folder, "make the folder", &error))?;
        }
        let database = builder.create(request.folder.join(FILE)).map_err(|error| open_error(request.folder, error))?;
        RedbStore::new(request.folder, database, cache_bytes).map(|store| Box::new(store) as Box<dyn Store>)
    }

    fn destroy(&self, folder: &Path) -> Result<(), StoreError> {
        remove_owned(self, folder)
    }
}

fn open_error(folder: &Path, error: DatabaseError) -> StoreError {
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

/// An error of the library, sorted.
fn error_of(folder: &Path, doing: &str, error: redb::Error) -> StoreError {
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

/// The same of an error of its storage.
fn storage_error(folder: &Path, doing: &str, error: StorageError) -> StoreError {
    error_of(folder, doing, redb::Error::from(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    iolab_kv::kv_conformance_suite!(conformance, &Redb, Setup { operations: 1_000, ..Setup::default() });
}
