//! A queue of completions, and the channel that wakes a thread for them.
#![allow(unsafe_code, reason = "island: calls of verbs with their own objects")]

use std::ffi::c_int;
use std::os::fd::BorrowedFd;

use crate::abi::{CompChannel, Cq};
use crate::adapter::Open;
use crate::error::VerbsError;
use crate::library::Libraries;

/// A queue with its channel.
#[derive(Debug)]
pub(crate) struct Completions {
    libraries: &'static Libraries,
    channel: *mut CompChannel,
    pub(crate) queue: *mut Cq,
}

impl Completions {
    /// Creates a queue for this many completions.
    pub(crate) fn new(open: &Open, entries: u32) -> Result<Completions, VerbsError> {
        let verbs = &open.libraries().verbs;
        // SAFETY: the adapter is open.
        let channel = unsafe { (verbs.ibv_create_comp_channel)(open.context()) };
        if channel.is_null() {
            return Err(VerbsError::last("a channel of completions"));
        }
        let mut made = Completions { libraries: open.libraries(), channel, queue: std::ptr::null_mut() };
        rustix::io::ioctl_fionbio(made.descriptor(), true)
            .map_err(|error| VerbsError::failed("a channel of completions", error))?;
        let entries = c_int::try_from(entries).unwrap_or(c_int::MAX);
        // SAFETY: the adapter is open, the channel belongs to it, and the caller passes no context.
        made.queue = unsafe { (verbs.ibv_create_cq)(open.context(), entries, std::ptr::null_mut(), channel, 0) };
        if made.queue.is_null() {
            return Err(VerbsError::last(format!("a queue of {entries} completions")));
        }
        Ok(made)
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel and its descriptor live as long as this object.
        unsafe { BorrowedFd::borrow_raw((*self.channel).fd) }
    }

    /// Requests a signal for the next completion.
    pub(crate) fn arm(&self) {
        // SAFETY: the queue belongs to this library, and its context has the function.
        unsafe { ((*(*self.queue).context).ops.req_notify_cq)(self.queue, 0) };
    }

    /// Takes pending signals.
    pub(crate) fn take_signals(&self) {
        let (mut queue, mut context) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the channel belongs to this library and does not block, and there are places for
        // the answer. Each signal is acknowledged at once, because destroying the queue waits for
        // that.
        unsafe {
            while (self.libraries.verbs.ibv_get_cq_event)(self.channel, &raw mut queue, &raw mut context) == 0 {
                (self.libraries.verbs.ibv_ack_cq_events)(queue, 1);
            }
        }
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        // SAFETY: both belong to this library; the queue pair is gone, and all signals are
        // acknowledged.
        unsafe {
            if !self.queue.is_null() {
                (self.libraries.verbs.ibv_destroy_cq)(self.queue);
            }
            (self.libraries.verbs.ibv_destroy_comp_channel)(self.channel);
        }
    }
}
