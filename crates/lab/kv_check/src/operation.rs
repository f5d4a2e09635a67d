//! The operations of a load, each a function of seed, round and number.

use iolab_kv::{Batch, Durability};
use iolab_random::{SplitMix64, mix};

/// The parameters of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Determines everything.
    pub seed: u64,
    /// Different keys.
    pub keys: u64,
    /// Bytes of a value, at most.
    pub value_bytes: u64,
    /// One of this many operations is synced.
    pub sync_every: u64,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { seed: 1, keys: 2000, value_bytes: 400, sync_every: 32 }
    }
}

/// The number of each operation is stored in one of this many keys, used in turn.
const RING: u64 = 64;
/// What those keys begin with.
pub(crate) const RING_PREFIX: &[u8] = b"number/";

/// One operation: changes that take effect at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// From 1 on.
    pub number: u64,
    /// Keys and their new values, or none.
    pub changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Whether it must survive once it is acknowledged.
    pub is_synced: bool,
}

impl Shape {
    /// An operation as written in a round. The same number in another round is a different
    /// operation.
    pub fn operation(&self, round: u64, number: u64) -> Operation {
        let mut random = SplitMix64::new(mix(mix(mix(self.seed) ^ round) ^ number));
        let mut below = |limit: u64| random.below(limit);
        let is_synced = below(self.sync_every) == 0;
        let place = [RING_PREFIX, format!("{:02}", number % RING).as_bytes()].concat();
        let mut changes = vec![(place, Some(number.to_le_bytes().to_vec()))];
        for _ in 0..=below(3) {
            let key = format!("key/{:08}", below(self.keys)).into_bytes();
            let value = (below(5) > 0).then(|| {
                let (length, first) = (below(self.value_bytes + 1), below(256) as u8);
                // Half of it can be compressed.
                (0..length).map(|at| if at % 2 == 0 { first } else { (at.wrapping_mul(number) >> 3) as u8 }).collect()
            });
            changes.push((key, value));
        }
        Operation { number, changes, is_synced }
    }
}

impl Operation {
    /// Puts the changes into a batch, in the place of what it had.
    pub fn put_into(&self, batch: &mut Batch) {
        batch.clear();
        for (key, value) in &self.changes {
            match value {
                Some(value) => batch.put(key, value),
                None => batch.delete(key),
            }
        }
    }

    /// The durability requested from the store.
    pub fn durability(&self) -> Durability {
        if self.is_synced { Durability::Synced } else { Durability::Logged }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_always_the_same_and_rounds_differ() {
        let shape = Shape::default();
        let all: Vec<Operation> = (1..500).map(|number| shape.operation(3, number)).collect();
        assert!(all.iter().all(|operation| shape.operation(3, operation.number) == *operation));
        assert!(all.iter().any(|operation| shape.operation(4, operation.number).changes != operation.changes));
        let synced = all.iter().filter(|operation| operation.is_synced).count();
        assert!((5..40).contains(&synced), "{synced} of 499 synced");
        assert!(all.iter().flat_map(|operation| &operation.changes).any(|(_, value)| value.is_none()));
    }
}
