//! Who is ready: a lock-free queue of task numbers that wakers fill, from any thread, each task at most once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Wake;

/// Where wakers put numbers of ready tasks.
#[derive(Debug)]
pub(crate) struct Ready(Sender<usize>);

/// Where the executor takes them.
#[derive(Debug)]
pub(crate) struct Queue {
    woken: Receiver<usize>,
    /// Taken before, and still to have their turn.
    first: VecDeque<usize>,
}

impl Ready {
    pub(crate) fn new() -> (Arc<Ready>, Queue) {
        let (sender, woken) = channel();
        (Arc::new(Ready(sender)), Queue { woken, first: VecDeque::new() })
    }

    fn push(&self, id: usize) {
        // An executor that is gone polls nobody.
        let _gone = self.0.send(id);
    }
}

impl Queue {
    pub(crate) fn take(&mut self, batch: &mut Vec<usize>) {
        batch.extend(self.first.drain(..).chain(self.woken.try_iter()));
    }

    pub(crate) fn is_empty(&mut self) -> bool {
        self.first.extend(self.woken.try_iter());
        self.first.is_empty()
    }

    /// Those whose turn did not come; their tokens still say that they are queued.
    pub(crate) fn put_back(&mut self, ids: impl DoubleEndedIterator<Item = usize>) {
        ids.rev().for_each(|id| self.first.push_front(id));
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
