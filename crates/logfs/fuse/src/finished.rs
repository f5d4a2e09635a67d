//! Replies of tasks, queued for the transport.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::payloads::Transfer;
use crate::server::Answer;

/// A reply and the slot it belongs to.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) slot: u16,
    pub(crate) unique: u64,
    pub(crate) result: TaskResult,
}

/// The result of a task.
#[derive(Debug)]
pub(crate) enum TaskResult {
    Answer(Answer),
    Transfer(Transfer),
}

/// Replies in the order in which they were completed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbox(Rc<RefCell<VecDeque<Finished>>>);

impl Outbox {
    pub(crate) fn put(&self, finished: Finished) {
        self.0.borrow_mut().push_back(finished);
    }

    pub(crate) fn take(&self) -> Option<Finished> {
        self.0.borrow_mut().pop_front()
    }
}
