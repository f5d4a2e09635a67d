//! A block device as futures.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use iolab_disk::{Action, BlockDevice, Buffer, DeviceError, DiskCompletion, DiskRequest, Geometry};
use iolab_executor::Driver;

/// A device, and the tasks that wait for its requests. Clones are the same device; pass one to
/// [`iolab_executor::Executor::run`] as its driver.
#[derive(Clone)]
pub struct Disk {
    inner: Rc<RefCell<Inner>>,
    geometry: Geometry,
}

struct Inner {
    device: Box<dyn BlockDevice>,
    /// Indexed by the requests' tags; places are reused.
    places: Vec<Place>,
    free: Vec<usize>,
    under_way: usize,
    /// Requests that the device had no room for.
    backlog: VecDeque<DiskRequest>,
    done: Vec<DiskCompletion>,
}

/// Where a request's completion waits for the task that made it.
#[derive(Debug, Default)]
struct Place {
    completion: Option<DiskCompletion>,
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

impl Disk {
    /// Wraps a device, which from now on is used through futures only.
    pub fn new(device: impl BlockDevice + 'static) -> Disk {
        let geometry = device.geometry();
        let inner = Inner {
            device: Box::new(device),
            places: Vec::new(),
            free: Vec::new(),
            under_way: 0,
            backlog: VecDeque::new(),
            done: Vec::new(),
        };
        Disk { inner: Rc::new(RefCell::new(inner)), geometry }
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

    /// Requests that have not completed.
    pub fn under_way(&self) -> usize {
        self.inner.borrow().under_way
    }

    pub(crate) fn read(&self, at: u64, length: usize) -> Transfer {
        self.read_into(at, Buffer::zeroed(length))
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
        let place = inner.free.pop().unwrap_or_else(|| {
            inner.places.push(Place::default());
            inner.places.len() - 1
        });
        inner.under_way += 1;
        let request = DiskRequest { tag: place as u64, action };
        // Requests in the backlog go first.
        let later = if inner.backlog.is_empty() { inner.device.submit(request).err() } else { Some(request) };
        inner.backlog.extend(later);
        Transfer { inner: Rc::clone(&self.inner), place, is_over: false }
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

    /// Stores a completion for the task that waits for it, and wakes that task.
    fn deliver(&mut self, completion: DiskCompletion) {
        let number = completion.tag as usize;
        let Some(place) = self.places.get_mut(number) else { return };
        self.under_way -= 1;
        if std::mem::take(&mut place.is_abandoned) {
            self.free.push(number);
            return;
        }
        place.completion = Some(completion);
        place.waker.iter().filter(|_| place.is_waited_for).for_each(Waker::wake_by_ref);
    }
}

impl Driver for Disk {
    fn turn(&mut self, wait: bool) -> bool {
        let mut inner = self.inner.borrow_mut();
        inner.submit_backlog();
        let under_way = inner.under_way > 0;
        let mut done = std::mem::take(&mut inner.done);
        inner.device.reap(wait && under_way, &mut done);
        for completion in done.drain(..) {
            inner.deliver(completion);
        }
        inner.done = done;
        inner.submit_backlog();
        under_way
    }
}
