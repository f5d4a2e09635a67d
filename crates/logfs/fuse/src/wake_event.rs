//! Wakes a thread that sleeps in its transport when another thread has sent it a message.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

use crate::MountError;

/// Readable from the first wake until it is cleared.
#[derive(Debug)]
pub(crate) struct WakeEvent {
    fd: OwnedFd,
    /// Whether it has been signalled, so that many messages take one system call.
    is_set: AtomicBool,
}

impl WakeEvent {
    pub(crate) fn new() -> Result<WakeEvent, MountError> {
        let fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
        let fd = fd.map_err(|error| MountError::System("eventfd", error.into()))?;
        Ok(WakeEvent { fd, is_set: AtomicBool::new(false) })
    }

    pub(crate) fn wake(&self) {
        if !self.is_set.swap(true, Ordering::SeqCst) {
            // EAGAIN: the counter is full, and readable.
            let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
        }
    }

    /// To be called before looking at the messages: a later one signals again.
    pub(crate) fn clear(&self) {
        // EAGAIN: the sender has set the flag but not written yet. The signal then stays pending.
        if self.is_set.load(Ordering::SeqCst) && rustix::io::read(&self.fd, &mut [0; 8]).is_ok() {
            self.is_set.store(false, Ordering::SeqCst);
        }
    }
}

impl AsFd for WakeEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn is_readable(event: &WakeEvent) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::from_borrowed_fd(event.as_fd(), PollFlags::IN)], Some(&at_once)) == Ok(1)
    }

    #[test]
    fn an_event_is_readable_until_it_is_cleared_and_then_again() {
        let event = WakeEvent::new().unwrap();
        assert!(!is_readable(&event));
        for _ in 0..3 {
            event.wake();
            event.wake();
            assert!(is_readable(&event));
            event.clear();
            assert!(!is_readable(&event));
        }
    }
}
