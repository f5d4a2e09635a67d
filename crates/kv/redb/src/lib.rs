//! The store `redb`: a copy-on-write B-tree in one file, in Rust, part of this program.
//!
//! Every operation that changes something is a transaction of its own, and one such transaction
//! runs at a time. It has no log: a logged write is a commit without a sync, which a flush, a
//! synced write or closing makes durable; a process that dies before that loses it. An unlogged
//! write does the same.

mod cursor;
mod error;
mod store;

use std::path::Path;

use iolab_kv::{
    OpenRequest, Store, StoreDescription, StoreError, StoreKind, judge, number, options_of, remove_owned,
    unknown_option,
};
use redb::Database;

use error::open_error;
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

#[cfg(test)]
mod tests {
    use super::*;

    iolab_kv::kv_conformance_suite!(conformance, &Redb, Setup { operations: 1_000, ..Setup::default() });
}
