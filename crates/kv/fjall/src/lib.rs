//! The store `fjall`: a log-structured merge tree in Rust, part of this program.
//!
//! Keys and values live in its keyspace `default`. Every write goes to its journal, so
//! `Durability::Unlogged` is refused; a logged write is handed to the kernel before it returns, a
//! synced one is synced. It does not count what its compactions write.

mod error;
mod options;
mod store;

use std::path::Path;

use fjall::{Database, Error};
use iolab_kv::{OpenRequest, Store, StoreDescription, StoreError, StoreKind, judge, remove_owned};

use error::error_of;
use options::Options;
use store::FjallStore;

/// The kind.
#[derive(Debug)]
pub struct Fjall;

static DESCRIPTION: StoreDescription = StoreDescription {
    name: "fjall",
    summary: "A log-structured merge tree, built in",
    details: "Options: cache_size, write_buffer_size, block_size, max_background_jobs, compression (lz4 or none). It \
        always writes a log. When a logged write returns, the kernel has the data.",
    install: "",
    keeps_data: true,
};

/// First bytes of its file `version`.
const MARK: &[u8] = b"FJL";

impl StoreKind for Fjall {
    fn description(&self) -> &'static StoreDescription {
        &DESCRIPTION
    }

    fn version(&self) -> Result<String, StoreError> {
        Ok(store::VERSION.to_owned())
    }

    fn recognises(&self, folder: &Path) -> bool {
        std::fs::read(folder.join("version")).is_ok_and(|bytes| bytes.starts_with(MARK))
            || (folder.join("version").is_file() && folder.join("keyspaces").is_dir())
    }

    fn owns(&self, name: &str) -> bool {
        matches!(name, "lock" | "version" | "keyspaces") || name.ends_with(".jnl")
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn Store>, StoreError> {
        judge(self, request)?;
        let options = Options::read(request.options)?;
        let failed = |error: Error| error_of(request.folder, "open the store", error);
        let database = options.apply(Database::builder(request.folder)).open().map_err(failed)?;
        let entries = database.keyspace("default", || options.keyspace()).map_err(failed)?;
        Ok(Box::new(FjallStore::new(request.folder, database, entries, options)))
    }

    fn destroy(&self, folder: &Path) -> Result<(), StoreError> {
        remove_owned(self, folder)
    }
}

#[cfg(test)]
mod tests {
    use iolab_kv::ErrorKind;

    use super::*;

    iolab_kv::kv_conformance_suite!(conformance, &Fjall);
    iolab_kv::kv_conformance_suite!(
        small_buffers,
        &Fjall,
        Setup { options: "write_buffer_size=1048576;compression=none;cache_size=0", ..Setup::default() }
    );

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (text, word) in [("compression=zstd", "zstd"), ("block_size=many", "block_size"), ("fast", "fast")] {
            let error = Options::read(text).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Option);
            assert!(error.message.contains(word), "{error}");
        }
    }
}
