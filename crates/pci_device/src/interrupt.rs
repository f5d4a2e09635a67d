//! Interrupts as events: what MSI-X is between processes and threads.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, retry_on_intr};

/// One vector: the device signals, the driver waits. Signals that nobody has waited for are one signal.
#[derive(Debug, Clone)]
pub struct Interrupt {
    event: Arc<OwnedFd>,
}

impl Interrupt {
    /// A vector that nobody signals yet.
    pub fn new() -> io::Result<Interrupt> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Interrupt { event: Arc::new(event) })
    }

    /// The vector behind a non-blocking `eventfd(2)` made elsewhere.
    pub fn from_eventfd(event: OwnedFd) -> Interrupt {
        Interrupt { event: Arc::new(event) }
    }

    /// Signals it. A driver that has gone is no trouble of the device.
    pub fn signal(&self) {
        // A full counter (EAGAIN) is a signal that is pending already, and the descriptor has no other way to fail.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    /// Takes the signal if there is one.
    pub fn take(&self) -> bool {
        let mut count = [0; 8];
        retry_on_intr(|| rustix::io::read(&self.event, &mut count)).is_ok()
    }

    /// Waits for a signal and takes it; `false` when none came in time.
    pub fn wait(&self, timeout: Duration) -> io::Result<bool> {
        let timeout = Timespec::try_from(timeout).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
        let mut watched = [PollFd::new(&self.event, PollFlags::IN)];
        match poll(&mut watched, Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => Ok(false),
            Ok(_) => Ok(self.take()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

/// The vectors that a host has given to a device model; shared by both.
#[derive(Debug, Clone)]
pub struct InterruptTable {
    vectors: Arc<Mutex<Vec<Option<Interrupt>>>>,
}

impl InterruptTable {
    /// A table for `count` vectors, none of which is connected.
    pub fn with_vectors(count: u16) -> InterruptTable {
        InterruptTable { vectors: Arc::new(Mutex::new(vec![None; usize::from(count)])) }
    }

    /// How many vectors the function has.
    pub fn count(&self) -> u16 {
        u16::try_from(self.lock().len()).unwrap_or(u16::MAX)
    }

    /// Connects a vector, or with `None` takes its event away; `false` when there is no such vector.
    pub fn connect(&self, vector: u16, interrupt: Option<Interrupt>) -> bool {
        match self.lock().get_mut(usize::from(vector)) {
            Some(entry) => {
                *entry = interrupt;
                true
            }
            None => false,
        }
    }

    /// The event of a vector, for a device to keep and signal without looking here again.
    pub fn get(&self, vector: u16) -> Option<Interrupt> {
        self.lock().get(usize::from(vector)).cloned().flatten()
    }

    /// Signals a vector, if it is connected.
    pub fn signal(&self, vector: u16) {
        if let Some(interrupt) = self.get(vector) {
            interrupt.signal();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Option<Interrupt>>> {
        // A table is whole after every step, so a thread that panicked with the lock left nothing half done.
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_waited_for_and_taken_once() {
        let interrupt = Interrupt::new().unwrap();
        assert!(!interrupt.take());
        assert!(!interrupt.wait(Duration::ZERO).unwrap());
        interrupt.clone().signal();
        interrupt.signal();
        assert!(interrupt.wait(Duration::from_secs(60)).unwrap());
        assert!(!interrupt.take(), "two signals before the wait are one");
    }

    #[test]
    fn a_table_signals_what_is_connected() {
        let table = InterruptTable::with_vectors(2);
        let interrupt = Interrupt::new().unwrap();
        assert!(table.connect(1, Some(interrupt.clone())));
        assert!(!table.connect(2, None));
        table.signal(0);
        table.signal(9);
        assert!(!interrupt.take());
        table.clone().signal(1);
        assert!(interrupt.take());
        assert!(table.connect(1, None));
        table.signal(1);
        assert!(!interrupt.take());
        assert_eq!(table.count(), 2);
    }
}
