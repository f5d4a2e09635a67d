//! Letters from one thread to another, for what happens rarely: new queues, resets, events.
//!
//! Guarantees: looking into an empty box is one load. Deliberately not here: waiting; whoever reads a box polls it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// A queue of letters.
#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    waiting: AtomicBool,
    letters: Mutex<VecDeque<T>>,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Mailbox<T> {
        Mailbox { waiting: AtomicBool::new(false), letters: Mutex::new(VecDeque::new()) }
    }
}

impl<T> Mailbox<T> {
    /// Puts a letter in.
    pub(crate) fn send(&self, letter: T) {
        let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        letters.push_back(letter);
        self.waiting.store(true, Ordering::Release);
    }

    /// Whether a letter waits.
    #[inline]
    pub(crate) fn has_mail(&self) -> bool {
        self.waiting.load(Ordering::Acquire)
    }

    /// Takes the oldest letter.
    #[inline]
    pub(crate) fn take(&self) -> Option<T> {
        if !self.has_mail() {
            return None;
        }
        self.take_locked()
    }

    #[cold]
    fn take_locked(&self) -> Option<T> {
        let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        let letter = letters.pop_front();
        self.waiting.store(!letters.is_empty(), Ordering::Release);
        letter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_arrive_in_order_and_once() {
        let mailbox = Mailbox::default();
        assert_eq!(mailbox.take(), None);
        mailbox.send(1);
        mailbox.send(2);
        assert!(mailbox.has_mail());
        assert_eq!((mailbox.take(), mailbox.take(), mailbox.take()), (Some(1), Some(2), None));
        assert!(!mailbox.has_mail());
    }
}
