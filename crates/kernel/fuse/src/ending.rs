//! The reasons for which a serving thread ends, besides the end of the connection.
//!
//! ```text
//!  user ── stop ──▶ thread 0 ── unmounts, or ends ──▶ halts of the others
//!                      ▲ halt
//!  another thread that failed
//! ```

use std::os::fd::{AsFd, BorrowedFd};

use iolab_async_io::command_ring::Stop;
use rustix::event::{PollFd, PollFlags, poll};

use crate::FuseError;
use crate::channel::Channel;
use crate::unmounter::Unmounter;

/// The reasons that can end one thread.
#[derive(Debug)]
pub struct Ending<'a> {
    /// The user's stop, for the thread that handles it.
    pub stop: Option<(&'a Stop, &'a mut Unmounter)>,
    /// The stop that other threads raise.
    pub halt: Option<&'a Stop>,
    /// Descriptors of the service: the thread works when one of them is readable.
    pub wakes: &'a [BorrowedFd<'a>],
}

impl Ending<'_> {
    /// Whether the thread must end now. The user's first stop only begins unmounting.
    pub(crate) fn is_now(&mut self) -> Result<bool, FuseError> {
        if self.halt.is_some_and(Stop::take) {
            return Ok(true);
        }
        match &mut self.stop {
            Some((stop, unmounter)) if stop.take() => unmounter.stop(),
            _ => Ok(false),
        }
    }

    /// The stops whose descriptors become readable when there may be a reason.
    pub(crate) fn stops(&self) -> impl Iterator<Item = &Stop> {
        self.stop.iter().map(|(stop, _)| *stop).chain(self.halt)
    }

    /// Waits until the connection has a message or there may be a reason to end. Returns true in
    /// the second case.
    pub(crate) fn sleep(&self, channel: &Channel) -> Result<bool, FuseError> {
        let mut fds = Vec::with_capacity(3 + self.wakes.len());
        fds.extend(self.wakes.iter().map(|wake| PollFd::from_borrowed_fd(*wake, PollFlags::IN)));
        fds.push(PollFd::new(&channel.fd, PollFlags::IN));
        fds.extend(self.stops().map(|stop| PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN)));
        let stops = self.wakes.len() + 1;
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(fds[stops..].iter().any(|fd| !fd.revents().is_empty())),
            Err(error) => Err(FuseError::Connection("poll", error.into())),
        }
    }
}
