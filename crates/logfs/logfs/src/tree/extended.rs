//! The extended attributes of an inode (xattr(7)). An empty map takes no memory of its own.

use std::collections::BTreeMap;

/// Bytes of an attribute in a checkpoint in addition to its name and value.
const HEAD_BYTES: u64 = 16;

/// Bytes of one attribute in a checkpoint.
pub(crate) fn cost_bytes(name: &[u8], value: &[u8]) -> u64 {
    HEAD_BYTES + (name.len() + value.len()) as u64
}

/// Names and values.
#[derive(Debug, Default)]
pub(crate) struct Extended(BTreeMap<Vec<u8>, Vec<u8>>);

impl Extended {
    pub(crate) fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// In the order of the names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(name, value)| (&name[..], &value[..]))
    }

    pub(super) fn set(&mut self, name: &[u8], value: &[u8]) {
        self.0.insert(name.to_vec(), value.to_vec());
    }

    pub(super) fn remove(&mut self, name: &[u8]) {
        self.0.remove(name);
    }

    pub(crate) fn cost_bytes(&self) -> u64 {
        self.iter().map(|(name, value)| cost_bytes(name, value)).sum()
    }
}
