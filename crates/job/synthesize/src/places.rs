//! Offsets of transfers: after the last one, over its tail again, at the same place, or elsewhere;
//! and the share of the hottest blocks.

use std::collections::{BTreeMap, HashMap};

use iolab_order::Arrange;

use crate::Proportion;

/// Largest number of distinct blocks counted; later ones count as cold.
const MOST_BLOCKS: usize = 1 << 20;
/// Average accesses per block needed to distinguish a hot set from chance.
const LEAST_PER_BLOCK: u64 = 3;

/// Offsets of the transfers of one direction.
#[derive(Debug, Default, Clone)]
pub struct Places {
    /// Where the last transfer began and ended, by file.
    last: HashMap<u32, (u64, u64)>,
    /// Transfers that have a predecessor in their file.
    pub followers: u64,
    /// Those that begin where the last one ended.
    pub onward: u64,
    /// Those that begin within the last one: its tail is written again.
    pub tail: u64,
    /// Those that begin where the last one, of one block, began.
    pub again: u64,
    /// Bytes of the tail, by count.
    tails: BTreeMap<u64, u64>,
    blocks: HashMap<(u32, u64), u64>,
    uncounted: u64,
}

/// The distribution of accesses over the touched blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HotSet {
    /// Share of the accesses that goes to the hottest tenth of the blocks.
    pub tenth: Proportion,
    /// Distinct blocks.
    pub blocks: u64,
}

impl Places {
    /// Adds a transfer; `block` is the unit in which the hot set is counted.
    pub(crate) fn add(&mut self, file: u32, offset: u64, bytes: u64, block: u64) {
        let end = offset + bytes;
        if let Some((begin, last_end)) = self.last.insert(file, (offset, end)) {
            self.followers += 1;
            if offset == last_end && bytes > 0 {
                self.onward += 1;
            } else if begin <= offset && offset < last_end {
                self.tail += 1;
                self.again += u64::from(offset == begin);
                *self.tails.entry(last_end - offset).or_default() += 1;
            }
        }
        let key = (file, offset / block.max(1));
        if let Some(count) = self.blocks.get_mut(&key) {
            *count += 1;
        } else if self.blocks.len() < MOST_BLOCKS {
            self.blocks.insert(key, 1);
        } else {
            self.uncounted += 1;
        }
    }

    /// Share of one of the counts.
    pub fn share(&self, count: u64) -> Proportion {
        Proportion { count, of: self.followers }
    }

    /// The usual length of a tail, bytes.
    pub fn usual_tail(&self) -> Option<u64> {
        self.tails.iter().max_by_key(|(_, count)| **count).map(|(bytes, _)| *bytes)
    }

    /// The hot set; `None` if blocks were touched too rarely to distinguish it from chance.
    pub fn hot_set(&self) -> Option<HotSet> {
        let blocks = self.blocks.len() as u64;
        let all: u64 = self.blocks.values().sum::<u64>() + self.uncounted;
        if blocks < 20 || all < blocks * LEAST_PER_BLOCK {
            return None;
        }
        let mut counts: Vec<u64> = self.blocks.values().copied().collect();
        counts.arrange_by(|a, b| b.cmp(a));
        let count = counts.iter().take(counts.len().div_ceil(10)).sum();
        Some(HotSet { tenth: Proportion { count, of: all }, blocks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_whose_last_page_is_written_again() {
        let mut places = Places::default();
        // Pages 0, 0, 0+1, 1, 1+2, 2: every write begins with the last page of the preceding one.
        for (offset, bytes) in [(0, 8), (0, 8), (0, 16), (8, 8), (8, 16), (16, 8)] {
            places.add(0, offset, bytes, 8);
        }
        assert_eq!((places.followers, places.onward, places.tail, places.again), (5, 0, 5, 3));
        assert_eq!(places.usual_tail(), Some(8));
    }

    #[test]
    fn a_hot_tenth_is_told_from_even_use_and_from_too_little() {
        let mut even = Places::default();
        let mut hot = Places::default();
        for round in 0..100_u64 {
            (0..100).for_each(|block| even.add(0, block * 4096, 4096, 4096));
            (0..100).for_each(|turn| {
                let block = if turn % 10 == 0 { (turn + round) % 100 } else { turn % 10 };
                hot.add(0, block * 4096, 4096, 4096);
            });
        }
        assert!((even.hot_set().unwrap().tenth.value() - 0.1).abs() < 0.01);
        assert!(hot.hot_set().unwrap().tenth.value() > 0.85);
        let mut few = Places::default();
        (0..100).for_each(|block| few.add(0, block * 4096, 4096, 4096));
        assert_eq!(few.hot_set(), None);
    }
}
