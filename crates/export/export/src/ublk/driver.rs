//! The kernel's command interface as seen by the server: commands go in, events come out.
//!
//! The real one is a ring; tests replace it by a driver of their own.
//!
//! Unsafe: commands hold addresses.
#![allow(unsafe_code, reason = "island: commands with addresses")]

use std::io;
use std::os::fd::RawFd;

use crate::{CommandRing, RingCommand, RingEvent};

/// The destination of commands.
pub(crate) trait Driver {
    /// Queues a command.
    ///
    /// # Safety
    /// What the command points to has to stay valid and untouched as long as the driver may use it:
    /// data of the command until its event, the payload of a tag until the tag's next command.
    unsafe fn push(&mut self, command: &RingCommand) -> io::Result<()>;

    /// Queues a wait for a descriptor to become readable.
    fn watch(&mut self, fd: RawFd, token: u64) -> io::Result<()>;

    /// Submits what was queued, and sleeps until something happens unless `busy`.
    fn round(&mut self, busy: bool, looks: u32) -> io::Result<()>;

    /// The next event, oldest first.
    fn next_event(&mut self) -> Option<RingEvent>;
}

impl Driver for CommandRing {
    #[inline]
    unsafe fn push(&mut self, command: &RingCommand) -> io::Result<()> {
        // SAFETY: the caller's promise, passed on.
        unsafe { CommandRing::push(self, command) }
    }

    fn watch(&mut self, fd: RawFd, token: u64) -> io::Result<()> {
        CommandRing::watch(self, fd, token)
    }

    #[inline]
    fn round(&mut self, busy: bool, looks: u32) -> io::Result<()> {
        CommandRing::round(self, busy, looks)
    }

    #[inline]
    fn next_event(&mut self) -> Option<RingEvent> {
        CommandRing::next_event(self)
    }
}
