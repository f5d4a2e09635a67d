//! The expected content of a store, compared with the actual one.

use std::collections::BTreeMap;

use iolab_kv::{Access, Seek, StoreError, Way};
use iolab_order::Gather;

use crate::operation::{Operation, RING_PREFIX};

/// Keys and values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Model(BTreeMap<Vec<u8>, Vec<u8>>);

impl Model {
    /// Everything that a store holds.
    ///
    /// # Errors
    /// Those of the store.
    pub fn read(store: &dyn Access) -> Result<Model, StoreError> {
        let mut found = BTreeMap::new();
        let mut cursor = store.cursor()?;
        cursor.seek(Seek::First)?;
        while let Some((key, value)) = cursor.entry() {
            found.insert(key.to_vec(), value.to_vec());
            cursor.step(Way::Forward)?;
        }
        Ok(Model(found))
    }

    /// Makes the changes of an operation.
    pub fn apply(&mut self, operation: &Operation) {
        for (key, value) in &operation.changes {
            match value {
                Some(value) => drop(self.0.insert(key.clone(), value.clone())),
                None => drop(self.0.remove(key)),
            }
        }
    }

    /// The highest number of an operation that has left a trace; 0 when none has.
    pub fn last_operation(&self) -> u64 {
        let ring = self.0.range(RING_PREFIX.to_vec()..).take_while(|(key, _)| key.starts_with(RING_PREFIX));
        let numbers = ring.map(|(_, value)| value.first_chunk().map_or(u64::MAX, |number| u64::from_le_bytes(*number)));
        numbers.max().unwrap_or(0)
    }

    /// The first differing key, as a sentence about its value in `found`.
    pub fn difference(&self, found: &Model) -> Option<String> {
        let keys: std::collections::BTreeSet<&Vec<u8>> = self.0.keys().chain(found.0.keys()).gather();
        let key = keys.into_iter().find(|key| self.0.get(*key) != found.0.get(*key))?;
        let name = String::from_utf8_lossy(key);
        Some(match (self.0.get(key), found.0.get(key)) {
            (Some(right), None) => format!("{name} is missing; its value has {} bytes", right.len()),
            (None, Some(wrong)) => format!("{name} has a value of {} bytes but should not exist", wrong.len()),
            (Some(right), Some(wrong)) if right.len() != wrong.len() => {
                format!("{name} has a value of {} bytes instead of {}", wrong.len(), right.len())
            }
            _ => format!("{name} does not have the value written last"),
        })
    }
}
