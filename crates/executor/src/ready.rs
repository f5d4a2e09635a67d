//! Who is ready: a queue of task numbers that wakers fill, from any thread, each task at most once.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Wake;

/// Numbers of ready tasks.
#[derive(Debug, Default)]
pub(crate) struct Ready(Mutex<VecDeque<usize>>);

impl Ready {
    pub(crate) fn take(&self, batch: &mut Vec<usize>) {
        batch.extend(self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Those whose turn did not come; their tokens still say that they are queued.
    pub(crate) fn put_back(&self, ids: impl DoubleEndedIterator<Item = usize>) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ids.rev().for_each(|id| queue.push_front(id));
    }

    fn push(&self, id: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(id);
    }
}

/// What the wakers of one task hold.
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

    /// The task is about to be polled: from now on waking it queues it again.
    pub(crate) fn seen(&self) {
        self.queued.store(false, Ordering::Release);
    }
}

impl Wake for Token {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.ready.push(self.id);
        }
    }
}
