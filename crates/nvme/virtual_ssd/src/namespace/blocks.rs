//! A set of blocks, stored as ranges that do not touch.
//!
//! Guarantees: the cost of an operation depends on the number of ranges that it meets, not of their
//! blocks.

use std::collections::BTreeMap;

/// Ranges of blocks: start to end (exclusive).
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct RangeSet {
    ranges: BTreeMap<u64, u64>,
}

impl RangeSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The first block of the set within a range.
    pub(crate) fn first_within(&self, start: u64, count: u64) -> Option<u64> {
        let end = start.saturating_add(count);
        if let Some((_, before_end)) = self.ranges.range(..=start).next_back()
            && *before_end > start
            && count > 0
        {
            return Some(start);
        }
        self.ranges.range(start..end).next().map(|(first, _)| *first)
    }

    /// Adds a range.
    pub(crate) fn insert(&mut self, start: u64, count: u64) {
        if count == 0 {
            return;
        }
        let (mut start, mut end) = (start, start.saturating_add(count));
        while let Some((&other, &other_end)) = self.ranges.range(..=end).next_back() {
            if other_end < start {
                break;
            }
            self.ranges.remove(&other);
            start = start.min(other);
            end = end.max(other_end);
        }
        self.ranges.insert(start, end);
    }

    /// Removes a range.
    pub(crate) fn remove(&mut self, start: u64, count: u64) {
        let end = start.saturating_add(count);
        while let Some((&other, &other_end)) = self.ranges.range(..end).next_back() {
            if other_end <= start {
                break;
            }
            self.ranges.remove(&other);
            if other_end > end {
                self.ranges.insert(end, other_end);
            }
            if other < start {
                self.ranges.insert(other, start);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    proptest::proptest! {
        #[test]
        fn it_is_a_set_of_blocks(steps in proptest::collection::vec((0u64..60, 0u64..12, proptest::bool::ANY), 0..60)) {
            let mut ranges = RangeSet::default();
            let mut blocks = BTreeSet::new();
            for (start, count, add) in steps {
                if add {
                    ranges.insert(start, count);
                    blocks.extend(start..start + count);
                } else {
                    ranges.remove(start, count);
                    blocks.retain(|block| !(start..start + count).contains(block));
                }
                proptest::prop_assert_eq!(ranges.is_empty(), blocks.is_empty());
                for from in 0..75 {
                    let expected = blocks.range(from..from + 5).next().copied();
                    proptest::prop_assert_eq!(ranges.first_within(from, 5), expected);
                }
            }
        }
    }
}
