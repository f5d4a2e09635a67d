//! Letters between cores: owned data through lock-free queues, one for each core.
//!
//! A letter asks a core to do something, or answers one that asked. Posting never waits and takes
//! no lock; it wakes the task that reads the letters, and the thread when that sleeps ([`Bell`]).
//! What is done with them is the business of [`super::worker`].

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use iolab_executor::Driver;

use super::sync::{AtomicBool, OnceLock, Ordering, Receiver, Sender, Thread, channel, fence, thread};
use super::worker::Worker;
use crate::{Disk, Error};

/// What a job answers, as whoever asked knows.
pub(super) type Value = Box<dyn Any + Send>;
/// Something that a core shall do on its own thread.
pub(super) type Job = Box<dyn FnOnce(Rc<Worker>) -> Pin<Box<dyn Future<Output = Value>>> + Send>;

pub(super) enum Letter {
    Ask {
        from: usize,
        token: u64,
        job: Job,
    },
    Answer {
        token: u64,
        value: Value,
    },
    /// No more letters will be read.
    Stop,
}

/// What wakes a thread that sleeps because nothing is under way.
#[derive(Debug, Default)]
struct Bell {
    rung: AtomicBool,
    sleeper: OnceLock<Thread>,
}

impl Bell {
    fn ring(&self) {
        // Whoever rings an already rung bell has been preceded by somebody who wakes.
        if !self.rung.swap(true, Ordering::AcqRel)
            && let Some(sleeper) = self.sleeper.get()
        {
            sleeper.unpark();
        }
    }

    fn sleep(&self) {
        self.sleeper.get_or_init(thread::current);
        // A ring before the thread was known left no token, but it left the mark.
        fence(Ordering::SeqCst);
        while !self.rung.swap(false, Ordering::AcqRel) {
            thread::park();
        }
    }
}

/// Where a core's letters are put. Anybody may have one.
#[derive(Debug, Clone)]
pub(super) struct Slit {
    letters: Sender<Letter>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Of the task that reads.
    reader: OnceLock<Waker>,
    bell: Bell,
}

impl std::fmt::Debug for Letter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Letter::Ask { from, token, .. } => write!(f, "Ask({from}, {token})"),
            Letter::Answer { token, .. } => write!(f, "Answer({token})"),
            Letter::Stop => write!(f, "Stop"),
        }
    }
}

impl Slit {
    /// # Errors
    /// [`Error::Closed`] when nobody will ever read it.
    pub(super) fn post(&self, letter: Letter) -> Result<(), Error> {
        self.letters.send(letter).map_err(|_| Error::Closed)?;
        // Pairs with the fence in `next`: the reader sees the letter, or this sees the reader.
        fence(Ordering::SeqCst);
        if let Some(reader) = self.shared.reader.get() {
            reader.wake_by_ref();
        }
        self.shared.bell.ring();
        Ok(())
    }
}

/// A core's letters, for the one task that reads them.
#[derive(Debug)]
pub(super) struct Mailbox {
    letters: Receiver<Letter>,
    shared: Arc<Shared>,
}

impl Mailbox {
    pub(super) fn new() -> (Slit, Mailbox) {
        let (sender, letters) = channel();
        let shared = Arc::<Shared>::default();
        (Slit { letters: sender, shared: Arc::clone(&shared) }, Mailbox { letters, shared })
    }

    /// The next letter. Always polled by one task, whose waker stays the same.
    pub(super) fn next(&self, context: &Context<'_>) -> Poll<Letter> {
        self.shared.reader.get_or_init(|| context.waker().clone());
        fence(Ordering::SeqCst);
        self.letters.try_recv().map_or(Poll::Pending, Poll::Ready)
    }

    pub(super) fn driver(&self, disk: &Disk) -> CoreDriver {
        CoreDriver { disk: disk.clone(), shared: Arc::clone(&self.shared) }
    }
}

/// What waits for the world on behalf of a core that has a thread to itself: for its device, and
/// for letters from others.
///
/// While requests are with the device it polls, giving way to other threads, so that letters are
/// answered meanwhile; otherwise it sleeps. It never says that waiting would be for ever: another
/// core may always write.
#[derive(Debug)]
pub struct CoreDriver {
    disk: Disk,
    shared: Arc<Shared>,
}

impl Driver for CoreDriver {
    fn turn(&mut self, wait: bool) -> bool {
        let before = self.disk.under_way();
        self.disk.turn(false);
        let left = self.disk.under_way();
        // What has completed has woken somebody: there is nothing to wait for.
        if wait && left == before {
            if left > 0 { thread::yield_now() } else { self.shared.bell.sleep() }
        }
        true
    }
}
