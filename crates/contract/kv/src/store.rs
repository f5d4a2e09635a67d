//! An open store: its hot half, and its upkeep.

use crate::{Batch, Cursor, StoreError, StoreFacts, StoreFigures};

/// What an operation that returned survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The loss of power: the store's log was synced.
    Synced,
    /// The end of the process, where the store writes its log before it answers; stores whose only
    /// way is to sync later say so in their description. The common default.
    #[default]
    Logged,
    /// Nothing, until the next flush: no log is written.
    Unlogged,
}

/// Reading and changing a store. All of it by shared reference, from any thread.
pub trait Access: Send + Sync {
    /// Gives `key` this value.
    fn put(&self, key: &[u8], value: &[u8], durability: Durability) -> Result<(), StoreError>;

    /// Takes the value of `key` away; no error if it has none.
    fn delete(&self, key: &[u8], durability: Durability) -> Result<(), StoreError>;

    /// Makes all changes of the batch, in their order, all or none.
    fn write(&self, batch: &Batch, durability: Durability) -> Result<(), StoreError>;

    /// Shows the value of `key` to `visit` and answers true, or answers false when it has none. The
    /// bytes are the store's own where it can lend them; they are gone when `visit` returns.
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, StoreError>;

    /// A cursor over the store as it is now, standing nowhere.
    fn cursor(&self) -> Result<Box<dyn Cursor + '_>, StoreError>;
}

/// Work that a store does beside its users' operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maintenance {
    /// Write what is only in memory to the store's files, durably.
    Flush,
    /// Rewrite everything into its most compact form, and return when that is done.
    Compact,
    /// Return when no work in the background is left.
    Settle,
}

/// An open store.
pub trait Store: Access {
    /// Does this work. A store that has nothing to do for it does nothing.
    fn maintain(&self, work: Maintenance) -> Result<(), StoreError>;

    /// What is so for as long as it is open.
    fn facts(&self) -> StoreFacts;

    /// What it has counted and what it owes.
    fn figures(&self) -> StoreFigures;

    /// A property by its name in the store's own language, e.g. `rocksdb.stats`; `None` for a name
    /// that it does not know.
    fn property(&self, name: &str) -> Option<String>;

    /// Closes it: what was written with a log is in files afterwards. Dropping a store closes it,
    /// too, but keeps silent about errors.
    fn close(self: Box<Self>) -> Result<(), StoreError>;
}
