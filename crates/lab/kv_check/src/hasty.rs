//! A store that acknowledges operations before it syncs them: the canary. A check that accepts it
//! checks nothing.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use iolab_kv::{Access, Batch, Cursor, Durability, StoreError};

/// Number of held-back batches: enough that a kill at any moment finds some not begun.
const KEPT: usize = 8;

/// Holds batches back but reports them as done; each new one releases an earlier one.
pub struct Hasty<'a> {
    store: &'a dyn Access,
    kept: Mutex<VecDeque<(Batch, Durability)>>,
}

impl std::fmt::Debug for Hasty<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Hasty")
    }
}

impl<'a> Hasty<'a> {
    /// In front of a good store.
    pub fn new(store: &'a dyn Access) -> Hasty<'a> {
        Hasty { store, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(Batch, Durability)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Access for Hasty<'_> {
    fn put(&self, key: &[u8], value: &[u8], durability: Durability) -> Result<(), StoreError> {
        let mut batch = Batch::new();
        batch.put(key, value);
        self.write(&batch, durability)
    }

    fn delete(&self, key: &[u8], durability: Durability) -> Result<(), StoreError> {
        let mut batch = Batch::new();
        batch.delete(key);
        self.write(&batch, durability)
    }

    fn write(&self, batch: &Batch, durability: Durability) -> Result<(), StoreError> {
        let mut kept = self.kept();
        kept.push_back((batch.clone(), durability));
        if kept.len() <= KEPT {
            return Ok(());
        }
        kept.pop_front().map_or(Ok(()), |(batch, durability)| self.store.write(&batch, durability))
    }

    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, StoreError> {
        self.store.get(key, visit)
    }

    fn cursor(&self) -> Result<Box<dyn Cursor + '_>, StoreError> {
        self.store.cursor()
    }
}
