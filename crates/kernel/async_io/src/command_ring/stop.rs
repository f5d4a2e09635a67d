//! Stops a server, from another thread or by a signal.
//!
//! A stop is a descriptor that becomes readable, so that a server can wait for it and for requests
//! at the same time. A second request can be distinguished from the first; the server decides what
//! it means.
//!
//! Unsafe because making a `signalfd` and blocking signals have no safe wrapper.
#![allow(unsafe_code, reason = "island: signalfd and the signal mask")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};

/// Signals that end a program by default and are sent to end it (signal(7)): an interrupt, a plain
/// `kill`, a closed terminal, an alarm. SIGQUIT is not included, because it requests a core file.
const ENDING: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];

/// A request to end that may arrive at any time.
#[derive(Debug)]
pub struct Stop {
    fd: OwnedFd,
}

impl Stop {
    /// Creates a stop that [`Stop::raise`] raises.
    pub fn by_hand() -> io::Result<Stop> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Stop { fd: eventfd(0, flags)? })
    }

    /// Creates a stop that is raised by the signals which ask a program to end (`ENDING`). They are
    /// blocked for the calling thread and the threads that it starts from now on, so call this
    /// before there are others.
    pub fn by_signals() -> io::Result<Stop> {
        let mut signals = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset initialises the set before anything reads it; the calls only use the
        // set, and nothing else owns the descriptor that signalfd returns.
        let fd = unsafe {
            libc::sigemptyset(signals.as_mut_ptr());
            for signal in ENDING {
                libc::sigaddset(signals.as_mut_ptr(), signal);
            }
            if libc::pthread_sigmask(libc::SIG_BLOCK, signals.as_ptr(), std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            libc::signalfd(-1, signals.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was made above, is open, and has no other owner.
        Ok(Stop { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Requests the end. This works only for [`Stop::by_hand`]; otherwise it does nothing.
    pub fn raise(&self) {
        // A signalfd cannot be written. If the counter is full, the stop has already been raised.
        let _ = write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Whether the stop was raised since the last call. Does not wait.
    pub fn take(&self) -> bool {
        const SIGNAL_RECORD_BYTES: usize = 128;
        read(&self.fd, &mut [0; SIGNAL_RECORD_BYTES]).is_ok_and(|bytes| bytes > 0)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for Stop {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raised_by_hand_it_is_taken_once() {
        let stop = Stop::by_hand().unwrap();
        assert!(!stop.take());
        stop.raise();
        stop.raise();
        assert!(stop.take());
        assert!(!stop.take());
    }

    #[test]
    fn raised_by_a_signal_it_is_taken_once_for_each() {
        std::thread::spawn(|| {
            let stop = Stop::by_signals().unwrap();
            stop.raise();
            assert!(!stop.take(), "writing does not raise it");
            for signal in ENDING {
                // SAFETY: the call sends a signal to this thread, which blocks it.
                unsafe { libc::pthread_kill(libc::pthread_self(), signal) };
                assert!(stop.take(), "{signal}");
                assert!(!stop.take(), "{signal}");
            }
        })
        .join()
        .unwrap();
    }
}
