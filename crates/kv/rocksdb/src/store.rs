//! An open RocksDB.
#![allow(unsafe_code, reason = "island: calls of the library")]

use std::cell::Cell;
use std::ffi::c_int;
use std::path::{Path, PathBuf};

use iolab_kv::{Access, Batch, Change, Cursor, Durability, Maintenance, Store, StoreError, StoreFacts, StoreFigures};

use crate::batches;
use crate::calls::{c_path, c_text, checked, owned_text, slice};
use crate::cursor::RocksCursor;
use crate::error::error_of;
use crate::figures::{from_stats, from_tickers};
use crate::library::Library;
use crate::options::{Options, in_effect, value_in};
use crate::symbols::{Object, Symbols};

thread_local! {
    /// What this thread has the library measure; 0 before its first operation.
    static PERF_LEVEL: Cell<i32> = const { Cell::new(0) };
}

/// An open store, its options, and the options of its operations.
#[derive(Debug)]
pub(crate) struct RocksStore {
    library: &'static Library,
    folder: PathBuf,
    handle: Object,
    options: Options,
    read: Object,
    /// By durability: synced, logged, unlogged.
    write: [Object; 3],
}

// SAFETY: a RocksDB may be used by several threads without outside locks (its documentation, "Basic
// Operations", section Concurrency); the options of operations are only read after they are made.
unsafe impl Send for RocksStore {}
// SAFETY: as above.
unsafe impl Sync for RocksStore {}

impl RocksStore {
    /// Opens the store in `folder`; options, and with them where files live, are decided.
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

    /// The same for an operation: the calling thread has the library measure what this store's options
    /// say.
    #[inline]
    pub(crate) fn symbols_for_operation(&self) -> &'static Symbols {
        let (symbols, level) = (self.symbols(), self.options.perf_level);
        PERF_LEVEL.with(|now| {
            if now.get() != level {
                // SAFETY: sets a variable of the calling thread; the level is one that the library has.
                unsafe { (symbols.set_perf_level)(level) };
                now.set(level);
            }
        });
        symbols
    }

    pub(crate) fn handle(&self) -> Object {
        self.handle
    }

    pub(crate) fn read_options(&self) -> Object {
        self.read
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

    /// Makes these changes as one batch, which is also the library's own way of a single put. The batch
    /// is the thread's: the library makes one for each call of `rocksdb_put`, and asks for memory then.
    #[inline]
    fn write_changes<'c>(
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
    fn number(&self, name: &str) -> Option<u64> {
        let (mut value, name) = (0, c_text(name.as_bytes()));
        // SAFETY: the store is open, `name` a C string, `value` a place for the answer.
        let answer = unsafe { (self.symbols().property_int)(self.handle, name.as_ptr(), &raw mut value) };
        (answer == 0).then_some(value)
    }

    /// What this thread's operations spent their time on, and starts again.
    fn perf_context(&self) -> Option<String> {
        if self.options.perf_level < 2 {
            return None;
        }
        let symbols = self.symbols_for_operation();
        // SAFETY: the context is the calling thread's own; the wrapper object is given back at once.
        unsafe {
            let context = (symbols.perfcontext_create)();
            let text = owned_text(symbols, (symbols.perfcontext_report)(context, 1));
            (symbols.perfcontext_reset)(context);
            (symbols.perfcontext_destroy)(context);
            text
        }
    }

    fn flush(&self) -> Result<(), StoreError> {
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
    fn background_work(&self) -> Option<u64> {
        let names = [
            "rocksdb.num-running-flushes",
            "rocksdb.num-running-compactions",
            "rocksdb.mem-table-flush-pending",
            "rocksdb.compaction-pending",
        ];
        names.into_iter().map(|name| self.number(name)).sum()
    }
}

impl Access for RocksStore {
    #[inline]
    fn put(&self, key: &[u8], value: &[u8], durability: Durability) -> Result<(), StoreError> {
        self.write_changes(std::iter::once(Change::Put(key, value)), durability, "write")
    }

    fn delete(&self, key: &[u8], durability: Durability) -> Result<(), StoreError> {
        self.write_changes(std::iter::once(Change::Delete(key)), durability, "delete")
    }

    fn write(&self, batch: &Batch, durability: Durability) -> Result<(), StoreError> {
        self.write_changes(batch.changes(), durability, "write a batch")
    }

    #[inline]
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, StoreError> {
        let symbols = self.symbols_for_operation();
        // SAFETY: the store is open; the key lives through the call.
        let pinned = checked(symbols, |failure| unsafe {
            (symbols.get_pinned)(self.handle, self.read, key.as_ptr().cast(), key.len(), failure)
        })
        .map_err(|text| self.error("read", &text))?;
        if pinned.is_null() {
            return Ok(false);
        }
        let mut length = 0;
        // SAFETY: the pinned slice lends its bytes until it is destroyed, after `visit` has returned.
        unsafe {
            let value = (symbols.pinnableslice_value)(pinned, &raw mut length);
            visit(slice(value, length));
            (symbols.pinnableslice_destroy)(pinned);
        }
        Ok(true)
    }

    fn cursor(&self) -> Result<Box<dyn Cursor + '_>, StoreError> {
        Ok(Box::new(RocksCursor::new(self)))
    }
}

impl Store for RocksStore {
    fn maintain(&self, work: Maintenance) -> Result<(), StoreError> {
        match work {
            Maintenance::Flush => self.flush(),
            Maintenance::Compact => {
                let none = std::ptr::null();
                // SAFETY: the store is open; null means from the first and to the last key.
                unsafe { (self.symbols().compact_range)(self.handle, none, 0, none, 0) };
                Ok(())
            }
            Maintenance::Settle => {
                while self.background_work().unwrap_or(0) > 0 {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                Ok(())
            }
        }
    }

    fn facts(&self) -> StoreFacts {
        let options = in_effect(&self.folder);
        let known = |name: &str| value_in(&options, name);
        let compression = known("compression").map(|word| word.trim_start_matches('k').replace("Compression", ""));
        StoreFacts {
            version: known("rocksdb_version").unwrap_or(&self.library.version).to_owned(),
            compression: compression.map(|word| word.to_lowercase().replace("nocompression", "none")).map(none_for_no),
            direct_reads: known("use_direct_reads").map(|word| word == "true"),
            cache_bytes: self.number("rocksdb.block-cache-capacity"),
            assertions: Some(self.library.assertions),
            notes: vec![self.library.sentence()],
            options,
        }
    }

    fn figures(&self) -> StoreFigures {
        let counted = if self.options.statistics {
            // SAFETY: the options are alive, and have statistics.
            let text = unsafe { (self.symbols().options_statistics_get_string)(self.options.object) };
            from_tickers(&owned_text(self.symbols(), text).unwrap_or_default())
        } else {
            from_stats(&self.property("rocksdb.stats").unwrap_or_default())
        };
        StoreFigures {
            pending_compaction_bytes: self.number("rocksdb.estimate-pending-compaction-bytes"),
            background_work: self.background_work(),
            live_bytes: self.number("rocksdb.estimate-live-data-size"),
            keys: self.number("rocksdb.estimate-num-keys"),
            ..counted
        }
    }

    fn property(&self, name: &str) -> Option<String> {
        let name = match name {
            "perf-context" => return self.perf_context(),
            "statistics" if self.options.statistics => {
                // SAFETY: the options are alive, and have statistics.
                let text = unsafe { (self.symbols().options_statistics_get_string)(self.options.object) };
                return owned_text(self.symbols(), text);
            }
            "stats" | "levelstats" => c_text(format!("rocksdb.{name}").as_bytes()),
            name => c_text(name.as_bytes()),
        };
        // SAFETY: the store is open, `name` a C string.
        owned_text(self.symbols(), unsafe { (self.symbols().property_value)(self.handle, name.as_ptr()) })
    }

    /// The library closes without an answer; what can fail, an earlier write in the background, was an
    /// error of a later operation.
    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

fn none_for_no(word: String) -> String {
    if word == "no" { "none".to_owned() } else { word }
}

impl Drop for RocksStore {
    fn drop(&mut self) {
        let symbols = self.symbols();
        // SAFETY: made by `open`, owned by this value; cursors borrow it, so none is left. The store
        // goes before the options that it was opened with.
        unsafe {
            (symbols.close)(self.handle);
            (symbols.readoptions_destroy)(self.read);
            for how in self.write {
                (symbols.writeoptions_destroy)(how);
            }
        }
    }
}
