//! Finished operations that wait for `reap`: the queue of lanes that complete operations
//! themselves.
//!
//! It never allocates after `with_depth` and returns operations in the order in which they
//! finished. It keeps no clock and knows nothing of operations still in progress.

use crate::{Completion, Completions, Submission};

/// Completions, oldest first.
///
/// Lanes are nearly always emptied at once, so this is a plain array instead of a ring: when the
/// array is used up, the rest moves to the beginning.
#[derive(Debug)]
pub struct CompletionRow {
    row: Box<[Completion]>,
    front: usize,
    end: usize,
}

impl CompletionRow {
    /// Room for `depth` completions (at least one).
    pub fn with_depth(depth: usize) -> CompletionRow {
        let nothing = Completion { slot: 0, result: 0 };
        CompletionRow { row: vec![nothing; depth.max(1)].into_boxed_slice(), front: 0, end: 0 }
    }

    /// How many wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.front
    }

    /// Whether none wait.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.end == self.front
    }

    /// Whether it is full: a lane then answers `Full`.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len() >= self.row.len()
    }

    /// Adds one; the caller has checked `is_full`.
    #[inline]
    pub fn push(&mut self, completion: Completion) {
        let added = self.offer(completion);
        debug_assert!(added, "more operations finished than the lane was opened for");
    }

    /// Adds one unless it is full; returns whether it did.
    #[inline(always)]
    pub fn offer(&mut self, completion: Completion) -> bool {
        if let Some(place) = self.row.get_mut(self.end) {
            *place = completion;
            self.end += 1;
            return true;
        }
        self.offer_after_moving(completion)
    }

    #[cold]
    #[inline(never)]
    fn offer_after_moving(&mut self, completion: Completion) -> bool {
        if self.front == 0 {
            return false;
        }
        self.row.copy_within(self.front..self.end, 0);
        self.end -= self.front;
        self.front = 0;
        self.row[self.end] = completion;
        self.end += 1;
        true
    }

    /// Stores the result of the operation of a slot, and returns the answer of `submit`.
    #[inline(always)]
    pub fn take(&mut self, slot: u16, outcome: Result<i32, i32>) -> Submission {
        match outcome {
            Ok(result) => {
                self.push(Completion { slot: u32::from(slot), result });
                Submission::Accepted
            }
            Err(errno) => Submission::Refused(errno),
        }
    }

    /// Moves as many as `out` has room for, and returns their number.
    #[inline(always)]
    pub fn drain_into(&mut self, out: &mut Completions) -> usize {
        let count = out.extend(&self.row[self.front..self.end]);
        self.front += count;
        if self.front == self.end {
            self.front = 0;
            self.end = 0;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_come_out_in_order_and_only_as_many_as_fit() {
        let mut finished = CompletionRow::with_depth(3);
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
        let mut finished = CompletionRow::with_depth(0);
        assert!(finished.is_empty() && !finished.is_full());
        finished.push(Completion { slot: 9, result: -5 });
        assert!(finished.is_full());
    }
}
