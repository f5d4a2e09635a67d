//! Starting tasks, and waiting for their results.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::Notify;
use crate::ready::Ready;

pub(crate) type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Starts tasks on one executor. It is cheap to clone.
#[derive(Clone)]
pub struct Spawner {
    inbox: Rc<RefCell<Vec<Task>>>,
    /// Keeps the queue alive for wakers made through this spawner's tasks.
    _ready: Arc<Ready>,
}

impl std::fmt::Debug for Spawner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Spawner")
    }
}

impl Spawner {
    pub(crate) fn new(inbox: Rc<RefCell<Vec<Task>>>, ready: Arc<Ready>) -> Spawner {
        Spawner { inbox, _ready: ready }
    }

    /// Starts a task. The task continues when the returned value is dropped.
    pub fn spawn<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> Joined<T> {
        let shared = Rc::new(Shared { result: Cell::new(None), ended: Notify::default() });
        let ending = Rc::clone(&shared);
        self.start(async move {
            ending.result.set(Some(future.await));
            ending.ended.notify();
        });
        Joined { shared }
    }

    /// Starts a task whose end nobody waits for. Takes half the memory of [`Spawner::spawn`], whose
    /// task has room for the future twice: where it was passed, and where it is polled.
    pub fn start(&self, task: impl Future<Output = ()> + 'static) {
        self.inbox.borrow_mut().push(Box::pin(task));
    }
}

struct Shared<T> {
    result: Cell<Option<T>>,
    ended: Notify,
}

/// A future that returns the result of a task, once.
pub struct Joined<T> {
    shared: Rc<Shared<T>>,
}

impl<T> std::fmt::Debug for Joined<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Joined")
    }
}

impl<T> Future for Joined<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if let Some(result) = self.shared.result.take() {
            return Poll::Ready(result);
        }
        self.shared.ended.enlist(context);
        Poll::Pending
    }
}
