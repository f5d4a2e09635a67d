//! An open redb store.

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use iolab_kv::{
    Access, Batch, Change, Cursor, Durability, ErrorKind, Maintenance, RangeCursor, Store, StoreError, StoreFacts,
    StoreFigures,
};
use redb::{Database, ReadableDatabase, ReadableTableMetadata, Table, TableDefinition};

use crate::cursor::View;
use crate::error::error_of;

/// The version that this program is built with.
pub(crate) const VERSION: &str = "4.6";

/// The one table of a store.
const ENTRIES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("entries");

type Entries<'a> = Table<'a, &'static [u8], &'static [u8]>;

#[derive(Debug)]
pub(crate) struct RedbStore {
    folder: PathBuf,
    /// Shared by all operations; a compaction has it alone.
    database: RwLock<Database>,
    cache_bytes: Option<u64>,
}

impl RedbStore {
    pub(crate) fn new(folder: &Path, database: Database, cache_bytes: Option<u64>) -> Result<RedbStore, StoreError> {
        let store = RedbStore { folder: folder.to_owned(), database: RwLock::new(database), cache_bytes };
        // The table is made by the first transaction that opens it.
        store.change(Durability::Synced, |_| Ok(()))?;
        Ok(store)
    }

    fn database(&self) -> RwLockReadGuard<'_, Database> {
        self.database.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed<E: Into<redb::Error>>(&self, doing: &str) -> impl Fn(E) -> StoreError {
        move |error| error_of(&self.folder, doing, error.into())
    }

    /// One transaction.
    fn change(
        &self,
        durability: Durability,
        changes: impl FnOnce(&mut Entries<'_>) -> Result<(), redb::StorageError>,
    ) -> Result<(), StoreError> {
        let database = self.database();
        let mut transaction = database.begin_write().map_err(self.failed("begin a transaction"))?;
        if durability != Durability::Synced {
            transaction.set_durability(redb::Durability::None).map_err(self.failed("begin a transaction"))?;
        }
        {
            let mut entries = transaction.open_table(ENTRIES).map_err(self.failed("open the table"))?;
            changes(&mut entries).map_err(self.failed("write"))?;
        }
        transaction.commit().map_err(self.failed("commit"))
    }

    fn view(&self) -> Result<View<'_>, StoreError> {
        let transaction = self.database().begin_read().map_err(self.failed("begin to read"))?;
        let entries = transaction.open_table(ENTRIES).map_err(self.failed("open the table"))?;
        Ok(View { folder: &self.folder, entries })
    }
}

impl Access for RedbStore {
    fn put(&self, key: &[u8], value: &[u8], durability: Durability) -> Result<(), StoreError> {
        self.change(durability, |entries| entries.insert(key, value).map(drop))
    }

    fn delete(&self, key: &[u8], durability: Durability) -> Result<(), StoreError> {
        self.change(durability, |entries| entries.remove(key).map(drop))
    }

    fn write(&self, batch: &Batch, durability: Durability) -> Result<(), StoreError> {
        self.change(durability, |entries| {
            for change in batch.changes() {
                match change {
                    Change::Put(key, value) => drop(entries.insert(key, value)?),
                    Change::Delete(key) => drop(entries.remove(key)?),
                }
            }
            Ok(())
        })
    }

    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, StoreError> {
        let view = self.view()?;
        let value = view.entries.get(key).map_err(self.failed("read"))?;
        if let Some(value) = &value {
            visit(value.value());
        }
        Ok(value.is_some())
    }

    fn cursor(&self) -> Result<Box<dyn Cursor + '_>, StoreError> {
        Ok(Box::new(RangeCursor::new(self.view()?)))
    }
}

impl Store for RedbStore {
    fn maintain(&self, work: Maintenance) -> Result<(), StoreError> {
        match work {
            Maintenance::Flush => self.change(Durability::Synced, |_| Ok(())),
            Maintenance::Settle => Ok(()),
            Maintenance::Compact => {
                let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
                match database.compact() {
                    Ok(_) => Ok(()),
                    Err(redb::CompactionError::TransactionInProgress) => {
                        let message = "redb cannot compact while a cursor is open; close the cursor first";
                        Err(StoreError::new(ErrorKind::Busy, message))
                    }
                    Err(error) => Err(error_of(&self.folder, "compact", error.into())),
                }
            }
        }
    }

    fn facts(&self) -> StoreFacts {
        StoreFacts {
            version: VERSION.to_owned(),
            compression: Some("none".to_owned()),
            direct_reads: Some(false),
            cache_bytes: self.cache_bytes,
            assertions: Some(cfg!(debug_assertions)),
            notes: vec!["redb has no log: unsynced writes are lost when the process dies.".to_owned()],
            ..StoreFacts::default()
        }
    }

    fn figures(&self) -> StoreFigures {
        let keys = self.view().ok().and_then(|view| view.entries.len().ok());
        let live_bytes = self.view().ok().and_then(|view| view.entries.stats().ok()).map(|stats| stats.stored_bytes());
        StoreFigures { keys, live_bytes, background_work: Some(0), ..StoreFigures::default() }
    }

    fn property(&self, name: &str) -> Option<String> {
        let stats = self.view().ok()?.entries.stats().ok()?;
        match name {
            "stats" | "levelstats" => Some(format!(
                "tree of height {}; pages {} leaves and {} branches; bytes {} stored, {} of metadata, {} fragmented",
                stats.tree_height(),
                stats.leaf_pages(),
                stats.branch_pages(),
                stats.stored_bytes(),
                stats.metadata_bytes(),
                stats.fragmented_bytes()
            )),
            _ => None,
        }
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        self.change(Durability::Synced, |_| Ok(()))
    }
}
