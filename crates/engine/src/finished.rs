//! Finished operations that wait for `reap`: the ring behind lanes that complete an operation by themselves.
//!
//! It never allocates after `with_depth` and hands operations out in the order in which they finished.
//! It keeps no clock and knows nothing of operations still on their way.

use crate::{Completion, Completions};

/// A fixed ring of completions, oldest first.
#[derive(Debug)]
pub struct Finished {
    ring: Box<[Completion]>,
    depth: usize,
    /// Both counters only grow; the ring's length is a power of two, so their low bits are the positions.
    taken: usize,
    added: usize,
}

impl Finished {
    /// Room for `depth` completions (at least one).
    pub fn with_depth(depth: usize) -> Finished {
        let depth = depth.max(1);
        let nothing = Completion { slot: 0, result: 0 };
        Finished { ring: vec![nothing; depth.next_power_of_two()].into_boxed_slice(), depth, taken: 0, added: 0 }
    }

    /// How many wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.added.wrapping_sub(self.taken)
    }

    /// Whether none wait.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.added == self.taken
    }

    /// Whether as many wait as the depth allows: a lane then answers `Full`.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len() >= self.depth
    }

    /// Adds one; the caller has checked `is_full`.
    #[inline]
    pub fn push(&mut self, completion: Completion) {
        debug_assert!(!self.is_full(), "more operations finished than the lane was opened for");
        let mask = self.ring.len() - 1;
        self.ring[self.added & mask] = completion;
        self.added = self.added.wrapping_add(1);
    }

    /// Moves as many as `out` has room for and returns how many those were.
    #[inline]
    pub fn drain_into(&mut self, out: &mut Completions) -> usize {
        let count = self.len().min(out.room_left());
        let mask = self.ring.len() - 1;
        for position in 0..count {
            out.push(self.ring[self.taken.wrapping_add(position) & mask]);
        }
        self.taken = self.taken.wrapping_add(count);
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_come_out_in_order_and_only_as_many_as_fit() {
        let mut finished = Finished::with_depth(3);
        let mut next = 0;
        let mut seen = Vec::new();
        for _ in 0..5 {
            while !finished.is_full() {
                finished.push(Completion { slot: next, result: next as i32 });
                next += 1;
            }
            assert_eq!(finished.len(), 3);
            let mut out = Completions::with_room(2);
            assert_eq!(finished.drain_into(&mut out), 2);
            assert_eq!(finished.drain_into(&mut out), 0);
            seen.extend(out.as_slice().iter().map(|completion| completion.slot));
        }
        assert_eq!(seen, (0..10).collect::<Vec<u32>>());
        assert!(!finished.is_empty());
    }

    #[test]
    fn a_depth_of_nothing_still_holds_one() {
        let mut finished = Finished::with_depth(0);
        assert!(finished.is_empty() && !finished.is_full());
        finished.push(Completion { slot: 9, result: -5 });
        assert!(finished.is_full());
    }
}
