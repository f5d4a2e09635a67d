//! A block device as futures, and the order in which its requests are sent.
//!
//! ```text
//!  log frames, flushes ─────────────────────▶ ┐ first, when the device has no room
//!  operations of users, urgent cleaning ────▶ ├ device
//!  background: cleaning, defragmentation ───▶ ┘ one at a time while others are in flight
//! ```
//!
//! Large reads that complete together are delivered one by one, with a turn of the device in
//! between. A task compares what it has read with checksums; meanwhile, the device works on the
//! request that replaced the read delivered before.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use iolab_disk::{Action, BlockDevice, Buffer, DeviceError, DiskCompletion, DiskRequest, Divided, Geometry};
use iolab_executor::Driver;

/// A device, and the tasks that wait for its requests. Clones are the same device; pass one to
/// [`iolab_executor::Executor::run`] as its driver.
#[derive(Clone)]
pub struct Disk {
    inner: Rc<RefCell<Inner>>,
    geometry: Geometry,
    urgency: Urgency,
    /// The largest request that this handle should make, bytes.
    piece_bytes: usize,
}

/// The largest background request, bytes: a request of a user waits for one at most.
const BACKGROUND_BYTES: usize = 256 << 10;

/// Reads from this length on are delivered one by one. Checking fewer bytes takes a few
/// microseconds at most, about as long as a turn of the device.
const LARGE_READ_BYTES: usize = 64 << 10;

/// How urgent the requests of a handle are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// Frames of the log and flushes: every sync waits for them.
    Log,
    /// Operations of users, and what they wait for.
    User,
    /// What nobody waits for: one request at a time while requests of others are in flight.
    Background,
}

struct Inner {
    device: Box<dyn BlockDevice>,
    /// Indexed by the requests' tags; places are reused.
    places: Vec<Place>,
    free: Vec<usize>,
    under_way: usize,
    /// Requests in the device or in the backlog, by [`Urgency`].
    sent: [usize; 3],
    /// Requests that the device had no room for, by [`Urgency`].
    backlog: [VecDeque<DiskRequest>; 3],
    /// Background requests that are held back.
    held_back: VecDeque<DiskRequest>,
    done: Vec<DiskCompletion>,
    /// Large reads that have completed and are not delivered yet.
    arrived: VecDeque<DiskCompletion>,
}

/// Where a request's completion waits for the task that made it.
#[derive(Debug)]
struct Place {
    completion: Option<DiskCompletion>,
    urgency: Urgency,
    is_large_read: bool,
    /// Waker of the task that waits, or waited here last: usually the same task.
    waker: Option<Waker>,
    is_waited_for: bool,
    /// No task waits for the completion any more.
    is_abandoned: bool,
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Disk({:?})", self.geometry)
    }
}

/// A request in flight. It was submitted when this was made, and continues when this is dropped.
pub(crate) struct Transfer {
    inner: Rc<RefCell<Inner>>,
    place: usize,
    is_over: bool,
}

impl std::fmt::Debug for Transfer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Transfer({})", self.place)
    }
}

impl Transfer {
    fn poll_completion(&mut self, context: &Context<'_>) -> Poll<DiskCompletion> {
        let mut inner = self.inner.borrow_mut();
        let place = &mut inner.places[self.place];
        match place.completion.take() {
            Some(completion) => {
                place.is_waited_for = false;
                inner.free.push(self.place);
                self.is_over = true;
                Poll::Ready(completion)
            }
            None => {
                place.is_waited_for = true;
                match &place.waker {
                    Some(waker) if waker.will_wake(context.waker()) => {}
                    _ => place.waker = Some(context.waker().clone()),
                }
                Poll::Pending
            }
        }
    }

    /// As awaiting it, but returns the buffer also after an error, unless the device lost it.
    pub(crate) async fn with_buffer(mut self) -> (Result<(), DeviceError>, Option<Buffer>) {
        let completion = std::future::poll_fn(|context| self.poll_completion(context)).await;
        (completion.result, completion.buffer)
    }
}

impl Future for Transfer {
    type Output = Result<Buffer, DeviceError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_completion(context).map(|completion| {
            let buffer = completion.buffer.unwrap_or_else(|| Buffer::zeroed(0));
            completion.result.map(|()| buffer)
        })
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut inner = self.inner.borrow_mut();
        let place = &mut inner.places[self.place];
        place.is_waited_for = false;
        if place.completion.take().is_some() {
            inner.free.push(self.place);
        } else {
            place.is_abandoned = true;
        }
    }
}

/// A read in pieces.
pub(crate) struct PiecewiseRead {
    divided: Divided,
    reads: Vec<Transfer>,
}

impl PiecewiseRead {
    /// Waits for all pieces.
    pub(crate) async fn done(self) -> Result<Buffer, DeviceError> {
        let mut result = Ok(());
        for read in self.reads {
            result = result.and(read.await.map(drop));
        }
        // A device that lost a piece has said so.
        result.and(self.divided.rejoin().ok_or(DeviceError::Failed(5)))
    }
}

impl Disk {
    /// Wraps a device, which from now on is used through futures only.
    pub fn new(device: impl BlockDevice + 'static) -> Disk {
        let geometry = device.geometry();
        let inner = Inner {
            device: Box::new(device),
            places: Vec::new(),
            free: Vec::new(),
            under_way: 0,
            sent: [0; 3],
            backlog: Default::default(),
            held_back: VecDeque::new(),
            done: Vec::new(),
            arrived: VecDeque::new(),
        };
        Disk { inner: Rc::new(RefCell::new(inner)), geometry, urgency: Urgency::User, piece_bytes: usize::MAX }
    }

    /// A handle to the same device, for requests of this urgency.
    pub(crate) fn at(&self, urgency: Urgency) -> Disk {
        let piece_bytes = if urgency == Urgency::Background { BACKGROUND_BYTES } else { usize::MAX };
        Disk { urgency, piece_bytes, ..self.clone() }
    }

    /// A handle for background work that is late, so that users are about to wait for it: as urgent
    /// as they are, in requests as short as those of the background.
    pub(crate) fn hurried(&self) -> Disk {
        Disk { urgency: Urgency::User, ..self.at(Urgency::Background) }
    }

    /// Size and block size of the device.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// A file descriptor that becomes readable when the device has something for [`Driver::turn`]
    /// ([`BlockDevice::waking`]).
    pub fn waking(&self) -> Option<OwnedFd> {
        self.inner.borrow_mut().device.waking()
    }

    /// Whether the device is memory of this process ([`BlockDevice::is_memory`]).
    pub fn is_memory(&self) -> bool {
        self.inner.borrow().device.is_memory()
    }

    /// Whether the device completes transfers during submission
    /// ([`BlockDevice::is_synchronous`]).
    pub fn is_synchronous(&self) -> bool {
        self.inner.borrow().device.is_synchronous()
    }

    /// Requests that have not completed.
    pub fn under_way(&self) -> usize {
        self.inner.borrow().under_way
    }

    pub(crate) fn read(&self, at: u64, length: usize) -> Transfer {
        self.read_into(at, Buffer::zeroed(length))
    }

    /// The largest request that this handle should make, bytes.
    pub(crate) fn piece_bytes(&self) -> usize {
        self.piece_bytes
    }

    /// Starts to read, in pieces of at most [`Disk::piece_bytes`].
    pub(crate) fn read_in_pieces(&self, at: u64, length: usize) -> PiecewiseRead {
        let mut divided = Divided::new(Buffer::zeroed(length));
        let mut reads = Vec::new();
        let mut start = 0;
        while start < length {
            let piece = divided.take(self.piece_bytes());
            let next = start + piece.len();
            reads.push(self.read_into(at + start as u64, piece));
            start = next;
        }
        PiecewiseRead { divided, reads }
    }

    /// Fills a buffer.
    pub(crate) fn read_into(&self, at: u64, buffer: Buffer) -> Transfer {
        self.start(Action::Read { at, buffer })
    }

    pub(crate) fn write(&self, at: u64, buffer: Buffer) -> Transfer {
        self.start(Action::Write { at, buffer })
    }

    pub(crate) fn discard(&self, at: u64, length: u64) -> Transfer {
        self.start(Action::Discard { at, length })
    }

    pub(crate) fn flush(&self) -> Transfer {
        self.start(Action::Flush)
    }

    fn start(&self, action: Action) -> Transfer {
        let mut inner = self.inner.borrow_mut();
        let urgency = self.urgency;
        let place = inner.free.pop().unwrap_or_else(|| {
            inner.places.push(Place {
                completion: None,
                urgency,
                is_large_read: false,
                waker: None,
                is_waited_for: false,
                is_abandoned: false,
            });
            inner.places.len() - 1
        });
        let is_large_read = matches!(&action, Action::Read { buffer, .. } if buffer.len() >= LARGE_READ_BYTES);
        inner.places[place].urgency = urgency;
        inner.places[place].is_large_read = is_large_read && !inner.device.is_synchronous();
        inner.under_way += 1;
        let request = DiskRequest { tag: place as u64, action };
        if urgency == Urgency::Background && (!inner.held_back.is_empty() || inner.holds_back()) {
            inner.held_back.push_back(request);
        } else {
            inner.send(urgency, request);
        }
        Transfer { inner: Rc::clone(&self.inner), place, is_over: false }
    }
}

impl Inner {
    /// Whether another background request has to wait.
    fn holds_back(&self) -> bool {
        let [log, user, background] = self.sent;
        background > 0 && log + user > 0
    }

    fn send(&mut self, urgency: Urgency, request: DiskRequest) {
        self.sent[urgency as usize] += 1;
        // Requests in the backlog that are as urgent go first.
        let is_first = self.backlog[..=urgency as usize].iter().all(VecDeque::is_empty);
        let later = if is_first { self.device.submit(request).err() } else { Some(request) };
        self.backlog[urgency as usize].extend(later);
    }

    /// Sends what had to wait, as far as the device has room and the order allows.
    fn submit_waiting(&mut self) {
        for urgency in 0..self.backlog.len() {
            while let Some(request) = self.backlog[urgency].pop_front() {
                if let Err(refused) = self.device.submit(request) {
                    self.backlog[urgency].push_front(refused);
                    return;
                }
            }
        }
        while !self.holds_back()
            && let Some(request) = self.held_back.pop_front()
        {
            self.send(Urgency::Background, request);
        }
    }

    /// Stores a completion for the task that waits for it, and wakes that task. Returns whether it
    /// woke one.
    fn deliver(&mut self, completion: DiskCompletion) -> bool {
        let number = completion.tag as usize;
        let Some(place) = self.places.get_mut(number) else { return false };
        self.under_way -= 1;
        self.sent[place.urgency as usize] -= 1;
        if std::mem::take(&mut place.is_abandoned) {
            self.free.push(number);
            return false;
        }
        place.completion = Some(completion);
        let waker = place.waker.as_ref().filter(|_| place.is_waited_for);
        waker.inspect(|waker| waker.wake_by_ref()).is_some()
    }

    /// Delivers large reads until one has woken a task, or until none is left: the owner may sleep
    /// after a turn that woke nobody.
    fn deliver_large_read(&mut self) {
        while let Some(completion) = self.arrived.pop_front() {
            if self.deliver(completion) {
                return;
            }
        }
    }
}

impl Driver for Disk {
    fn turn(&mut self, wait: bool) -> bool {
        let mut inner = self.inner.borrow_mut();
        inner.submit_waiting();
        let under_way = inner.under_way > 0;
        let waits = wait && under_way && inner.arrived.is_empty();
        let mut done = std::mem::take(&mut inner.done);
        inner.device.reap(waits, &mut done);
        for completion in done.drain(..) {
            if inner.places.get(completion.tag as usize).is_some_and(|place| place.is_large_read) {
                inner.arrived.push_back(completion);
            } else {
                inner.deliver(completion);
            }
        }
        inner.done = done;
        inner.deliver_large_read();
        inner.submit_waiting();
        under_way
    }
}

#[cfg(test)]
mod tests;
