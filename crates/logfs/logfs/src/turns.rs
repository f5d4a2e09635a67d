//! Turns of operations that wait for the log, in the order in which they came.
//!
//! Whoever waits is woken together with all others. Without turns, who comes back soonest with the
//! next operation would take what little room there is again and again, and the others would wait
//! for as long as it stays little: for a whole checkpoint.

use std::cell::RefCell;
use std::collections::BTreeSet;

use iolab_executor::Notify;

/// Who waits, by numbers that count up.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    waiting: RefCell<BTreeSet<u64>>,
    last: std::cell::Cell<u64>,
}

/// A place among those who wait; given up when it is dropped, so that nobody waits behind an
/// operation that was abandoned.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    progress: &'a Notify,
    number: u64,
}

impl Turns {
    /// The last place.
    pub(crate) fn take<'a>(&'a self, progress: &'a Notify) -> Turn<'a> {
        let number = self.last.get() + 1;
        self.last.set(number);
        self.waiting.borrow_mut().insert(number);
        Turn { turns: self, progress, number }
    }

    /// Whether nobody has to go before: before who has this place, or before a newcomer.
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
