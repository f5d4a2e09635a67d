//! A kind of store: its constant facts, and how to open a store.

use std::path::Path;

use crate::{ErrorKind, Store, StoreError};

/// Constant facts about a kind of store.
#[derive(Debug)]
pub struct StoreDescription {
    /// Its name in `store=` and `--store`.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// What its options are, how calls become calls of its library, what it cannot do.
    pub details: &'static str,
    /// The command that installs what it needs; empty when it is part of this program.
    pub install: &'static str,
    /// Whether stored values can be read: false only for stores that measure the loop.
    pub keeps_data: bool,
}

/// Whether there is a store in the folder already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// There must be one: it is opened.
    Required,
    /// There must be none: a new one is made.
    Forbidden,
    /// It is opened, or a new one is made.
    Either,
}

/// What to open, and how.
#[derive(Debug, Clone, Copy)]
pub struct OpenRequest<'a> {
    /// The folder; it is made when it does not exist and `existing` allows a new store. Its parent
    /// must exist.
    pub folder: &'a Path,
    /// Options in the store's own language, `name=value` with semicolons between; empty for its
    /// defaults.
    pub options: &'a str,
    /// Whether there is a store already.
    pub existing: Existing,
}

/// A kind of store.
pub trait StoreKind: Sync {
    /// Its constant facts.
    fn description(&self) -> &'static StoreDescription;

    /// The version of the store's library here, or what is missing and what installs it.
    fn version(&self) -> Result<String, StoreError>;

    /// Whether the folder has the files by which a store of this kind is recognised. Opens no store
    /// and changes nothing.
    fn recognises(&self, folder: &Path) -> bool;

    /// Whether a store of this kind makes files or folders with this name in its folder.
    fn owns(&self, name: &str) -> bool;

    /// Opens a store. On an error, the folder stays as it is.
    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn Store>, StoreError>;

    /// Removes the store in the folder, and the folder if it is empty then. Only what the store
    /// [owns](StoreKind::owns) goes. A folder that is not recognised is refused.
    fn destroy(&self, folder: &Path) -> Result<(), StoreError>;

    /// Destroys a store whose options put its files somewhere other than into folders of this
    /// machine; no error if there is none. The caller must know that the store may be removed:
    /// nothing can be checked from outside.
    fn destroy_elsewhere(&self, folder: &Path, _options: &str) -> Result<(), StoreError> {
        let message = format!("{}: stores of this kind live in folders of this machine only", folder.display());
        Err(StoreError::new(ErrorKind::Unsupported, message))
    }
}
