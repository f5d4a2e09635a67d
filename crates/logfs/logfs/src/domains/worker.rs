//! The state of one core: the domains it serves, its copy of the root directory, and its messages.
//!
//! Core `d` modulo the number of cores serves domain `d`. With fewer cores than domains, a core
//! serves several; with more, some serve none and only forward.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use iolab_executor::{Notify, Spawner};

use super::messages::{Answer, Message, MessageReceiver, MessageSender};
use super::root::RootCopy;
use crate::locks::Locks;
use crate::{Error, Layout, LogFs};

/// Work that a core does for another one, on its own thread.
pub(super) type Work = Box<dyn FnOnce(Rc<Worker>) -> Pin<Box<dyn Future<Output = Answer>>> + Send>;

#[derive(Debug)]
pub(crate) struct Worker {
    /// Number of this core.
    pub(super) number: usize,
    pub(super) layout: Layout,
    /// The domains that this core serves, by number.
    pub(super) domains: BTreeMap<u32, LogFs>,
    pub(super) root: RefCell<RootCopy>,
    /// Used on the first core only, as are the fields below.
    pub(super) master: Master,
    pub(super) startup: Startup,
    pub(super) spawner: Spawner,
    senders: Vec<MessageSender<Work>>,
    receiver: MessageReceiver<Work>,
    expected: RefCell<HashMap<u64, Rc<RefCell<Expected>>>>,
    next_token: Cell<u64>,
    pub(super) is_stopped: Cell<bool>,
    pub(super) stopped: Notify,
    /// A value that the user of this core stores on it.
    pub(super) kept: RefCell<Kept>,
}

/// A value whose type only the user knows.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) value: Option<Rc<dyn Any>>,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kept({})", self.value.is_some())
    }
}

/// The first core's state as the master of the root directory (`master.rs`).
#[derive(Debug, Default)]
pub(super) struct Master {
    pub(super) locks: Locks,
    /// Names that a domain has given up, with the domain; the removal may not be durable yet.
    pub(super) departed: RefCell<BTreeMap<Vec<u8>, u32>>,
    pub(super) turn: Cell<u32>,
}

/// On the first core: which cores have opened their domains. The others wait for the outcome.
#[derive(Debug, Default)]
pub(super) struct Startup {
    pub(super) arrived: Cell<usize>,
    pub(super) settled: Cell<usize>,
    pub(super) refused: RefCell<Option<Error>>,
    pub(super) outcome: RefCell<Option<Result<RootCopy, Error>>>,
    pub(super) changed: Notify,
}

/// An answer that a task waits for.
#[derive(Default)]
struct Expected {
    value: Option<Answer>,
    waker: Option<Waker>,
}

impl std::fmt::Debug for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Expected({})", self.value.is_some())
    }
}

impl Worker {
    pub(super) fn new(
        number: usize,
        senders: Vec<MessageSender<Work>>,
        receiver: MessageReceiver<Work>,
        layout: Layout,
        domains: BTreeMap<u32, LogFs>,
        spawner: Spawner,
    ) -> Worker {
        Worker {
            number,
            layout,
            domains,
            root: RefCell::default(),
            master: Master::default(),
            startup: Startup::default(),
            spawner,
            senders,
            receiver,
            expected: RefCell::default(),
            next_token: Cell::new(0),
            is_stopped: Cell::new(false),
            stopped: Notify::default(),
            kept: RefCell::default(),
        }
    }

    pub(super) fn cores(&self) -> usize {
        self.senders.len()
    }

    /// The core that serves a domain.
    pub(super) fn core_of(&self, domain: u32) -> Result<usize, Error> {
        if domain < self.layout.domains { Ok(domain as usize % self.cores()) } else { Err(Error::NotFound) }
    }

    /// Runs some work on a core, this one or another, and waits for its answer.
    pub(super) async fn call<T: Send + 'static>(
        self: &Rc<Self>,
        core: usize,
        work: impl AsyncFnOnce(Rc<Worker>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        if core == self.number {
            return work(Rc::clone(self)).await;
        }
        if self.is_stopped.get() {
            return Err(Error::Closed);
        }
        let token = self.next_token.replace(self.next_token.get() + 1);
        let expected = Rc::<RefCell<Expected>>::default();
        self.expected.borrow_mut().insert(token, Rc::clone(&expected));
        let work: Work = Box::new(|worker| Box::pin(async move { Box::new(work(worker).await) as Answer }));
        self.senders[core].send(Message::Request { from: self.number, token, work })?;
        let value = poll_fn(|context| {
            let mut expected = expected.borrow_mut();
            match expected.value.take() {
                Some(value) => Poll::Ready(Some(value)),
                None if self.is_stopped.get() => Poll::Ready(None),
                None => {
                    expected.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        });
        let answer = value.await.and_then(|value| value.downcast::<Result<T, Error>>().ok());
        answer.map_or(Err(Error::Closed), |answer| *answer)
    }

    /// Runs some work in a domain, on the core that serves it.
    pub(super) async fn in_domain<T: Send + 'static>(
        self: &Rc<Self>,
        domain: u32,
        work: impl AsyncFnOnce(LogFs) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let core = self.core_of(domain)?;
        self.call(core, async move |worker: Rc<Worker>| {
            let fs = worker.domains.get(&domain).ok_or(Error::Closed)?.clone();
            work(fs).await
        })
        .await
    }

    /// Runs the same work in every domain at once; the results are in the order of the domains.
    pub(super) async fn in_every_domain<T: Send + 'static>(
        self: &Rc<Self>,
        work: impl AsyncFnOnce(LogFs) -> Result<T, Error> + Clone + Send + 'static,
    ) -> Vec<Result<T, Error>> {
        let start = |domain| {
            let (worker, work) = (Rc::clone(self), work.clone());
            self.spawner.spawn(async move { worker.in_domain(domain, work).await })
        };
        let started: Vec<_> = (0..self.layout.domains).map(start).collect();
        let mut answers = Vec::new();
        for task in started {
            answers.push(task.await);
        }
        answers
    }

    /// Runs the same work on every core at once.
    pub(super) async fn on_every_core(
        self: &Rc<Self>,
        work: impl AsyncFnOnce(Rc<Worker>) -> Result<(), Error> + Clone + Send + 'static,
    ) -> Result<(), Error> {
        let start = |core| {
            let (worker, work) = (Rc::clone(self), work.clone());
            self.spawner.spawn(async move { worker.call(core, work).await })
        };
        let started: Vec<_> = (0..self.cores()).map(start).collect();
        let mut result = Ok(());
        for task in started {
            result = result.and(task.await);
        }
        result
    }

    /// The sender that threads which are no cores use to reach this core.
    pub(super) fn own_sender(&self) -> MessageSender<Work> {
        self.senders[self.number].clone()
    }

    /// Tells every core that no more messages will come.
    pub(super) fn stop_all(&self) {
        for sender in &self.senders {
            // A core that is gone has stopped already.
            let _gone = sender.send(Message::Stop);
        }
    }

    /// Tells this core that no more messages will come.
    pub(super) fn stop(&self) {
        let _gone = self.senders[self.number].send(Message::Stop);
    }

    /// The task that handles the messages.
    pub(super) async fn serve(self: Rc<Self>) {
        loop {
            match poll_fn(|context| self.receiver.next(context)).await {
                Message::Request { from, token, work } => {
                    let worker = Rc::clone(&self);
                    self.spawner.spawn(async move {
                        let answer = work(Rc::clone(&worker)).await;
                        // On a core that is gone, no task waits for the answer.
                        let _gone = worker.senders[from].send(Message::Answer { token, answer });
                    });
                }
                Message::Order { work } => {
                    let worker = Rc::clone(&self);
                    self.spawner.spawn(async move { drop(work(worker).await) });
                }
                Message::Answer { token, answer } => {
                    let Some(expected) = self.expected.borrow_mut().remove(&token) else { continue };
                    let mut expected = expected.borrow_mut();
                    expected.value = Some(answer);
                    expected.waker.take().into_iter().for_each(Waker::wake);
                }
                Message::Stop => break,
            }
        }
        self.is_stopped.set(true);
        self.stopped.notify();
        for expected in self.expected.take().into_values() {
            expected.borrow_mut().waker.take().into_iter().for_each(Waker::wake);
        }
    }
}
