//! Interrupts as events: the equivalent of MSI-X between processes and threads.
//!
//! ```text
//! Interrupt::new()     eventfd            the kernel, or a device of this process, signals
//! Interrupt::pair()    socket ── socket   a device of another process signals the far end
//! ```
//!
//! Signalling a socket never blocks, whatever the other end does: every single message is sent with
//! `MSG_DONTWAIT` (send(2)). An eventfd cannot promise that between processes: a process that
//! shares it can fill its counter and make it blocking, and then a write blocks (eventfd(2)). If a
//! protocol requires the eventfd of another process ([`Interrupt::of_eventfd`]), another thread
//! must keep it from blocking ([`Interrupt::relieve`]).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair, sockopt};

/// Bytes of room for datagrams in transit: the kernel's minimum (socket(7)), enough for a few of
/// them. One datagram is a signal.
const ROOM_BYTES: usize = 1;
/// Signals taken from a socket at a time: more than fit into it. Signals that the other end sends
/// meanwhile are taken the next time.
const MOST_TAKEN: usize = 64;

/// One vector: the device signals, the driver waits. Several signals before a wait count as one.
#[derive(Debug, Clone)]
pub struct Interrupt {
    event: Arc<OwnedFd>,
    is_socket: bool,
}

impl Interrupt {
    /// Creates a vector without a signaller yet, for the kernel or a device in this process.
    ///
    /// # Errors
    /// The error of eventfd(2).
    pub fn new() -> io::Result<Interrupt> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Interrupt { event: Arc::new(event), is_socket: false })
    }

    /// Creates a vector that a device in another process signals. Also returns the descriptor to
    /// send to that process.
    ///
    /// # Errors
    /// The error of socketpair(2).
    pub fn pair() -> io::Result<(Interrupt, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (near, far) = socketpair(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
        sockopt::set_socket_send_buffer_size(&far, ROOM_BYTES)?;
        Ok((Interrupt { event: Arc::new(near), is_socket: true }, far))
    }

    /// The device's end of a pair created by [`Interrupt::pair`] in another process.
    ///
    /// # Errors
    /// The descriptor is not a Unix datagram socket: signalling with it could block.
    pub fn of_peer(event: OwnedFd) -> io::Result<Interrupt> {
        let is_ours = sockopt::socket_domain(&event) == Ok(AddressFamily::UNIX)
            && sockopt::socket_type(&event) == Ok(SocketType::DGRAM);
        if !is_ours {
            let what = "an interrupt needs a Unix datagram socket, and this is not one";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        Ok(Interrupt { event: Arc::new(event), is_socket: true })
    }

    /// The device's end of an eventfd that another process created and waits for. Signalling it
    /// blocks if that process has filled its counter; [`Interrupt::relieve`] ends that.
    ///
    /// # Errors
    /// The descriptor is not an eventfd.
    pub fn of_eventfd(event: OwnedFd) -> io::Result<Interrupt> {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", event.as_raw_fd()))?;
        if link.to_str() != Some("anon_inode:[eventfd]") {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not an eventfd"));
        }
        Ok(Interrupt { event: Arc::new(event), is_socket: false })
    }

    /// Empties an eventfd whose counter was filled, so that signalling it does not block.
    pub fn relieve(&self) {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut watched = [PollFd::new(&self.event, PollFlags::OUT | PollFlags::IN)];
        let found = !self.is_socket && poll(&mut watched, Some(&now)).is_ok_and(|count| count > 0);
        if found && watched[0].revents().contains(PollFlags::IN) && !watched[0].revents().contains(PollFlags::OUT) {
            self.take();
        }
    }

    /// Signals the vector. This does not block, except as described at [`Interrupt::of_eventfd`]. A
    /// driver that is gone, or does not take signals, is not an error for the device.
    pub fn signal(&self) {
        // A full counter or queue (EAGAIN) means that a signal is already pending.
        if self.is_socket {
            let _ = send(&self.event, &[1], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        } else {
            let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
        }
    }

    /// Takes the signal if there is one.
    pub fn take(&self) -> bool {
        let mut count = [0; 8];
        if !self.is_socket {
            return retry_on_intr(|| rustix::io::read(&self.event, &mut count)).is_ok();
        }
        let mut one = || retry_on_intr(|| recv(&self.event, &mut count, RecvFlags::DONTWAIT)).is_ok();
        (0..MOST_TAKEN).take_while(|_| one()).count() > 0
    }

    /// Waits for a signal and takes it; `false` if none came in time.
    ///
    /// # Errors
    /// The error of poll(2).
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

/// The vectors that a host has connected to a device model; shared by both.
#[derive(Debug, Clone)]
pub struct InterruptTable {
    vectors: Arc<Mutex<Vec<Option<Interrupt>>>>,
}

impl InterruptTable {
    /// A table for `count` vectors, none of which is connected.
    pub fn with_vectors(count: u16) -> InterruptTable {
        InterruptTable { vectors: Arc::new(Mutex::new(vec![None; usize::from(count)])) }
    }

    /// The number of vectors of the function.
    pub fn count(&self) -> u16 {
        u16::try_from(self.lock().len()).unwrap_or(u16::MAX)
    }

    /// Connects a vector, or with `None` disconnects it; `false` if there is no such vector.
    pub fn connect(&self, vector: u16, interrupt: Option<Interrupt>) -> bool {
        match self.lock().get_mut(usize::from(vector)) {
            Some(entry) => {
                *entry = interrupt;
                true
            }
            None => false,
        }
    }

    /// The event of a vector, which a device can keep and signal without another lookup.
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
        // A table is consistent after every step, even if a thread panicked while it held the lock.
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no sockets")]
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
    #[cfg_attr(miri, ignore = "Miri has no sockets")]
    fn a_far_end_signals_without_waiting_whatever_its_peer_does() {
        let (near, far) = Interrupt::pair().unwrap();
        // A blocking socket that is never read, made by a driver that wants to block the device.
        rustix::io::ioctl_fionbio(&far, false).unwrap();
        rustix::io::ioctl_fionbio(&near, false).unwrap();
        let device = Interrupt::of_peer(far).unwrap();
        (0..10_000).for_each(|_| device.signal());
        assert!(near.wait(Duration::from_secs(60)).unwrap());
        assert!(!near.take(), "all signals before the wait are one");
        device.signal();
        assert!(near.take());
        drop(near);
        device.signal();
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no sockets")]
    fn a_descriptor_that_could_make_the_device_wait_is_no_interrupt() {
        let event = Interrupt::new().unwrap().as_fd().try_clone_to_owned().unwrap();
        let (pipe, _writer) = rustix::pipe::pipe().unwrap();
        for odd in [event, pipe] {
            assert!(Interrupt::of_peer(odd).unwrap_err().to_string().contains("datagram"));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no sockets")]
    fn an_eventfd_that_was_filled_up_is_emptied() {
        let near = Interrupt::new().unwrap();
        let device = Interrupt::of_eventfd(near.as_fd().try_clone_to_owned().unwrap()).unwrap();
        device.signal();
        device.relieve();
        assert!(near.take(), "a signal stays");
        rustix::io::write(&near, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        device.relieve();
        assert!(!near.take());
        let (pipe, _writer) = rustix::pipe::pipe().unwrap();
        assert!(Interrupt::of_eventfd(pipe).unwrap_err().to_string().contains("eventfd"));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no sockets")]
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
