//! What wakes a thread that sleeps in its transport, when another thread has sent it a message.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

use crate::MountError;

/// Readable from the first ringing until it is heard.
#[derive(Debug)]
pub(crate) struct Bell {
    fd: OwnedFd,
    /// Whether it rings, so that many messages take one system call.
    is_ringing: AtomicBool,
}

impl Bell {
    pub(crate) fn new() -> Result<Bell, MountError> {
        let fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
        let fd = fd.map_err(|error| MountError::System("eventfd", error.into()))?;
        Ok(Bell { fd, is_ringing: AtomicBool::new(false) })
    }

    pub(crate) fn ring(&self) {
        if !self.is_ringing.swap(true, Ordering::SeqCst) {
            // EAGAIN: the counter is full, and readable.
            let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
        }
    }

    /// To be called before looking at the messages: a later one rings again.
    pub(crate) fn hear(&self) {
        // EAGAIN: who rings has not come to writing yet. Then it stays a ringing that has to be
        // heard.
        if self.is_ringing.load(Ordering::SeqCst) && rustix::io::read(&self.fd, &mut [0; 8]).is_ok() {
            self.is_ringing.store(false, Ordering::SeqCst);
        }
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn is_heard(bell: &Bell) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::from_borrowed_fd(bell.as_fd(), PollFlags::IN)], Some(&at_once)) == Ok(1)
    }

    #[test]
    fn a_bell_rings_until_it_is_heard_and_then_again() {
        let bell = Bell::new().unwrap();
        assert!(!is_heard(&bell));
        for _ in 0..3 {
            bell.ring();
            bell.ring();
            assert!(is_heard(&bell));
            bell.hear();
            assert!(!is_heard(&bell));
        }
    }
}
