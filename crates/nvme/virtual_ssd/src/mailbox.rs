//! Messages from one thread to another, for rare events: new queues, resets, notifications.
//!
//! Guarantees: checking an empty mailbox is one load. A mailbox cannot be waited for; the reader
//! polls it.

use std::collections::VecDeque;
use std::sync::PoisonError;

use crate::sync::{AtomicBool, Mutex, Ordering};

/// A queue of messages.
#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    waiting: AtomicBool,
    messages: Mutex<VecDeque<T>>,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Mailbox<T> {
        Mailbox { waiting: AtomicBool::new(false), messages: Mutex::new(VecDeque::new()) }
    }
}

impl<T> Mailbox<T> {
    /// Adds a message.
    pub(crate) fn send(&self, message: T) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        messages.push_back(message);
        self.waiting.store(true, Ordering::Release);
    }

    /// Whether there is a message.
    #[inline]
    pub(crate) fn has_messages(&self) -> bool {
        self.waiting.load(Ordering::Acquire)
    }

    /// Takes the oldest message.
    #[inline]
    pub(crate) fn take(&self) -> Option<T> {
        if !self.has_messages() {
            return None;
        }
        self.take_locked()
    }

    #[cold]
    fn take_locked(&self) -> Option<T> {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let message = messages.pop_front();
        self.waiting.store(!messages.is_empty(), Ordering::Release);
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::model;

    #[test]
    fn messages_arrive_in_order_and_once() {
        model(|| {
            let mailbox = Mailbox::default();
            assert_eq!(mailbox.take(), None);
            mailbox.send(1);
            mailbox.send(2);
            assert!(mailbox.has_messages());
            assert_eq!((mailbox.take(), mailbox.take(), mailbox.take()), (Some(1), Some(2), None));
            assert!(!mailbox.has_messages());
        });
    }
}
