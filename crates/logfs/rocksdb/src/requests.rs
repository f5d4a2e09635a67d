//! Receives requests of other threads: a queue with an eventfd, and the driver that waits for the
//! eventfd and for the disk.
//!
//! Posting takes a lock for a moment, and signals the eventfd only when the thread is asleep or
//! about to sleep.

use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolab_executor::{Driver, Notify, Spawner};
use iolab_logfs::{Disk, LocalVolume};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

/// Work for the thread of the file system.
pub(crate) type Request = Box<dyn FnOnce(&RequestContext) + Send>;

/// What requests can use on that thread.
pub(crate) struct RequestContext {
    pub(crate) fs: LocalVolume,
    pub(crate) spawner: Spawner,
    closed: Rc<std::cell::Cell<bool>>,
    changed: Rc<Notify>,
}

impl RequestContext {
    /// Ends the service after this turn.
    pub(crate) fn close(&self) {
        self.closed.set(true);
        self.changed.notify();
    }
}

/// Requests queued for the thread.
pub(crate) struct Queue {
    /// `None` when the thread has ended.
    requests: Mutex<Option<Vec<Request>>>,
    is_asleep: AtomicBool,
    wake_fd: OwnedFd,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Queue(asleep: {:?})", self.is_asleep)
    }
}

impl Queue {
    pub(crate) fn new() -> Result<Queue, Errno> {
        let wake_fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Queue { requests: Mutex::new(Some(Vec::new())), is_asleep: AtomicBool::new(false), wake_fd })
    }

    fn requests(&self) -> MutexGuard<'_, Option<Vec<Request>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a request; it is dropped when the thread has ended.
    pub(crate) fn post(&self, request: Request) {
        if let Some(requests) = self.requests().as_mut() {
            requests.push(request);
        }
        // The thread sets this flag before its last look at the queue.
        if self.is_asleep.swap(false, Ordering::SeqCst) {
            // An eventfd overflows only at 2^64 - 1, and is readable anyway.
            let _signalled = rustix::io::write(&self.wake_fd, &1_u64.to_ne_bytes());
        }
    }

    fn is_empty(&self) -> bool {
        self.requests().as_ref().is_none_or(Vec::is_empty)
    }

    fn take(&self, into: &mut Vec<Request>) {
        if let Some(requests) = self.requests().as_mut() {
            std::mem::swap(requests, into);
        }
    }
}

/// Drops all waiting requests when the thread ends.
pub(crate) struct Closing(pub(crate) Arc<Queue>);

impl Drop for Closing {
    fn drop(&mut self) {
        let refused = self.0.requests().take();
        drop(refused);
    }
}

/// Waits for the disk and for requests on behalf of the thread.
pub(crate) struct RequestDriver {
    disk: Disk,
    disk_wake: Option<OwnedFd>,
    queue: Arc<Queue>,
    context: RequestContext,
    batch: Vec<Request>,
}

impl RequestDriver {
    pub(crate) fn new(disk: Disk, queue: Arc<Queue>, fs: LocalVolume, spawner: Spawner) -> RequestDriver {
        let disk_wake = disk.waking();
        let context = RequestContext { fs, spawner, closed: Rc::default(), changed: Rc::default() };
        RequestDriver { disk, disk_wake, queue, context, batch: Vec::new() }
    }

    pub(crate) fn fs(&self) -> LocalVolume {
        self.context.fs.clone()
    }

    /// Waits until a request has called [`RequestContext::close`].
    pub(crate) fn closed(&self) -> impl Future<Output = ()> + use<> {
        let (closed, changed) = (Rc::clone(&self.context.closed), Rc::clone(&self.context.changed));
        async move { changed.until(|_| closed.get().then_some(())).await }
    }

    /// Starts the queued requests; returns whether there were any.
    fn take_in(&mut self) -> bool {
        self.queue.take(&mut self.batch);
        let is_some = !self.batch.is_empty();
        self.batch.drain(..).for_each(|request| request(&self.context));
        is_some
    }

    /// Sleeps until a request arrives or the disk has something.
    fn sleep(&mut self) {
        match &self.disk_wake {
            // A disk that cannot be polled is waited for alone: requests that arrive meanwhile wait
            // too.
            None if self.disk.under_way() > 0 => {
                self.disk.turn(true);
            }
            disk_wake => {
                let fds = [Some(&self.queue.wake_fd), disk_wake.as_ref()];
                let mut fds: Vec<PollFd<'_>> =
                    fds.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)).collect();
                // A signal may end it early, which is harmless.
                let _interrupted = poll(&mut fds, None);
            }
        }
    }
}

impl Driver for RequestDriver {
    fn turn(&mut self, wait: bool) -> bool {
        let before = self.disk.under_way();
        let is_asked = self.take_in();
        self.disk.turn(false);
        // What has completed has woken a task: do not wait.
        if !wait || is_asked || self.disk.under_way() < before {
            return true;
        }
        self.queue.is_asleep.store(true, Ordering::SeqCst);
        if self.queue.is_empty() {
            self.sleep();
        }
        if !self.queue.is_asleep.swap(false, Ordering::SeqCst) {
            // Another thread signals, or is about to: consume it, to avoid one needless wake-up.
            let _consumed = rustix::io::read(&self.queue.wake_fd, &mut [0_u8; 8]);
        }
        self.take_in();
        self.disk.turn(false);
        true
    }
}
