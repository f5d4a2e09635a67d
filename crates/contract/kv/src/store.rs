//! An open store: its hot half, and its upkeep.

use crate::{Batch, Cursor, StoreError, StoreFacts, StoreFigures};

/// What a completed operation survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The loss of power: the store's log was synced.
    Synced,
    /// The end of the process, if the store writes its log before it returns; stores that can only
    /// sync later say so in their description. The common default.
    #[default]
    Logged,
    /// Nothing, until the next flush: no log is written.
    Unlogged,
}

/// Reading and changing a store, by shared reference from any thread.
pub trait Access: Send + Sync {
    /// Gives `key` this value.
    fn put(&self, key: &[u8], value: &[u8], durability: Durability) -> Result<(), StoreError>;

    /// Removes the value of `key`; no error if it has none.
    fn delete(&self, key: &[u8], durability: Durability) -> Result<(), StoreError>;

    /// Makes all changes of the batch, in their order, all or none.
    fn write(&self, batch: &Batch, durability: Durability) -> Result<(), StoreError>;

    /// Passes the value of `key` to `visit` and returns true, or returns false if it has none. The
    /// bytes are the store's own if it can lend them; they are only valid until `visit` returns.
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, StoreError>;

    /// A cursor over the store as it is now, not yet on a key.
    fn cursor(&self) -> Result<Box<dyn Cursor + '_>, StoreError>;
}

/// Work that a store does besides its users' operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maintenance {
    /// Write what is only in memory to the store's files, durably.
    Flush,
    /// Wait until there is no background work left.
    Compact,
    /// Wait until no background work is left.
    Settle,
}

/// An open store.
pub trait Store: Access {
    /// Does this work; a store that has no such work does nothing.
    fn maintain(&self, work: Maintenance) -> Result<(), StoreError>;

    /// Facts that do not change while it is open.
    fn facts(&self) -> StoreFacts;

    /// Its counters and its pending work.
    fn figures(&self) -> StoreFigures;

    /// A property by its name in the store's own language, e.g. `rocksdb.stats`; `None` for a name
    /// that it does not know.
    fn property(&self, name: &str) -> Option<String>;

    /// Closes it: what was written with a log is in files afterwards. Dropping a store also closes
    /// it, but ignores errors.
    fn close(self: Box<Self>) -> Result<(), StoreError>;
}
