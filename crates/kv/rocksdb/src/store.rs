//! An open RocksDB as a store.
#![allow(unsafe_code, reason = "island: calls of the library")]

use iolab_kv::{Access, Batch, Change, Cursor, Durability, Maintenance, Store, StoreError, StoreFacts, StoreFigures};

use crate::calls::{c_text, checked, owned_text, slice};
use crate::cursor::RocksCursor;
use crate::database::RocksStore;
use crate::figures::{from_stats, from_tickers};
use crate::options::{in_effect, value_in};

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
        // SAFETY: the pinned slice lends its bytes until it is destroyed, after `visit` has
        // returned.
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

    /// Closing returns no error. A background write that failed earlier was reported by a later
    /// operation.
    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

fn none_for_no(word: String) -> String {
    if word == "no" { "none".to_owned() } else { word }
}
