//! What ends a thread that serves, beside the end of the connection.
//!
//! ```text
//!  user ── stop ──▶ thread 0 ── unmounts, or ends ──▶ halts of the others
//!                      ▲ halt
//!  another thread that failed
//! ```

use std::os::fd::AsFd;

use iolab_export::Stop;
use rustix::event::{PollFd, PollFlags, poll};

use crate::ExportError;
use crate::channel::Channel;
use crate::unmounter::Unmounter;

/// The reasons of one thread.
pub(crate) struct Ending<'a, 'b> {
    /// The user's, for the thread that knows what to do about it.
    pub(crate) stop: Option<(&'a Stop, &'a mut Unmounter<'b>)>,
    /// The other threads'.
    pub(crate) halt: Option<&'a Stop>,
}

impl Ending<'_, '_> {
    /// Whether the thread has to end now. A first stop of the user only begins the unmounting.
    pub(crate) fn is_now(&mut self) -> Result<bool, ExportError> {
        if self.halt.is_some_and(Stop::take) {
            return Ok(true);
        }
        match &mut self.stop {
            Some((stop, unmounter)) if stop.take() => unmounter.stop(),
            _ => Ok(false),
        }
    }

    /// The descriptors that become readable when there may be a reason.
    pub(crate) fn stops(&self) -> impl Iterator<Item = &Stop> {
        self.stop.iter().map(|(stop, _)| *stop).chain(self.halt)
    }

    /// Waits until the connection has a message or there may be a reason to end; whether the latter.
    pub(crate) fn sleep(&self, channel: &Channel) -> Result<bool, ExportError> {
        let mut fds = Vec::with_capacity(3);
        fds.push(PollFd::new(&channel.fd, PollFlags::IN));
        fds.extend(self.stops().map(|stop| PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN)));
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(fds[1..].iter().any(|fd| !fd.revents().is_empty())),
            Err(error) => Err(ExportError::Connection("poll", error.into())),
        }
    }
}
