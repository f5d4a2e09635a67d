//! Stable sorting in one copy of machine code, and sorted maps and sets without sorting.
//!
//! The standard library's sort is compiled again for each type and each comparison: some 7 KB of
//! code for each call, of which this program has more than a hundred. Here, one copy of that code
//! sorts the indices and calls the comparison through a pointer; then the elements are moved to
//! their places. That costs an allocation of 8 bytes for each element and a call for each
//! comparison. So code on the path of operations, and whatever sorts millions of elements, uses the
//! standard library.

use std::cmp::Ordering;

/// Stable sorting of lists that are short or rarely sorted.
pub trait Arrange<T> {
    /// As [`slice::sort`].
    fn arrange(&mut self)
    where
        T: Ord;

    /// As [`slice::sort_by`].
    fn arrange_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// As [`slice::sort_by_key`].
    fn arrange_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

/// Collecting into sorted maps and sets.
pub trait Gather: Iterator + Sized {
    /// As [`Iterator::collect`], which would sort all items first if this is a map or a set of the
    /// standard library. Here, they are inserted one by one.
    fn gather<C: Default + Extend<Self::Item>>(self) -> C {
        let mut all = C::default();
        all.extend(self);
        all
    }
}

impl<I: Iterator> Gather for I {}

impl<T> Arrange<T> for [T] {
    fn arrange(&mut self)
    where
        T: Ord,
    {
        let mut places = order(self.len(), &mut |one, other| self[one].cmp(&self[other]));
        move_to(self, &mut places);
    }

    fn arrange_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let mut places = order(self.len(), &mut |one, other| compare(&self[one], &self[other]));
        move_to(self, &mut places);
    }

    fn arrange_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        let mut places = order(self.len(), &mut |one, other| key(&self[one]).cmp(&key(&self[other])));
        move_to(self, &mut places);
    }
}

/// The indices below `length` in the order of what they stand for.
#[inline(never)]
fn order(length: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..length).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

/// Puts the element that was at `places[i]` at index `i`, for all `i`, cycle by cycle.
fn move_to<T>(items: &mut [T], places: &mut [usize]) {
    for start in 0..places.len() {
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut places[at], at);
            if from == start {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::{Arrange, Gather};

    proptest! {
        #[test]
        fn gathering_is_collecting(items in prop::collection::vec((0..20_u8, 0..9_u8), 0..60)) {
            let gathered: BTreeMap<u8, u8> = items.iter().copied().gather();
            prop_assert_eq!(gathered, items.iter().copied().collect::<BTreeMap<u8, u8>>());
            let gathered: BTreeSet<(u8, u8)> = items.iter().copied().gather();
            prop_assert_eq!(gathered, items.into_iter().collect::<BTreeSet<(u8, u8)>>());
        }

        #[test]
        fn arranging_is_stable_sorting(keys in prop::collection::vec(0..20_u8, 0..200)) {
            let mut ours: Vec<(u8, usize)> = keys.iter().copied().zip(0..).collect();
            let (mut by, mut all) = (ours.clone(), ours.clone());
            let mut expected = ours.clone();
            expected.sort_by_key(|(key, _)| *key);
            ours.arrange_by_key(|(key, _)| *key);
            prop_assert_eq!(&ours, &expected);
            by.arrange_by(|one, other| one.0.cmp(&other.0));
            prop_assert_eq!(&by, &expected);
            all.reverse();
            all.arrange();
            prop_assert_eq!(&all, &expected);
        }
    }
}
