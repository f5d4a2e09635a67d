//! Notifications to the kernel that something it has cached of an inode is no longer valid.
//!
//! The kernel invalidates pages before a direct write, and after one that it waited for. It does
//! not after an asynchronous one, so that a concurrent buffered read leaves old bytes in the page
//! cache (`generic_file_direct_write`, `fuse_aio_complete`). It also keeps the mode of a file whose
//! privileges the server has stripped. A task that replies to such a request notifies the kernel
//! first.
//!
//! ```text
//!  task ── notice ──▶ thread ── write(/dev/fuse) ──▶ kernel drops pages, waits for those being read
//!    ▲                  │
//!    └─ waker, eventfd ─┘       or the timer, after TIMEOUT_SECONDS
//! ```
//!
//! The kernel waits for pages that are being read or written, and this file system's own thread
//! serves those requests. A separate thread therefore notifies the kernel. A page may belong to a
//! write that itself waits for this reply: the rest of a direct write that the kernel finished
//! through the page cache. The task therefore waits for a limited time. The pages of such a write
//! hold what it wrote.

use std::collections::HashMap;
use std::future::Future;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use iolab_fuse::abi::Body;
use iolab_fuse::channel::Channel;
use iolab_logfs::InodeId;
use rustix::event::{EventfdFlags, eventfd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::MountError;

/// `FUSE_NOTIFY_INVAL_INODE`.
const INVALIDATE_INODE: i32 = 2;
/// How long a reply waits for the kernel, seconds: longer than any page takes on a busy machine,
/// because a program that gets its reply too early may read old bytes.
const TIMEOUT_SECONDS: i64 = 5;
/// An offset that selects the attributes only (`fuse_reverse_inval_inode`).
const ATTRIBUTES_ALONE: i64 = -1;

/// One notice: `struct fuse_notify_inval_inode_out`, and the ticket of the task that waits for it.
#[derive(Debug)]
struct Notice {
    ticket: u64,
    inode: InodeId,
    offset: i64,
    length: i64,
}

/// Tasks by the ticket of their notice.
type Waiting = HashMap<u64, Waiter>;

/// A task that waits for its notice.
#[derive(Debug)]
enum Waiter {
    /// It waits; without a waker until it is polled.
    Waits(Option<Waker>),
    /// It has waited long enough.
    TimedOut,
}

impl Waiter {
    fn wake(self) {
        if let Waiter::Waits(Some(waker)) = self {
            waker.wake();
        }
    }
}

/// The state shared by the thread and the tasks.
#[derive(Debug, Clone)]
struct Shared(Arc<Mutex<Waiting>>);

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernel has been notified.
    fn finish(&self, ticket: u64) {
        let waiter = self.waiting().remove(&ticket);
        waiter.into_iter().for_each(Waiter::wake);
    }

    /// Ends all waiting.
    fn time_out(&self) {
        for waiter in self.waiting().values_mut() {
            std::mem::replace(waiter, Waiter::TimedOut).wake();
        }
    }
}

/// Sends notices to the kernel.
#[derive(Debug)]
pub(crate) struct Notices {
    shared: Shared,
    /// Sends to the thread; `None` before the connection exists.
    sender: Option<Sender<Notice>>,
    next_ticket: u64,
    /// Notices that have not been counted from `sent_fd` yet.
    under_way: u64,
    /// Readable when the thread has sent notices.
    sent_fd: OwnedFd,
    /// A timer that expires when a task has waited long enough.
    timeout_fd: OwnedFd,
}

impl Notices {
    pub(crate) fn new() -> Result<Notices, MountError> {
        let sent_fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
        let sent_fd = sent_fd.map_err(|error| MountError::System("eventfd", error.into()))?;
        let timeout_fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC);
        let timeout_fd = timeout_fd.map_err(|error| MountError::System("timerfd_create", error.into()))?;
        Ok(Notices { shared: Shared(Arc::default()), sender: None, next_ticket: 0, under_way: 0, sent_fd, timeout_fd })
    }

    /// Readable when [`Notices::look`] has something to do.
    pub(crate) fn wakes(&self) -> [BorrowedFd<'_>; 2] {
        [self.sent_fd.as_fd(), self.timeout_fd.as_fd()]
    }

    /// Starts the thread, which ends when this value is dropped.
    pub(crate) fn begin(&mut self, connection: &Channel) -> Result<(), MountError> {
        let duplicate = |fd: &OwnedFd| fd.try_clone().map_err(|error| MountError::System("dup", error));
        let (channel_of_thread, sent_fd) = (Channel { fd: duplicate(&connection.fd)? }, duplicate(&self.sent_fd)?);
        let (sender, receiver) = channel();
        let shared = self.shared.clone();
        let thread = std::thread::Builder::new().name("notices".to_owned());
        let started = thread.spawn(move || send_notices(&channel_of_thread, &receiver, &shared, &sent_fd));
        started.map_err(|error| MountError::System("starting a thread", error))?;
        self.sender = Some(sender);
        Ok(())
    }

    /// Content in the page cache is outdated.
    pub(crate) fn content_changed(&mut self, inode: InodeId, offset: u64, length: u64) -> NoticeSent {
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.send(inode, signed(offset), signed(length))
    }

    /// Mode, owner or attributes are outdated.
    pub(crate) fn attributes_changed(&mut self, inode: InodeId) -> NoticeSent {
        self.send(inode, ATTRIBUTES_ALONE, 0)
    }

    fn send(&mut self, inode: InodeId, offset: i64, length: i64) -> NoticeSent {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.shared.waiting().insert(ticket, Waiter::Waits(None));
        let notice = Notice { ticket, inode, offset, length };
        if self.sender.as_ref().is_some_and(|sender| sender.send(notice).is_ok()) {
            self.under_way += 1;
            if self.under_way == 1 {
                self.set_timer(TIMEOUT_SECONDS);
            }
        } else {
            self.shared.finish(ticket);
        }
        NoticeSent { ticket, shared: self.shared.clone() }
    }

    /// Zero seconds disarm the timer.
    fn set_timer(&self, seconds: i64) {
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let once = Itimerspec { it_interval: never, it_value: Timespec { tv_sec: seconds, tv_nsec: 0 } };
        let set = timerfd_settime(&self.timeout_fd, TimerfdTimerFlags::empty(), &once);
        assert!(set.is_ok(), "a timer of its own can be set");
    }

    /// Processes sent notices and the timeout. The timeout restarts with each notice that is sent.
    pub(crate) fn look(&mut self) {
        if self.under_way == 0 {
            return;
        }
        let mut count = [0; 8];
        if rustix::io::read(&self.sent_fd, &mut count).is_ok() {
            self.under_way -= u64::from_ne_bytes(count);
            // Without a notice in flight the timer must not expire: nothing would read it.
            self.set_timer(if self.under_way > 0 { TIMEOUT_SECONDS } else { 0 });
        } else if rustix::io::read(&self.timeout_fd, &mut [0; 8]).is_ok() {
            self.shared.time_out();
            self.set_timer(TIMEOUT_SECONDS);
        }
    }
}

/// The thread: sends one notice after the other, until the sender is gone.
fn send_notices(channel: &Channel, notices: &Receiver<Notice>, shared: &Shared, sent_fd: &OwnedFd) {
    for Notice { ticket, inode, offset, length } in notices {
        let mut body = [0; 24];
        let filled = Body::new(&mut body).u64(inode.0).u64(offset as u64).u64(length as u64).length();
        assert_eq!(filled, Some(24), "struct fuse_notify_inval_inode_out has 24 bytes");
        // If the kernel has forgotten the inode (ENOENT), or the connection has ended, nothing is
        // cached.
        let _ = channel.notify(INVALIDATE_INODE, &body);
        shared.finish(ticket);
        // EAGAIN: the counter is full, and readable.
        let _ = rustix::io::write(sent_fd, &1u64.to_ne_bytes());
    }
}

/// Ready when the kernel has been notified, or after the timeout. Returns whether it has been.
#[derive(Debug)]
pub(crate) struct NoticeSent {
    ticket: u64,
    shared: Shared,
}

impl Future for NoticeSent {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<bool> {
        let mut waiting = self.shared.waiting();
        match waiting.get_mut(&self.ticket) {
            None => Poll::Ready(true),
            Some(Waiter::TimedOut) => {
                waiting.remove(&self.ticket);
                Poll::Ready(false)
            }
            Some(Waiter::Waits(waker)) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_executor::{Executor, Nothing, ReadyOrder};
    use rustix::pipe::pipe;

    fn begun() -> (Notices, OwnedFd) {
        let (reading, writing) = pipe().unwrap();
        let mut notices = Notices::new().unwrap();
        notices.begin(&Channel { fd: writing }).unwrap();
        (notices, reading)
    }

    #[test]
    fn a_notice_is_what_the_kernel_reads() {
        let (mut notices, kernel) = begun();
        let sent = notices.content_changed(InodeId(7), 4096, 8192);
        let mut bytes = [0; 64];
        assert_eq!(rustix::io::read(&kernel, &mut bytes), Ok(40));
        assert_eq!(bytes[..16], [40, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "fuse_out_header");
        assert_eq!(bytes[16..24], 7u64.to_ne_bytes());
        assert_eq!(bytes[24..40], [4096u64.to_ne_bytes(), 8192u64.to_ne_bytes()].concat()[..]);
        while sent.shared.waiting().contains_key(&sent.ticket) {
            std::thread::yield_now();
        }
        drop(notices.attributes_changed(InodeId(9)));
        assert_eq!(rustix::io::read(&kernel, &mut bytes), Ok(40));
        assert_eq!(bytes[24..32], (-1i64).to_ne_bytes());
    }

    #[test]
    fn no_task_waits_longer_than_the_timeout() {
        // A thread that never sends: a queue that nothing reads takes its place.
        let mut notices = Notices::new().unwrap();
        let (sender, kept) = channel();
        notices.sender = Some(sender);
        let sent = notices.content_changed(InodeId(7), 0, 1);
        assert!(notices.shared.waiting().contains_key(&sent.ticket));
        notices.look();
        assert!(notices.shared.waiting().contains_key(&sent.ticket), "before its time");
        let soon = Timespec { tv_sec: 0, tv_nsec: 1 };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: soon };
        timerfd_settime(&notices.timeout_fd, TimerfdTimerFlags::empty(), &once).unwrap();
        let mut fds = [rustix::event::PollFd::new(&notices.timeout_fd, rustix::event::PollFlags::IN)];
        assert_eq!(rustix::event::poll(&mut fds, None), Ok(1));
        notices.look();
        assert_eq!(Executor::new(ReadyOrder::Fair).run(&mut Nothing, sent), Ok(false));
        assert!(notices.shared.waiting().is_empty());
        drop(kept);
    }

    #[test]
    fn without_a_connection_there_is_nothing_to_wait_for() {
        let sent = Notices::new().unwrap().attributes_changed(InodeId(1));
        assert_eq!(Executor::new(ReadyOrder::Fair).run(&mut Nothing, sent), Ok(true));
    }
}
