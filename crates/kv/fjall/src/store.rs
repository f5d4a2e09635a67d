//! An open fjall store.

use std::fmt;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use fjall::{Database, Error, Keyspace, PersistMode, Readable, Snapshot};
use iolab_kv::{
    Access, Batch, Bytes, Change, Cursor, Durability, ErrorKind, Maintenance, RangeCursor, Ranges, Store, StoreError,
    StoreFacts, StoreFigures, Way,
};

use crate::error::error_of;
use crate::options::Options;

/// The version that this program is built with.
pub(crate) const VERSION: &str = "3.1";

pub(crate) struct FjallStore {
    folder: PathBuf,
    database: Database,
    entries: Keyspace,
    options: Options,
}

impl fmt::Debug for FjallStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FjallStore").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl FjallStore {
    pub(crate) fn new(folder: &Path, database: Database, entries: Keyspace, options: Options) -> FjallStore {
        FjallStore { folder: folder.to_owned(), database, entries, options }
    }

    fn failed(&self, doing: &str) -> impl Fn(Error) -> StoreError {
        move |error| error_of(&self.folder, doing, error)
    }

    /// After a write: nothing more to do, or the journal to sync.
    fn persist(&self, durability: Durability) -> Result<(), StoreError> {
        match durability {
            Durability::Logged => Ok(()),
            Durability::Synced => self.database.persist(PersistMode::SyncData).map_err(self.failed("sync the journal")),
            Durability::Unlogged => Err(unlogged()),
        }
    }
}

fn unlogged() -> StoreError {
    StoreError::new(ErrorKind::Unsupported, "fjall cannot write without its journal; remove disable_wal")
}

impl Access for FjallStore {
    fn put(&self, key: &[u8], value: &[u8], durability: Durability) -> Result<(), StoreError> {
        if durability == Durability::Unlogged {
            return Err(unlogged());
        }
        self.entries.insert(key, value).map_err(self.failed("write"))?;
        self.persist(durability)
    }

    fn delete(&self, key: &[u8], durability: Durability) -> Result<(), StoreError> {
        if durability == Durability::Unlogged {
            return Err(unlogged());
        }
        self.entries.remove(key).map_err(self.failed("write"))?;
        self.persist(durability)
    }

    fn write(&self, batch: &Batch, durability: Durability) -> Result<(), StoreError> {
        let mode = match durability {
            Durability::Logged => PersistMode::Buffer,
            Durability::Synced => PersistMode::SyncData,
            Durability::Unlogged => return Err(unlogged()),
        };
        if batch.is_empty() {
            return self.persist(durability);
        }
        // All changes of a key within a batch would get the same sequence number, so only the last
        // one is passed on.
        let mut last = std::collections::BTreeMap::new();
        for change in batch.changes() {
            let (Change::Put(key, _) | Change::Delete(key)) = change;
            last.insert(key, change);
        }
        let mut writes = self.database.batch().durability(Some(mode));
        for change in last.into_values() {
            match change {
                Change::Put(key, value) => writes.insert(&self.entries, key, value),
                Change::Delete(key) => writes.remove(&self.entries, key),
            }
        }
        writes.commit().map_err(self.failed("write a batch"))
    }

    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, StoreError> {
        let value = self.entries.get(key).map_err(self.failed("read"))?;
        if let Some(value) = &value {
            visit(value);
        }
        Ok(value.is_some())
    }

    fn cursor(&self) -> Result<Box<dyn Cursor + '_>, StoreError> {
        Ok(Box::new(RangeCursor::new(View { store: self, snapshot: self.database.snapshot() })))
    }
}

/// The store as it was.
struct View<'a> {
    store: &'a FjallStore,
    snapshot: Snapshot,
}

impl<'a> Ranges for View<'a> {
    type Iter = Box<dyn Iterator<Item = Result<(Bytes, Bytes), StoreError>> + 'a>;

    fn range(&self, from: Bound<&[u8]>, way: Way) -> Result<Self::Iter, StoreError> {
        let store = self.store;
        let entry = move |guard: fjall::Guard| {
            let (key, value) = guard.into_inner().map_err(store.failed("read in order"))?;
            Ok((key.to_vec(), value.to_vec()))
        };
        let whole = |bounds| self.snapshot.range::<&[u8], (Bound<&[u8]>, Bound<&[u8]>)>(&store.entries, bounds);
        Ok(match way {
            Way::Forward => Box::new(whole((from, Bound::Unbounded)).map(entry)),
            Way::Back => Box::new(whole((Bound::Unbounded, from)).rev().map(entry)),
        })
    }
}

impl Store for FjallStore {
    fn maintain(&self, work: Maintenance) -> Result<(), StoreError> {
        match work {
            Maintenance::Flush => self.entries.rotate_memtable_and_wait().map_err(self.failed("flush")),
            Maintenance::Compact => {
                self.entries.rotate_memtable_and_wait().map_err(self.failed("flush"))?;
                self.entries.major_compact().map_err(self.failed("compact"))
            }
            Maintenance::Settle => {
                while self.database.outstanding_flushes() + self.database.active_compactions() > 0 {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                Ok(())
            }
        }
    }

    fn facts(&self) -> StoreFacts {
        StoreFacts {
            version: VERSION.to_owned(),
            compression: Some(self.options.compression().to_owned()),
            direct_reads: Some(false),
            cache_bytes: Some(self.database.cache_capacity()),
            assertions: Some(cfg!(debug_assertions)),
            ..StoreFacts::default()
        }
    }

    fn figures(&self) -> StoreFigures {
        StoreFigures {
            background_work: Some((self.database.outstanding_flushes() + self.database.active_compactions()) as u64),
            live_bytes: self.database.disk_space().ok(),
            keys: Some(self.entries.approximate_len() as u64),
            ..StoreFigures::default()
        }
    }

    fn property(&self, name: &str) -> Option<String> {
        match name {
            "stats" => Some(format!(
                "tables {}, of them in level 0 {}; journals {}; compactions done {}",
                self.entries.table_count(),
                self.entries.l0_table_count(),
                self.database.journal_count(),
                self.database.compactions_completed()
            )),
            "levelstats" => {
                Some(format!("level 0: {} of {} tables", self.entries.l0_table_count(), self.entries.table_count()))
            }
            _ => None,
        }
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        self.database.persist(PersistMode::SyncAll).map_err(self.failed("close the store"))
    }
}
