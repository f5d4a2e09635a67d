//! A block device as futures, and the order in which its requests are sent.
//!
//! ```text
//!  log frames, flushes ─────────────────────▶ ┐ first, when the device has no room
//!  operations of users, urgent cleaning ────▶ ├ device
//!  background: cleaning, defragmentation ───▶ ┘ one at a time while others are in flight
//! ```
//!
//! A device that transfers during submission has nothing in flight, and everybody waits for each
//! transfer. It gets one short background request each time that others have transferred so much,
//! and large requests of users piece by piece, so that small ones can pass.
//!
//! Large reads that complete together are delivered one by one, with a turn of the device in
//! between. A task compares what it has read with checksums; meanwhile, the device works on the
//! request that replaced the read delivered before.

mod large;
mod requests;

use std::cell::RefCell;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use iolab_disk::{Action, BlockDevice, Buffer, DeviceError, DiskCompletion, DiskRequest, Divided, Geometry};
use iolab_executor::Driver;

pub(crate) use requests::Urgency;
use requests::{BACKGROUND_BYTES, BACKGROUND_BYTES_IN_PLACE, Inner, Place};

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

/// Reads from this length on are delivered one by one. Checking fewer bytes takes a few
/// microseconds at most, about as long as a turn of the device.
const LARGE_READ_BYTES: usize = 64 << 10;

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
        Disk {
            inner: Rc::new(RefCell::new(Inner::new(Box::new(device)))),
            geometry,
            urgency: Urgency::User,
            piece_bytes: usize::MAX,
        }
    }

    /// A handle to the same device, for requests of this urgency.
    pub(crate) fn at(&self, urgency: Urgency) -> Disk {
        let piece_bytes = match urgency {
            Urgency::Background if self.is_synchronous() => BACKGROUND_BYTES_IN_PLACE,
            Urgency::Background => BACKGROUND_BYTES,
            _ => usize::MAX,
        };
        Disk { urgency, piece_bytes, ..self.clone() }
    }

    /// Waits for the background's share of a device that transfers during submission, for work that
    /// delays others as much as a request does.
    pub(crate) async fn share(&self) {
        if self.is_synchronous() {
            // Nothing is read, in its turn.
            drop(self.at(Urgency::Background).read(0, 0).await);
        }
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
        inner.start(urgency, request);
        Transfer { inner: Rc::clone(&self.inner), place, is_over: false }
    }
}

impl Driver for Disk {
    fn turn(&mut self, wait: bool) -> bool {
        let mut inner = self.inner.borrow_mut();
        inner.next_turn(wait);
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
