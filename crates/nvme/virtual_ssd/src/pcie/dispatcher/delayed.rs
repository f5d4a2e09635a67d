//! Completions of executed commands, kept until they are due.
//!
//! Guarantees: the earliest comes first; among those with the same time, the one added first. The
//! cost of adding and taking grows with the logarithm of their number, and nothing is allocated
//! once the queue has grown. Commands that are never completed have the latest time, and can still
//! be aborted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::controller_record::Answer;
use crate::fault::FaultKind;

/// A completion that is not due, or whose data is still being copied.
#[derive(Debug, Clone, Copy)]
pub(super) struct DelayedCompletion {
    /// The index of its submission queue.
    pub(super) queue: u32,
    pub(super) cid: u16,
    pub(super) answer: Answer,
    pub(super) fault: Option<FaultKind>,
    /// Whether a copier is copying its data.
    pub(super) is_copying: bool,
    /// Whether it became due while its data was being copied.
    pub(super) is_due: bool,
}

impl DelayedCompletion {
    #[inline]
    pub(super) fn new(queue: usize, cid: u16, answer: Answer, fault: Option<FaultKind>) -> DelayedCompletion {
        DelayedCompletion { queue: queue as u32, cid, answer, fault, is_copying: false, is_due: false }
    }
}

/// Bits of a key for the index of a command; the bits between them and the time count arrivals.
const PLACE_BITS: u32 = 24;

/// Makes a key: the time in the upper bits, then the order of arrival. Comparing two numbers orders
/// them.
#[inline]
fn key(at_ns: u64, arrival: u64, place: u32) -> u128 {
    u128::from(at_ns) << 64 | u128::from(arrival << PLACE_BITS) | u128::from(place)
}

/// Time and place of a key.
#[inline]
fn parts(key: u128) -> (u64, usize) {
    ((key >> 64) as u64, key as usize & ((1 << PLACE_BITS) - 1))
}

/// All delayed completions, by time.
#[derive(Debug, Default)]
pub(super) struct DelayQueue {
    /// Time, order of arrival and place in `slots`, see [`key`].
    due: BinaryHeap<Reverse<u128>>,
    slots: Vec<Option<DelayedCompletion>>,
    free: Vec<u32>,
    arrivals: u64,
}

impl DelayQueue {
    #[inline]
    pub(super) fn delay(&mut self, at_ns: u64, delayed: DelayedCompletion) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(delayed);
                slot
            }
            None => {
                self.slots.push(Some(delayed));
                self.slots.len() as u32 - 1
            }
        };
        self.arrivals += 1;
        self.due.push(Reverse(key(at_ns, self.arrivals, slot)));
        slot
    }

    /// When the next one is due.
    #[inline]
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.due.peek().map(|Reverse(key)| parts(*key).0).filter(|at_ns| *at_ns != u64::MAX)
    }

    /// Whether one is due.
    #[inline(always)]
    pub(super) fn has_due(&self, now_ns: u64) -> bool {
        self.due.peek().is_some_and(|Reverse(key)| parts(*key).0 <= now_ns)
    }

    /// Takes one that is due.
    #[inline]
    pub(super) fn take_due(&mut self, now_ns: u64) -> Option<DelayedCompletion> {
        while let Some(Reverse(key)) = self.due.peek() {
            let (at_ns, slot) = parts(*key);
            if at_ns > now_ns || at_ns == u64::MAX {
                return None;
            }
            self.due.pop();
            if let Some(delayed) = &mut self.slots[slot]
                && delayed.is_copying
            {
                // The place is freed when the copy is done.
                delayed.is_due = true;
                continue;
            }
            self.free.push(slot as u32);
            // The place is empty if the command was aborted.
            if let Some(delayed) = self.slots[slot].take() {
                return Some(delayed);
            }
        }
        None
    }

    /// A completion whose data is being copied.
    pub(super) fn get(&self, ticket: u32) -> Option<DelayedCompletion> {
        self.slots.get(ticket as usize).copied().flatten()
    }

    /// Puts back a completion whose copy is done; `true` if it is already due and is therefore
    /// removed.
    pub(super) fn put_back(&mut self, ticket: u32, delayed: DelayedCompletion) -> bool {
        let slot = &mut self.slots[ticket as usize];
        *slot = (!delayed.is_due).then_some(delayed);
        if delayed.is_due {
            self.free.push(ticket);
        }
        delayed.is_due
    }

    /// Takes the first matching completion before its turn; its place is freed at its original
    /// time.
    pub(super) fn take_if(&mut self, is_meant: impl Fn(&DelayedCompletion) -> bool) -> Option<DelayedCompletion> {
        let slot = self.slots.iter_mut().find(|slot| slot.as_ref().is_some_and(&is_meant))?;
        slot.take()
    }

    /// Removes all completions.
    pub(super) fn clear(&mut self) {
        *self = DelayQueue::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delayed(cid: u16) -> DelayedCompletion {
        DelayedCompletion::new(0, cid, Answer::success(0), None)
    }

    #[test]
    fn the_earliest_comes_first_and_never_never() {
        let mut queue = DelayQueue::default();
        for (at_ns, cid) in [(30, 1), (10, 2), (u64::MAX, 3), (30, 4), (20, 5)] {
            queue.delay(at_ns, delayed(cid));
        }
        assert_eq!(queue.next_ns(), Some(10));
        assert!(queue.take_due(9).is_none());
        assert_eq!(queue.take_if(|one| one.cid == 5).unwrap().cid, 5);
        assert!(queue.take_if(|one| one.cid == 5).is_none());
        let taken: Vec<u16> = std::iter::from_fn(|| queue.take_due(u64::MAX)).map(|one| one.cid).collect();
        assert_eq!(taken, [2, 1, 4]);
        assert_eq!(queue.next_ns(), None);
        assert_eq!(queue.take_if(|one| one.cid == 3).unwrap().cid, 3);
    }

    #[test]
    fn places_are_used_again() {
        let mut queue = DelayQueue::default();
        for round in 0..100 {
            queue.delay(round, delayed(0));
            queue.delay(round, delayed(1));
            assert!(queue.take_due(round).is_some() && queue.take_due(round).is_some());
        }
        assert_eq!(queue.slots.len(), 2);
    }
}
