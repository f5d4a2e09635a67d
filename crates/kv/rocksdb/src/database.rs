//! An open RocksDB: its handle, its options, and the calls that cursors and operations share.
#![allow(unsafe_code, reason = "island: calls of the library")]

use std::cell::Cell;
use std::ffi::c_int;
use std::path::{Path, PathBuf};

use iolab_kv::{Change, Durability, StoreError};

use crate::batches;
use crate::calls::{c_path, c_text, checked, owned_text};
use crate::error::error_of;
use crate::library::Library;
use crate::options::Options;
use crate::symbols::{Object, Symbols};

thread_local! {
    /// The library's measuring level in this thread; 0 before its first operation.
    static PERF_LEVEL: Cell<i32> = const { Cell::new(0) };
}

/// An open store, its options, and the options of its operations.
#[derive(Debug)]
pub(crate) struct RocksStore {
    pub(crate) library: &'static Library,
    pub(crate) folder: PathBuf,
    /// The library's own object of the open store.
    pub(crate) handle: Object,
    pub(crate) options: Options,
    /// The options of reads.
    pub(crate) read: Object,
    /// The options of writes, by durability: synced, logged, unlogged.
    write: [Object; 3],
}

// SAFETY: a RocksDB may be used by several threads without outside locks (its documentation, "Basic
// Operations", section Concurrency); the options of operations are only read after they are made.
unsafe impl Send for RocksStore {}
// SAFETY: as above.
unsafe impl Sync for RocksStore {}

impl RocksStore {
    /// Opens the store in `folder` with these options, which also say where its files live.
    pub(crate) fn open(library: &'static Library, folder: &Path, options: Options) -> Result<RocksStore, StoreError> {
        let symbols = &library.symbols;
        let path = c_path(folder);
        // SAFETY: options and path live through the call; the library copies what it keeps.
        let handle = checked(symbols, |failure| unsafe { (symbols.open)(options.object, path.as_ptr(), failure) })
            .map_err(|text| error_of(folder, "open the store", &text))?;
        let write_options = |sync: u8, without_log: c_int| {
            // SAFETY: makes an object, and sets it up before anybody else sees it.
            unsafe {
                let made = (symbols.writeoptions_create)();
                (symbols.writeoptions_set_sync)(made, sync);
                (symbols.writeoptions_disable_WAL)(made, without_log);
                made
            }
        };
        let write = [write_options(1, 0), write_options(0, 0), write_options(0, 1)];
        // SAFETY: makes an object.
        let read = unsafe { (symbols.readoptions_create)() };
        Ok(RocksStore { library, folder: folder.to_owned(), handle, options, read, write })
    }

    pub(crate) fn symbols(&self) -> &'static Symbols {
        &self.library.symbols
    }

    /// The functions for an operation: sets the measuring level of the calling thread to that of
    /// this store's options.
    #[inline]
    pub(crate) fn symbols_for_operation(&self) -> &'static Symbols {
        let (symbols, level) = (self.symbols(), self.options.perf_level);
        PERF_LEVEL.with(|now| {
            if now.get() != level {
                // SAFETY: sets a variable of the calling thread; the level is one that the library
                // has.
                unsafe { (symbols.set_perf_level)(level) };
                now.set(level);
            }
        });
        symbols
    }

    pub(crate) fn error(&self, doing: &str, text: &str) -> StoreError {
        error_of(&self.folder, doing, text)
    }

    fn write_options(&self, durability: Durability) -> Object {
        self.write[match durability {
            Durability::Synced => 0,
            Durability::Logged => 1,
            Durability::Unlogged => 2,
        }]
    }

    /// Makes these changes as one batch, as the library itself does for a single put. The batch
    /// belongs to the thread and is reused: `rocksdb_put` would allocate one for each call.
    #[inline]
    pub(crate) fn write_changes<'c>(
        &self,
        changes: impl Iterator<Item = Change<'c>>,
        durability: Durability,
        doing: &str,
    ) -> Result<(), StoreError> {
        let (symbols, how) = (self.symbols_for_operation(), self.write_options(durability));
        let done = batches::with(symbols, |writes| {
            for change in changes {
                // SAFETY: `writes` is alive and this thread's; it copies keys and values.
                unsafe {
                    match change {
                        Change::Put(key, value) => {
                            let (key, key_length) = (key.as_ptr().cast(), key.len());
                            (symbols.writebatch_put)(writes, key, key_length, value.as_ptr().cast(), value.len());
                        }
                        Change::Delete(key) => (symbols.writebatch_delete)(writes, key.as_ptr().cast(), key.len()),
                    }
                }
            }
            // SAFETY: the store is open, the batch alive.
            checked(symbols, |failure| unsafe { (symbols.write)(self.handle, how, writes, failure) })
        });
        done.map_err(|text| self.error(doing, &text))
    }

    /// A property that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        let (mut value, name) = (0, c_text(name.as_bytes()));
        // SAFETY: the store is open, `name` a C string, `value` a place for the answer.
        let answer = unsafe { (self.symbols().property_int)(self.handle, name.as_ptr(), &raw mut value) };
        (answer == 0).then_some(value)
    }

    /// Where the operations of this thread spent their time; resets the counters.
    pub(crate) fn perf_context(&self) -> Option<String> {
        if self.options.perf_level < 2 {
            return None;
        }
        let symbols = self.symbols_for_operation();
        // SAFETY: the context is the calling thread's own; the wrapper object is given back at
        // once.
        unsafe {
            let context = (symbols.perfcontext_create)();
            let text = owned_text(symbols, (symbols.perfcontext_report)(context, 1));
            (symbols.perfcontext_reset)(context);
            (symbols.perfcontext_destroy)(context);
            text
        }
    }

    pub(crate) fn flush(&self) -> Result<(), StoreError> {
        let symbols = self.symbols();
        // SAFETY: makes an object that is given back below; its default waits for the flush.
        let how = unsafe { (symbols.flushoptions_create)() };
        // SAFETY: the store is open, `how` alive.
        let done = checked(symbols, |failure| unsafe { (symbols.flush)(self.handle, how, failure) });
        // SAFETY: made above, not used any more.
        unsafe { (symbols.flushoptions_destroy)(how) };
        done.map_err(|text| self.error("flush", &text))
    }

    /// Flushes and compactions that run or wait.
    pub(crate) fn background_work(&self) -> Option<u64> {
        let names = [
            "rocksdb.num-running-flushes",
            "rocksdb.num-running-compactions",
            "rocksdb.mem-table-flush-pending",
            "rocksdb.compaction-pending",
        ];
        names.into_iter().map(|name| self.number(name)).sum()
    }
}

impl Drop for RocksStore {
    fn drop(&mut self) {
        let symbols = self.symbols();
        // SAFETY: made by `open`, owned by this value; cursors borrow it, so none is left. The
        // store goes before the options that it was opened with.
        unsafe {
            (symbols.close)(self.handle);
            (symbols.readoptions_destroy)(self.read);
            for how in self.write {
                (symbols.writeoptions_destroy)(how);
            }
        }
    }
}
