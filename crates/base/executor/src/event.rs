//! An event that happens repeatedly, and the tasks that wait for it.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::task::{Context, Poll, Waker};

/// Wakes all waiting tasks when the event happens. Tasks that come later are not told about earlier
/// events, so they check the state first.
#[derive(Debug, Default)]
pub struct Notify {
    waiting: RefCell<Vec<Waker>>,
    times: Cell<u64>,
}

impl Notify {
    /// Reports that the event has happened.
    pub fn notify(&self) {
        self.times.set(self.times.get() + 1);
        for waker in self.waiting.take() {
            waker.wake();
        }
    }

    /// Waits for the next time the event happens.
    pub fn pass(&self) -> impl Future<Output = ()> {
        let seen = self.times.get();
        self.until(move |event| (event.times.get() != seen).then_some(()))
    }

    /// Waits until `look` returns a value. It is called at once, and again after each event.
    pub fn until<T>(&self, mut look: impl FnMut(&Notify) -> Option<T>) -> impl Future<Output = T> {
        poll_fn(move |context| match look(self) {
            Some(found) => Poll::Ready(found),
            None => {
                self.enlist(context);
                Poll::Pending
            }
        })
    }

    pub(crate) fn enlist(&self, context: &Context<'_>) {
        let mut waiting = self.waiting.borrow_mut();
        if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            waiting.push(context.waker().clone());
        }
    }
}
