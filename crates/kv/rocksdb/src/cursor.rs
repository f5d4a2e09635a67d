//! An iterator of the library as a cursor.
#![allow(unsafe_code, reason = "island: calls of the library, bytes that it lends")]

use iolab_kv::{Cursor, Seek, StoreError, Way};

use crate::calls::{checked, slice};
use crate::database::RocksStore;
use crate::symbols::Object;

#[derive(Debug)]
pub(crate) struct RocksCursor<'a> {
    store: &'a RocksStore,
    iterator: Object,
    /// Whether it is on a key.
    valid: bool,
}

impl<'a> RocksCursor<'a> {
    pub(crate) fn new(store: &'a RocksStore) -> RocksCursor<'a> {
        // SAFETY: the store is open for `'a`, its read options live as long.
        let iterator = unsafe { (store.symbols_for_operation().create_iterator)(store.handle, store.read) };
        RocksCursor { store, iterator, valid: false }
    }

    /// After a move: whether it is on a key, and the error if it is not.
    fn arrived(&mut self) -> Result<(), StoreError> {
        let symbols = self.store.symbols();
        // SAFETY: the iterator is alive and this thread's.
        self.valid = unsafe { (symbols.iter_valid)(self.iterator) } != 0;
        if self.valid {
            return Ok(());
        }
        // SAFETY: as above.
        checked(symbols, |failure| unsafe { (symbols.iter_get_error)(self.iterator, failure) })
            .map_err(|text| self.store.error("read in order", &text))
    }
}

impl Cursor for RocksCursor<'_> {
    fn seek(&mut self, to: Seek<'_>) -> Result<(), StoreError> {
        let symbols = self.store.symbols();
        // SAFETY: the iterator is alive and this thread's, keys live through the calls.
        unsafe {
            match to {
                Seek::First => (symbols.iter_seek_to_first)(self.iterator),
                Seek::Last => (symbols.iter_seek_to_last)(self.iterator),
                Seek::AtLeast(key) => (symbols.iter_seek)(self.iterator, key.as_ptr().cast(), key.len()),
                Seek::AtMost(key) => (symbols.iter_seek_for_prev)(self.iterator, key.as_ptr().cast(), key.len()),
            }
        }
        self.arrived()
    }

    fn step(&mut self, way: Way) -> Result<(), StoreError> {
        if !self.valid {
            return Ok(());
        }
        let symbols = self.store.symbols();
        // SAFETY: the iterator is alive, this thread's, and stands on a key.
        unsafe {
            match way {
                Way::Forward => (symbols.iter_next)(self.iterator),
                Way::Back => (symbols.iter_prev)(self.iterator),
            }
        }
        self.arrived()
    }

    fn entry(&self) -> Option<(&[u8], &[u8])> {
        if !self.valid {
            return None;
        }
        let symbols = self.store.symbols();
        let (mut key_length, mut value_length) = (0, 0);
        // SAFETY: the iterator stands on a key; its bytes stay until it is moved, which needs
        // `&mut`.
        unsafe {
            let key = (symbols.iter_key)(self.iterator, &raw mut key_length);
            let value = (symbols.iter_value)(self.iterator, &raw mut value_length);
            Some((slice(key, key_length), slice(value, value_length)))
        }
    }
}

impl Drop for RocksCursor<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, not used any more; the store is still open.
        unsafe { (self.store.symbols().iter_destroy)(self.iterator) };
    }
}
