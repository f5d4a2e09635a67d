//! Where requests of other threads come in: a queue with a bell, and the driver that listens to the
//! bell and to the disk.
//!
//! Posting takes a lock for a moment, and rings only when the thread is about to sleep or asleep.

use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolab_executor::{Driver, Notify, Spawner};
use iolab_logfs::{Disk, LocalVolume};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

/// Something to be done on the thread of the file system.
pub(crate) type Job = Box<dyn FnOnce(&Inside) + Send>;

/// What jobs find on that thread.
pub(crate) struct Inside {
    pub(crate) fs: LocalVolume,
    pub(crate) spawner: Spawner,
    closed: Rc<std::cell::Cell<bool>>,
    changed: Rc<Notify>,
}

impl Inside {
    /// Ends the service once this turn is over.
    pub(crate) fn close(&self) {
        self.closed.set(true);
        self.changed.notify();
    }
}

/// Jobs on their way to the thread.
pub(crate) struct Queue {
    /// `None` when nobody will ever take them.
    jobs: Mutex<Option<Vec<Job>>>,
    is_asleep: AtomicBool,
    bell: OwnedFd,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Queue(asleep: {:?})", self.is_asleep)
    }
}

impl Queue {
    pub(crate) fn new() -> Result<Queue, Errno> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Queue { jobs: Mutex::new(Some(Vec::new())), is_asleep: AtomicBool::new(false), bell })
    }

    fn jobs(&self) -> MutexGuard<'_, Option<Vec<Job>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a job over; it is dropped when the thread has ended.
    pub(crate) fn post(&self, job: Job) {
        if let Some(jobs) = self.jobs().as_mut() {
            jobs.push(job);
        }
        // The thread says that it will sleep before it looks for jobs the last time.
        if self.is_asleep.swap(false, Ordering::SeqCst) {
            // An eventfd takes 2^64 - 2 rings before it refuses one, and is then readable anyhow.
            let _rung = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        }
    }

    fn is_empty(&self) -> bool {
        self.jobs().as_ref().is_none_or(Vec::is_empty)
    }

    fn take(&self, into: &mut Vec<Job>) {
        if let Some(jobs) = self.jobs().as_mut() {
            std::mem::swap(jobs, into);
        }
    }
}

/// Lets go of all who wait, when the thread ends.
pub(crate) struct Closing(pub(crate) Arc<Queue>);

impl Drop for Closing {
    fn drop(&mut self) {
        let refused = self.0.jobs().take();
        drop(refused);
    }
}

/// What waits for the world on behalf of the thread.
pub(crate) struct Doorway {
    disk: Disk,
    disk_bell: Option<OwnedFd>,
    queue: Arc<Queue>,
    inside: Inside,
    batch: Vec<Job>,
}

impl Doorway {
    pub(crate) fn new(disk: Disk, queue: Arc<Queue>, fs: LocalVolume, spawner: Spawner) -> Doorway {
        let disk_bell = disk.waking();
        let inside = Inside { fs, spawner, closed: Rc::default(), changed: Rc::default() };
        Doorway { disk, disk_bell, queue, inside, batch: Vec::new() }
    }

    pub(crate) fn fs(&self) -> LocalVolume {
        self.inside.fs.clone()
    }

    /// Waits until a job has closed it.
    pub(crate) fn closed(&self) -> impl Future<Output = ()> + use<> {
        let (closed, changed) = (Rc::clone(&self.inside.closed), Rc::clone(&self.inside.changed));
        async move { changed.until(|_| closed.get().then_some(())).await }
    }

    /// Starts what was asked for; whether that was anything.
    fn take_in(&mut self) -> bool {
        self.queue.take(&mut self.batch);
        let is_some = !self.batch.is_empty();
        self.batch.drain(..).for_each(|job| job(&self.inside));
        is_some
    }

    /// Until somebody rings or the disk has something.
    fn sleep(&mut self) {
        match &self.disk_bell {
            // A disk that cannot be listened to is waited for alone: what is asked meanwhile waits,
            // too.
            None if self.disk.under_way() > 0 => {
                self.disk.turn(true);
            }
            disk_bell => {
                let bells = [Some(&self.queue.bell), disk_bell.as_ref()];
                let mut bells: Vec<PollFd<'_>> = bells
                    .into_iter()
                    .flatten()
                    .map(|bell| PollFd::from_borrowed_fd(bell.as_fd(), PollFlags::IN))
                    .collect();
                // A signal ends it early, which does no harm.
                let _interrupted = poll(&mut bells, None);
            }
        }
    }
}

impl Driver for Doorway {
    fn turn(&mut self, wait: bool) -> bool {
        let before = self.disk.under_way();
        let is_asked = self.take_in();
        self.disk.turn(false);
        // What has completed has woken somebody: there is nothing to wait for.
        if !wait || is_asked || self.disk.under_way() < before {
            return true;
        }
        self.queue.is_asleep.store(true, Ordering::SeqCst);
        if self.queue.is_empty() {
            self.sleep();
        }
        if !self.queue.is_asleep.swap(false, Ordering::SeqCst) {
            // Somebody rings, or will in a moment: that would only wake us once too often.
            let _silent = rustix::io::read(&self.queue.bell, &mut [0_u8; 8]);
        }
        self.take_in();
        self.disk.turn(false);
        true
    }
}
