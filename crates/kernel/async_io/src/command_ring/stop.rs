//! Stopping a server, from another thread or by a signal.
//!
//! A stop is a descriptor that becomes readable, so that a server can wait for it and for requests
//! at once. A second request can be told from the first: the server decides what it means.
//!
//! Unsafe: making a `signalfd` and blocking signals have no safe wrapper.
#![allow(unsafe_code, reason = "island: signalfd and the signal mask")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};

/// Signals that end a program by default, and that are sent to end it (signal(7)): an interrupt, a
/// plain `kill`, a terminal that is closed, an alarm. Not SIGQUIT, which asks for a core file.
const ENDING: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];

/// A request to end that may arrive at any time.
#[derive(Debug)]
pub struct Stop {
    fd: OwnedFd,
}

impl Stop {
    /// One that is raised by [`Stop::raise`].
    pub fn by_hand() -> io::Result<Stop> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Stop { fd: eventfd(0, flags)? })
    }

    /// One that is raised by the signals that ask a program to end (`ENDING`), which are blocked
    /// for the calling thread and the threads it starts from now on: call it before there are
    /// others.
    pub fn by_signals() -> io::Result<Stop> {
        let mut signals = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset initialises the set before anything reads it; the calls only use the
        // set, and the descriptor that signalfd returns belongs to nobody else.
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
        // SAFETY: made above, open, and owned by nobody else.
        Ok(Stop { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Asks for the end. Only for [`Stop::by_hand`]; otherwise it does nothing.
    pub fn raise(&self) {
        // A signalfd cannot be written, and a counter that is full has been raised.
        let _ = write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Whether it was raised since the last call; does not wait.
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
                // SAFETY: sends a signal to this very thread, which has it blocked.
                unsafe { libc::pthread_kill(libc::pthread_self(), signal) };
                assert!(stop.take(), "{signal}");
                assert!(!stop.take(), "{signal}");
            }
        })
        .join()
        .unwrap();
    }
}
