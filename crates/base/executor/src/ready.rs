//! The list of ready tasks. Wakers add task numbers from any thread, each task at most once.
//!
//! The list is behind a lock and taken as a whole. Nearly all wakers run on the executor's own
//! thread, where an uncontended lock costs less than a queue for several threads.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::task::Wake;

use super::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// The list to which wakers add the numbers of ready tasks.
#[derive(Debug, Default)]
pub(crate) struct Ready(Mutex<Vec<usize>>);

impl Ready {
    /// The list is always consistent, even if a thread that held the lock has panicked.
    fn row(&self) -> MutexGuard<'_, Vec<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The executor's side of the list.
#[derive(Debug)]
pub(crate) struct Queue {
    woken: Arc<Ready>,
    /// Taken from the list, and not yet run.
    first: VecDeque<usize>,
}

impl Queue {
    pub(crate) fn new(woken: &Arc<Ready>) -> Queue {
        Queue { woken: Arc::clone(woken), first: VecDeque::new() }
    }

    /// Moves all numbers to an empty batch.
    pub(crate) fn take(&mut self, batch: &mut Vec<usize>) {
        if self.first.is_empty() {
            std::mem::swap(&mut *self.woken.row(), batch);
            return;
        }
        batch.extend(self.first.drain(..));
        batch.append(&mut self.woken.row());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_empty() && self.woken.row().is_empty()
    }

    /// The tasks that were not run; their tokens still say that they are queued.
    pub(crate) fn put_back(&mut self, ids: impl DoubleEndedIterator<Item = usize>) {
        ids.rev().for_each(|id| self.first.push_front(id));
    }
}

/// The state that all wakers of one task share.
#[derive(Debug)]
pub(crate) struct Token {
    id: usize,
    ready: Arc<Ready>,
    queued: AtomicBool,
}

impl Token {
    pub(crate) fn new(id: usize, ready: &Arc<Ready>) -> Arc<Token> {
        Arc::new(Token { id, ready: Arc::clone(ready), queued: AtomicBool::new(false) })
    }

    /// Notes that the task is about to be polled. From now on, waking it queues it again.
    pub(crate) fn seen(&self) {
        // A swap, because the poll that follows must see the writes of wakers that found the task
        // already queued. With a store, the reads of the poll could move before it, and such a
        // wake-up would be lost.
        self.queued.swap(false, Ordering::AcqRel);
    }
}

impl Wake for Token {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.ready.row().push(self.id);
        }
    }
}
