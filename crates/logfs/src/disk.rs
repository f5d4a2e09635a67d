//! A block device as futures.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use iolab_block::{Action, BlockDevice, Buffer, Completion, DeviceError, Geometry, Request};
use iolab_executor::Driver;

/// A device, and who waits for what of it. Clones are the same device; give one to [`iolab_executor::Executor::run`] as its driver.
#[derive(Clone)]
pub struct Disk {
    inner: Rc<RefCell<Inner>>,
    geometry: Geometry,
}

struct Inner {
    device: Box<dyn BlockDevice>,
    next_tag: u64,
    in_flight: HashMap<u64, Rc<RefCell<Waiting>>>,
    /// What the device had no room for.
    backlog: VecDeque<Request>,
    done: Vec<Completion>,
}

#[derive(Debug, Default)]
struct Waiting {
    completion: Option<Completion>,
    waker: Option<Waker>,
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Disk({:?})", self.geometry)
    }
}

/// A request under way. It was submitted when it was made, and goes on when this is dropped.
#[derive(Debug)]
pub(crate) struct Transfer(Rc<RefCell<Waiting>>);

impl Future for Transfer {
    type Output = Result<Buffer, DeviceError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut waiting = self.0.borrow_mut();
        match waiting.completion.take() {
            Some(completion) => {
                let buffer = completion.buffer.unwrap_or_else(|| Buffer::zeroed(0));
                Poll::Ready(completion.result.map(|()| buffer))
            }
            None => {
                waiting.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Disk {
    /// The device, from now on used through futures only.
    pub fn new(device: impl BlockDevice + 'static) -> Disk {
        let geometry = device.geometry();
        let inner = Inner {
            device: Box::new(device),
            next_tag: 0,
            in_flight: HashMap::new(),
            backlog: VecDeque::new(),
            done: Vec::new(),
        };
        Disk { inner: Rc::new(RefCell::new(inner)), geometry }
    }

    /// Size and unit of the device.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// What becomes readable when the device has something for [`Driver::turn`] ([`BlockDevice::waking`]).
    pub fn waking(&self) -> Option<OwnedFd> {
        self.inner.borrow().device.waking()
    }

    pub(crate) fn read(&self, at: u64, length: usize) -> Transfer {
        self.start(Action::Read { at, buffer: Buffer::zeroed(length) })
    }

    pub(crate) fn write(&self, at: u64, buffer: Buffer) -> Transfer {
        self.start(Action::Write { at, buffer })
    }

    pub(crate) fn flush(&self) -> Transfer {
        self.start(Action::Flush)
    }

    fn start(&self, action: Action) -> Transfer {
        let mut inner = self.inner.borrow_mut();
        inner.next_tag += 1;
        let tag = inner.next_tag;
        let waiting = Rc::<RefCell<Waiting>>::default();
        inner.in_flight.insert(tag, Rc::clone(&waiting));
        inner.backlog.push_back(Request { tag, action });
        inner.submit_backlog();
        Transfer(waiting)
    }
}

impl Inner {
    fn submit_backlog(&mut self) {
        while let Some(request) = self.backlog.pop_front() {
            if let Err(refused) = self.device.submit(request) {
                self.backlog.push_front(refused);
                return;
            }
        }
    }
}

impl Driver for Disk {
    fn turn(&mut self, wait: bool) -> bool {
        let mut inner = self.inner.borrow_mut();
        inner.submit_backlog();
        let under_way = !inner.in_flight.is_empty();
        let mut done = std::mem::take(&mut inner.done);
        inner.device.reap(wait && under_way, &mut done);
        for completion in done.drain(..) {
            let Some(waiting) = inner.in_flight.remove(&completion.tag) else { continue };
            let mut waiting = waiting.borrow_mut();
            waiting.completion = Some(completion);
            if let Some(waker) = waiting.waker.take() {
                waker.wake();
            }
        }
        inner.done = done;
        inner.submit_backlog();
        under_way
    }
}
