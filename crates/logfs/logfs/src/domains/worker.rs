//! What a core has to itself: the domains it serves, its copy of the root directory, and its
//! letters.
//!
//! Domain `d` is served by core `d` modulo the number of cores: with fewer cores than domains one
//! serves several, with more some serve none and only forward.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use iolab_executor::{Event, Spawner};

use super::mail::{Letter, Mailbox, Slit, Value};
use super::master::Master;
use super::root::RootCopy;
use super::seat::Gathering;
use crate::{Error, Layout, LogFs};

#[derive(Debug)]
pub(crate) struct Worker {
    /// Of this core.
    pub(super) number: usize,
    pub(super) layout: Layout,
    /// By their numbers.
    pub(super) domains: BTreeMap<u32, LogFs>,
    pub(super) root: RefCell<RootCopy>,
    /// Used on the first core only, as what follows.
    pub(super) master: Master,
    pub(super) gathering: Gathering,
    pub(super) spawner: Spawner,
    slits: Vec<Slit>,
    mailbox: Mailbox,
    expected: RefCell<HashMap<u64, Rc<RefCell<Expected>>>>,
    next_token: Cell<u64>,
    pub(super) is_stopped: Cell<bool>,
    pub(super) stopped: Event,
}

/// An answer that somebody waits for.
#[derive(Default)]
struct Expected {
    value: Option<Value>,
    waker: Option<Waker>,
}

impl std::fmt::Debug for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Expected({})", self.value.is_some())
    }
}

impl Worker {
    pub(super) fn new(
        (number, slits, mailbox): (usize, Vec<Slit>, Mailbox),
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
            gathering: Gathering::default(),
            spawner,
            slits,
            mailbox,
            expected: RefCell::default(),
            next_token: Cell::new(0),
            is_stopped: Cell::new(false),
            stopped: Event::default(),
        }
    }

    pub(super) fn cores(&self) -> usize {
        self.slits.len()
    }

    /// The core that serves a domain.
    pub(super) fn core_of(&self, domain: u32) -> Result<usize, Error> {
        if domain < self.layout.domains { Ok(domain as usize % self.cores()) } else { Err(Error::NotFound) }
    }

    /// Does something on a core, this one or another, and waits for its answer.
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
        let job = Box::new(|worker| -> std::pin::Pin<Box<dyn Future<Output = Value>>> {
            Box::pin(async move { Box::new(work(worker).await) as Value })
        });
        self.slits[core].post(Letter::Ask { from: self.number, token, job })?;
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

    /// Does something in a domain, on the core that serves it.
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

    /// Does the same in every domain at once; the answers in the order of the domains.
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

    /// Does the same on every core at once.
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

    /// Tells every core that no more letters will come.
    pub(super) fn stop_all(&self) {
        for slit in &self.slits {
            // A core that is gone has stopped.
            let _gone = slit.post(Letter::Stop);
        }
    }

    /// Tells this core the same.
    pub(super) fn stop(&self) {
        let _gone = self.slits[self.number].post(Letter::Stop);
    }

    /// The task that reads the letters.
    pub(super) async fn serve(self: Rc<Self>) {
        loop {
            match poll_fn(|context| self.mailbox.next(context)).await {
                Letter::Ask { from, token, job } => {
                    let worker = Rc::clone(&self);
                    self.spawner.spawn(async move {
                        let value = job(Rc::clone(&worker)).await;
                        // Nobody waits any more on a core that is gone.
                        let _gone = worker.slits[from].post(Letter::Answer { token, value });
                    });
                }
                Letter::Answer { token, value } => {
                    let Some(expected) = self.expected.borrow_mut().remove(&token) else { continue };
                    let mut expected = expected.borrow_mut();
                    expected.value = Some(value);
                    expected.waker.take().into_iter().for_each(Waker::wake);
                }
                Letter::Stop => break,
            }
        }
        self.is_stopped.set(true);
        self.stopped.notify();
        for expected in self.expected.take().into_values() {
            expected.borrow_mut().waker.take().into_iter().for_each(Waker::wake);
        }
    }
}
