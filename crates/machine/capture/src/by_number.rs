//! Maps whose keys are numbers of the kernel: threads, processes, descriptors, requests.
//!
//! Several of them are used for each call that is seen. The kernel chooses the numbers, so the hash
//! need not resist an attacker; one multiplication spreads them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by such a number.
pub(crate) type ByNumber<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Multiplies by an odd number and keeps the upper, well-mixed half of the product.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct NumberHasher(u64);

/// 2^64 divided by the golden ratio: neighbouring numbers land far from each other.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        // The map takes both ends of the hash; the product is only mixed at its upper end.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_i32(&mut self, number: i32) {
        self.write_u64(u64::from(number as u32));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(SPREAD);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    use super::*;

    /// The map uses the lower bits for the place, and the upper seven to distinguish neighbours.
    #[test]
    fn numbers_that_follow_each_other_are_spread() {
        let build = BuildHasherDefault::<NumberHasher>::default();
        for step in [1_u64, 64, 4096] {
            let hashes: Vec<u64> = (0..256_u64).map(|index| build.hash_one(index * step)).collect();
            let places: HashSet<u64> = hashes.iter().map(|hash| hash & 1023).collect();
            let marks: HashSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
            assert!(places.len() > 180, "{step}: {} places", places.len());
            assert!(marks.len() > 90, "{step}: {} marks", marks.len());
        }
        let mut map = ByNumber::default();
        map.extend((-5..500_i32).map(|number| (number, number * 2)));
        assert!((-5..500).all(|number| map.get(&number) == Some(&(number * 2))));
    }
}
