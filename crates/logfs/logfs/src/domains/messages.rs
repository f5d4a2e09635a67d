//! Messages between cores: owned data through lock-free queues, one for each core.
//!
//! A message asks a core to do something, or answers a request. Sending never waits and takes no
//! lock. It wakes the task that receives the messages, and the core's thread if that sleeps
//! ([`Wakeup`]). The worker of a core decides what to do with its messages.

use std::any::Any;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use iolab_executor::Driver;

use super::sync::{AtomicBool, OnceLock, Ordering, Receiver, Sender, Thread, channel, fence, thread};
use crate::{Disk, Error};

/// The result of a piece of work; the requester knows its type.
pub(super) type Answer = Box<dyn Any + Send>;

/// What one core sends to another; `W` is the work that a core can do for others.
pub(super) enum Message<W> {
    /// Core `from` requests some work, and expects the answer under the number `token`.
    Request { from: usize, token: u64, work: W },
    /// The answer to a request.
    Answer { token: u64, answer: Answer },
    /// A thread that is no core requests some work, which passes its result on itself.
    Order { work: W },
    /// No message after this one will be read.
    Stop,
}

/// Called for each message to a core that sleeps somewhere else than in its driver; must not block.
pub(super) type OnMessage = Box<dyn Fn() + Send + Sync>;

/// Wakes a thread that sleeps because it has nothing to do.
#[derive(Default)]
struct Wakeup {
    is_pending: AtomicBool,
    sleeper: OnceLock<Thread>,
    on_message: OnceLock<OnMessage>,
}

impl std::fmt::Debug for Wakeup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wakeup").finish_non_exhaustive()
    }
}

impl Wakeup {
    fn wake(&self) {
        if let Some(call) = self.on_message.get() {
            call();
        }
        // If a wake-up is already pending, its requester unparks the thread.
        if !self.is_pending.swap(true, Ordering::AcqRel)
            && let Some(sleeper) = self.sleeper.get()
        {
            sleeper.unpark();
        }
    }

    fn is_pending(&self) -> bool {
        self.is_pending.load(Ordering::Acquire)
    }

    fn sleep(&self) {
        self.sleeper.get_or_init(thread::current);
        // A wakeup from before the thread was known could not unpark it, but is still pending.
        fence(Ordering::SeqCst);
        while !self.is_pending.swap(false, Ordering::AcqRel) {
            thread::park();
        }
    }
}

/// Sends messages to a core. Every core has one for each core, itself included.
pub(super) struct MessageSender<W> {
    messages: Sender<Message<W>>,
    shared: Arc<Shared>,
}

// Not derived, because that would require the work to be `Clone`.
impl<W> Clone for MessageSender<W> {
    fn clone(&self) -> MessageSender<W> {
        MessageSender { messages: self.messages.clone(), shared: Arc::clone(&self.shared) }
    }
}

#[derive(Debug, Default)]
struct Shared {
    /// The waker of the task that receives.
    receiver: OnceLock<Waker>,
    wakeup: Wakeup,
}

impl<W> std::fmt::Debug for Message<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Message::Request { from, token, .. } => write!(f, "Request({from}, {token})"),
            Message::Answer { token, .. } => write!(f, "Answer({token})"),
            Message::Order { .. } => write!(f, "Order"),
            Message::Stop => write!(f, "Stop"),
        }
    }
}

impl<W> std::fmt::Debug for MessageSender<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessageSender").finish_non_exhaustive()
    }
}

impl<W> MessageSender<W> {
    /// # Errors
    /// [`Error::Closed`] if the receiver is gone.
    pub(super) fn send(&self, message: Message<W>) -> Result<(), Error> {
        self.messages.send(message).map_err(|_| Error::Closed)?;
        // Pairs with the fence in `next`: the receiver sees the message, or this sees the receiver.
        fence(Ordering::SeqCst);
        if let Some(receiver) = self.shared.receiver.get() {
            receiver.wake_by_ref();
        }
        self.shared.wakeup.wake();
        Ok(())
    }
}

/// Receives the messages to a core, for the one task that handles them.
pub(super) struct MessageReceiver<W> {
    messages: Receiver<Message<W>>,
    shared: Arc<Shared>,
}

impl<W> std::fmt::Debug for MessageReceiver<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessageReceiver").finish_non_exhaustive()
    }
}

impl<W> MessageReceiver<W> {
    pub(super) fn new() -> (MessageSender<W>, MessageReceiver<W>) {
        let (sender, messages) = channel();
        let shared = Arc::<Shared>::default();
        (MessageSender { messages: sender, shared: Arc::clone(&shared) }, MessageReceiver { messages, shared })
    }

    /// The next message. Must be polled by one task only, whose waker stays the same.
    pub(super) fn next(&self, context: &Context<'_>) -> Poll<Message<W>> {
        self.shared.receiver.get_or_init(|| context.waker().clone());
        fence(Ordering::SeqCst);
        self.messages.try_recv().map_or(Poll::Pending, Poll::Ready)
    }

    /// Also calls a function for every message: for a core that sleeps somewhere else than in its
    /// driver.
    pub(super) fn call_on_messages(&self, call: OnMessage) {
        self.shared.wakeup.on_message.get_or_init(|| call);
    }

    pub(super) fn driver(&self, disk: &Disk) -> CoreDriver {
        CoreDriver { disk: disk.clone(), shared: Arc::clone(&self.shared), patience: Patience::default() }
    }
}

/// Waits on behalf of a core that has a thread to itself: for its device, and for messages from
/// other cores.
///
/// While requests are with the device, it polls and yields to other threads, so that messages are
/// answered meanwhile. Otherwise it sleeps, but first looks for messages for a while if that has
/// been worthwhile: waking a thread takes longer than most of what cores do for each other. It
/// never reports that waiting would take forever, because another core may always send something.
#[derive(Debug)]
pub struct CoreDriver {
    disk: Disk,
    shared: Arc<Shared>,
    patience: Patience,
}

/// How often a core looks for messages before it sleeps. With sched_yield(2) between two looks,
/// this took 0.12 ms on a virtual machine, where a request to a sleeping core took 0.09 ms.
const LOOKS: u32 = 200;
/// After looking in vain again and again, a core sleeps at once this many times in between.
const MOST_SKIPPED: u32 = 15;

/// Decides whether to look for messages before sleeping: not when nobody has sent any lately.
#[derive(Debug, Default)]
struct Patience {
    /// How many times to sleep at once after the next vain look.
    skipped: u32,
    /// How many of them are left.
    left: u32,
}

impl Patience {
    /// Looks for a message, with a `pause` between two looks. Returns when there is one, or when it
    /// is time to sleep.
    fn look(&mut self, is_there: impl Fn() -> bool, pause: impl Fn()) {
        if self.left > 0 {
            self.left -= 1;
            return;
        }
        for _ in 0..LOOKS {
            if is_there() {
                self.skipped = 0;
                return;
            }
            pause();
        }
        self.skipped = (2 * self.skipped + 1).min(MOST_SKIPPED);
        self.left = self.skipped;
    }
}

impl Driver for CoreDriver {
    fn turn(&mut self, wait: bool) -> bool {
        let before = self.disk.under_way();
        self.disk.turn(false);
        let left = self.disk.under_way();
        // What has completed has woken a task: do not wait.
        if wait && left == before {
            if left > 0 {
                thread::yield_now();
            } else {
                self.patience.look(|| self.shared.wakeup.is_pending(), thread::yield_now);
                self.shared.wakeup.sleep();
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_core_looks_for_messages_while_others_send_and_seldom_otherwise() {
        let (mut patience, looks) = (Patience::default(), Cell::new(0));
        let mut looked = |from: u32| {
            looks.set(0);
            patience.look(|| looks.get() >= from, || looks.set(looks.get() + 1));
            looks.get()
        };
        assert_eq!([looked(3), looked(0), looked(LOOKS - 1)], [3, 0, LOOKS - 1]);
        // Nobody sends any more.
        let vain = (0..1000).map(|_| looked(u32::MAX)).filter(|looks| *looks == LOOKS).count();
        assert!((1000 / (MOST_SKIPPED as usize + 1)..80).contains(&vain), "{vain}");
        // Messages again: found at the next look, and from then on without a sleep in between.
        while looked(5) != 5 {}
        assert!((0..100).all(|_| looked(5) == 5));
    }
}
