//! The store `rocksdb`: RocksDB as installed on this machine.
//!
//! Its C library is loaded at run time, so that building this program needs neither RocksDB nor
//! C++. Versions 7 to 11 are known to have what is used (`symbols.rs`). Reads are pinned: the bytes
//! that a reader sees are those of the library's block. Options are the library's own text.
#![allow(unsafe_code, reason = "island: the C library, in the files that say so")]

mod batches;
mod calls;
mod cursor;
mod database;
mod elsewhere;
mod error;
mod figures;
mod library;
mod options;
mod store;
mod symbols;

use std::path::Path;

use iolab_kv::{ErrorKind, Existing, OpenRequest, Store, StoreDescription, StoreError, StoreKind, judge, remove_owned};

use calls::{c_path, checked};
use database::RocksStore;
use options::Options;

/// The kind.
#[derive(Debug)]
pub struct RocksDb;

static DESCRIPTION: StoreDescription = StoreDescription {
    name: "rocksdb",
    summary: "RocksDB, from the library installed on this machine",
    details: "Options: RocksDB's own syntax, e.g. \
        write_buffer_size=64M;compression=kNoCompression;block_based_table_factory={block_size=4K;block_cache=8M}; \
        and statistics=1, perf_level=N, filesystem=logfs:IMAGE (docs/logfs/rocksdb.md).",
    install: library::INSTALL,
    keeps_data: true,
};

impl StoreKind for RocksDb {
    fn description(&self) -> &'static StoreDescription {
        &DESCRIPTION
    }

    fn version(&self) -> Result<String, StoreError> {
        library::library().map(|library| library.version.clone())
    }

    fn recognises(&self, folder: &Path) -> bool {
        let has_manifest = || {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.into_iter().any(|entry| entry.file_name().as_encoded_bytes().starts_with(b"MANIFEST-"))
        };
        folder.join("CURRENT").is_file() && has_manifest()
    }

    fn owns(&self, name: &str) -> bool {
        let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match name.split_once('.') {
            Some((stem, "log" | "sst" | "blob" | "dbtmp" | "sst.trash" | "log.trash")) => number(stem),
            Some(("LOG", rest)) => rest.strip_prefix("old.").is_some_and(number),
            Some((stem, "dbtmp.trash")) => number(stem),
            Some(_) => false,
            None => {
                let numbered = |prefix: &str| name.strip_prefix(prefix).is_some_and(number);
                matches!(name, "CURRENT" | "IDENTITY" | "LOCK" | "LOG" | "archive" | "lost")
                    || numbered("MANIFEST-")
                    || numbered("OPTIONS-")
            }
        }
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn Store>, StoreError> {
        let library = library::library()?;
        let create = request.existing != Existing::Required;
        let mut options = Options::read(library, request.options, create)?;
        match options.filesystem.take() {
            None => judge(self, request)?,
            // What is there cannot be judged from here: the library alone can look.
            Some(uri) => options.live_in(elsewhere::Elsewhere::open(library, &uri)?, request.existing),
        }
        Ok(Box::new(RocksStore::open(library, request.folder, options)?))
    }

    fn destroy(&self, folder: &Path) -> Result<(), StoreError> {
        if self.recognises(folder) {
            let library = library::library()?;
            let options = Options::read(library, "", false)?;
            let path = c_path(folder);
            // SAFETY: options and path live through the call, which takes the store's lock, so that
            // nobody has it open.
            checked(&library.symbols, |failure| unsafe {
                (library.symbols.destroy_db)(options.object, path.as_ptr(), failure);
            })
            .map_err(|text| error::error_of(folder, "destroy the store", &text))?;
            if !self.recognises(folder) && !folder.exists() {
                return Ok(());
            }
            // What the library leaves behind: its own log, older options, an empty folder.
            return sweep(self, folder);
        }
        remove_owned(self, folder)
    }

    fn destroy_elsewhere(&self, folder: &Path, options: &str) -> Result<(), StoreError> {
        let library = library::library()?;
        let mut options = Options::read(library, options, false)?;
        let uri = options.filesystem.take().ok_or_else(|| {
            let message = format!("{}: no filesystem= says where the store is", folder.display());
            StoreError::new(ErrorKind::Option, message)
        })?;
        options.live_in(elsewhere::Elsewhere::open(library, &uri)?, Existing::Either);
        let path = c_path(folder);
        // SAFETY: options and path live through the call, which takes the store's lock.
        checked(&library.symbols, |failure| unsafe {
            (library.symbols.destroy_db)(options.object, path.as_ptr(), failure);
        })
        .map_err(|text| error::error_of(folder, "destroy the store", &text))
    }
}

/// Removes what is the store's own after the library has destroyed it.
fn sweep(kind: &RocksDb, folder: &Path) -> Result<(), StoreError> {
    let failed = |error: std::io::Error| StoreError::of_file(folder, "remove it", &error);
    let mut left = 0;
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if kind.owns(&entry.file_name().to_string_lossy()) && entry.path().is_file() {
            std::fs::remove_file(entry.path()).map_err(failed)?;
        } else {
            left += 1;
        }
    }
    if left == 0 { std::fs::remove_dir(folder).map_err(failed) } else { Ok(()) }
}

/// The file that the library was loaded from, links followed: what else is loaded must be linked
/// with the same.
pub fn library_path() -> Result<&'static Path, StoreError> {
    library::library().map(|library| library.path.as_path())
}

/// Whether the library was built with assertions, which check every operation.
pub fn has_assertions() -> Result<bool, StoreError> {
    library::library().map(|library| library.assertions)
}

/// Whether stores can live in images of logfs (`filesystem=logfs:IMAGE`), or what is missing.
pub fn can_live_in_logfs() -> Result<(), StoreError> {
    elsewhere::functions(library::library()?).map(drop)
}

#[cfg(test)]
mod tests;
