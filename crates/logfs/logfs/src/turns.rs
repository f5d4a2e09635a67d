//! Turns of operations that wait for the log, in order of arrival.
//!
//! A notification wakes all waiting operations. Without turns, the task that comes back first with
//! its next operation would take the little room there is again and again, and the others would
//! wait for as long as room is short: for a whole checkpoint.

use std::cell::RefCell;
use std::collections::BTreeSet;

use iolab_executor::Notify;

/// The waiting operations, by increasing numbers.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    waiting: RefCell<BTreeSet<u64>>,
    last: std::cell::Cell<u64>,
}

/// A place in the queue. Dropping it gives it up, so that no operation waits behind an abandoned
/// one.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    progress: &'a Notify,
    number: u64,
}

impl Turns {
    /// Takes the last place.
    pub(crate) fn take<'a>(&'a self, progress: &'a Notify) -> Turn<'a> {
        let number = self.last.get() + 1;
        self.last.set(number);
        self.waiting.borrow_mut().insert(number);
        Turn { turns: self, progress, number }
    }

    /// Whether no other operation goes first: before the holder of this place, or before a
    /// newcomer.
    pub(crate) fn is_next(&self, turn: Option<&Turn<'_>>) -> bool {
        let first = self.waiting.borrow().first().copied();
        first.is_none_or(|first| turn.is_some_and(|turn| turn.number == first))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut waiting = self.turns.waiting.borrow_mut();
        waiting.remove(&self.number);
        if !waiting.is_empty() {
            self.progress.notify();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_in_the_order_of_coming_whoever_gives_up() {
        let (turns, progress) = (Turns::default(), Notify::default());
        assert!(turns.is_next(None));
        let [first, second, third] = [(); 3].map(|()| turns.take(&progress));
        assert!(turns.is_next(Some(&first)) && !turns.is_next(Some(&second)) && !turns.is_next(None));
        drop(second);
        assert!(!turns.is_next(Some(&third)));
        drop(first);
        assert!(turns.is_next(Some(&third)) && !turns.is_next(None));
        drop(third);
        assert!(turns.is_next(None));
    }
}
