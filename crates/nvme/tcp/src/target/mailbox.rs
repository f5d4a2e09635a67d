//! Passes connections from the accepting thread to the threads that serve them.

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

/// The source of a poller's new connections.
#[derive(Debug)]
pub(super) struct Mailbox {
    sockets: Mutex<Vec<TcpStream>>,
    pub(super) wake: OwnedFd,
    pub(super) stop: AtomicBool,
}

impl Mailbox {
    pub(super) fn new() -> io::Result<Mailbox> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Mailbox { sockets: Mutex::default(), wake, stop: AtomicBool::new(false) })
    }

    fn signal(&self) {
        // This fails only if a signal is already pending.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// Passes a connection to the poller.
    pub(super) fn send(&self, socket: TcpStream) {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
        self.signal();
    }

    /// Ends the poller.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.signal();
    }

    /// The connections passed since the last call.
    pub(super) fn take(&self) -> Vec<TcpStream> {
        let mut count = [0; 8];
        // If there is nothing to read, the signal was already taken; that is not a failure.
        let _ = rustix::io::read(&self.wake, &mut count);
        std::mem::take(&mut *self.sockets.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
