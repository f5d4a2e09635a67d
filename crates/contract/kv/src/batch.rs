//! Several changes that take effect at once.

/// One change of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// Sets the value of this key.
    Put(&'a [u8], &'a [u8]),
    /// Removes the value of this key.
    Delete(&'a [u8]),
}

/// Changes in their order, in one piece of memory that is used again after [`Batch::clear`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Lengths of key and value in `bytes`; a deletion has no value.
    lengths: Vec<(usize, Option<usize>)>,
}

impl Batch {
    /// No change.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Appends a put.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.lengths.push((key.len(), Some(value.len())));
    }

    /// Appends a deletion.
    pub fn delete(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.lengths.push((key.len(), None));
    }

    /// Discards all changes, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
    }

    /// How many changes.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether it has no change.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// The changes, in their order.
    pub fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        let mut rest = self.bytes.as_slice();
        self.lengths.iter().map(move |(key_length, value_length)| {
            let (key, after) = rest.split_at(*key_length);
            let (value, after) = after.split_at(value_length.unwrap_or(0));
            rest = after;
            if value_length.is_some() { Change::Put(key, value) } else { Change::Delete(key) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_back_in_their_order() {
        let mut batch = Batch::new();
        assert!(batch.is_empty());
        batch.put(b"a", b"1");
        batch.delete(b"bb");
        batch.put(b"", b"");
        assert_eq!(
            batch.changes().collect::<Vec<_>>(),
            [Change::Put(b"a", b"1"), Change::Delete(b"bb"), Change::Put(b"", b"")]
        );
        assert_eq!(batch.len(), 3);
        batch.clear();
        assert_eq!(batch.changes().count(), 0);
    }
}
