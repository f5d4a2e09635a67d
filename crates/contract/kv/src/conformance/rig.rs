//! Scratch folders and shorthands of the suite.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Setup;
use crate::{Existing, OpenRequest, Store, StoreKind};

/// A folder that does not exist yet, in a scratch folder that is removed on drop.
#[derive(Debug)]
pub(super) struct Scratch {
    outer: PathBuf,
}

impl Scratch {
    pub(super) fn new() -> Scratch {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let outer = std::env::temp_dir().join(format!("iolab-kv-{}-{number}", std::process::id()));
        std::fs::create_dir(&outer).expect("a scratch folder can be made in the folder for temporary files");
        Scratch { outer }
    }

    /// The folder for a store.
    pub(super) fn folder(&self) -> PathBuf {
        self.outer.join("store")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.outer);
    }
}

/// Opens a store of this kind, which must work.
pub(super) fn open(kind: &dyn StoreKind, setup: &Setup, folder: &Path, existing: Existing) -> Box<dyn Store> {
    let request = OpenRequest { folder, options: setup.options, existing };
    kind.open(&request).unwrap_or_else(|error| panic!("{} does not open: {error}", kind.description().name))
}

/// Closes it and opens it again.
pub(super) fn reopen(kind: &dyn StoreKind, setup: &Setup, folder: &Path, store: Box<dyn Store>) -> Box<dyn Store> {
    store.close().expect("a store closes");
    open(kind, setup, folder, Existing::Required)
}

/// The value of a key, copied.
pub(super) fn get(store: &dyn Store, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = None;
    let found = store.get(key, &mut |bytes| value = Some(bytes.to_vec())).expect("a store can be read");
    assert_eq!(found, value.is_some(), "get says {found}, and shows {value:?}");
    value
}
