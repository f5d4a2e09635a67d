//! Many stream sockets with one system call, by an io_uring.
//!
//! Each socket has one receive that continues by itself (multishot) into buffers that the kernel
//! chooses from those provided, and at most one parcel that is being sent. [`SocketRing::round`]
//! submits and collects everything with one call for all sockets.
//!
//! ```text
//! receive(token) ─▶ Received, Received, … ─▶ Stopped       stop(token), no buffer left, end of the stream
//! send(token, parcel) ─▶ Sent                              all of it, or an error
//! watch(token) ─▶ Readable                                 once
//! ```
//!
//! Large parcels can be sent without the kernel's copy ([`RingOptions::zero_copy_above`]). Such a
//! parcel is kept here until the kernel reports that nothing reads it any more.
//!
//! One thread creates a ring and uses it. Unsafe because it queues entries with addresses. This
//! value owns what they point to until the completion, even if the ring is dropped.

mod buffers;
mod flights;

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use io_uring::{IoUring, cqueue, opcode, squeue, types};

use crate::parcel::Parcel;
use buffers::{Buffers, GROUP};
use flights::{Flights, Landing};

pub use buffers::RingBuffer;

/// Kinds of entries, in the highest byte of their user data.
const RECEIVE: u64 = 1 << 56;
const SEND: u64 = 2 << 56;
const WATCH: u64 = 3 << 56;
const STOP: u64 = 4 << 56;
const KIND: u64 = 0xff << 56;
/// How many milliseconds a ring that is dropped waits for the kernel.
const MOST_WAITS: usize = 1000;

/// The options of a ring.
#[derive(Debug, Clone, Copy)]
pub struct RingOptions {
    /// The number of entries that can be queued between two calls; more cause a call of their own.
    pub entries: u32,
    /// The number of receive buffers: a power of two, at most 32768.
    pub buffers: u16,
    /// The size of each, in bytes.
    pub buffer_bytes: usize,
    /// Parcels of at least this many bytes are sent without the kernel's copy, if the caller allows
    /// it.
    pub zero_copy_above: usize,
}

/// An event of a socket. The token is the one that the caller gave.
#[derive(Debug)]
pub enum SocketEvent {
    /// Bytes were received at the start of a buffer, which has to be given back.
    Received {
        /// The socket's token.
        token: u64,
        /// The buffer.
        buffer: RingBuffer,
        /// The number of bytes.
        bytes: usize,
    },
    /// Nothing more is received until the caller requests it again.
    Stopped {
        /// The socket's token.
        token: u64,
        /// Whether the stream has ended or failed, so that another request is pointless.
        is_over: bool,
    },
    /// A parcel was sent.
    Sent {
        /// The socket's token.
        token: u64,
        /// Whether all of it was sent.
        outcome: io::Result<()>,
        /// The parcel, for reuse, unless the kernel still reads it.
        parcel: Option<Box<Parcel>>,
    },
    /// A watched descriptor is readable.
    Readable {
        /// The descriptor's token.
        token: u64,
    },
}

/// The ring.
pub struct SocketRing {
    /// Dropped in `drop`, before the memory that the kernel may still use.
    ring: Option<IoUring>,
    buffers: Option<Buffers>,
    flights: Flights,
    queued: u32,
    /// The number of receives, watches and stops that have not ended.
    outstanding: usize,
    zero_copy_above: usize,
}

impl std::fmt::Debug for SocketRing {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "SocketRing({} outstanding, {} parcels)", self.outstanding, self.flights.len())
    }
}

impl SocketRing {
    /// Creates a ring for the calling thread.
    ///
    /// # Errors
    /// The kernel has no io_uring, forbids it, or lacks a required feature (Linux 6.1 has all).
    pub fn new(options: &RingOptions) -> io::Result<SocketRing> {
        let mut builder = IoUring::builder();
        builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().setup_submit_all();
        builder.setup_cqsize(options.entries.saturating_mul(8).max(u32::from(options.buffers) * 2));
        let ring: IoUring = builder.build(options.entries)?;
        let buffers = Buffers::new(&ring, options.buffers, options.buffer_bytes)?;
        Ok(SocketRing {
            ring: Some(ring),
            buffers: Some(buffers),
            flights: Flights::default(),
            queued: 0,
            outstanding: 0,
            zero_copy_above: options.zero_copy_above,
        })
    }

    fn ring(&mut self) -> &mut IoUring {
        let Some(ring) = &mut self.ring else { unreachable!("it is taken by `drop` alone") };
        ring
    }

    /// Receives from a socket until the stream ends, [`SocketRing::stop`] is called, or no buffer
    /// is left. Tokens have 56 bits.
    pub fn receive(&mut self, socket: impl AsFd, token: u64) -> io::Result<()> {
        let fd = types::Fd(socket.as_fd().as_raw_fd());
        self.outstanding += 1;
        // SAFETY: the kernel only writes to buffers of the group, which live as long as the ring.
        unsafe { self.push(&opcode::RecvMulti::new(fd, GROUP).build().user_data(RECEIVE | token)) }
    }

    /// Ends a receive. Bytes that have arrived are still reported, followed by the stop.
    pub fn stop(&mut self, token: u64) -> io::Result<()> {
        self.outstanding += 1;
        // SAFETY: the entry contains no address.
        unsafe { self.push(&opcode::AsyncCancel::new(RECEIVE | token).build().user_data(STOP)) }
    }

    /// Reports once when a descriptor is readable.
    pub fn watch(&mut self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let fd = types::Fd(fd.as_fd().as_raw_fd());
        self.outstanding += 1;
        // SAFETY: the entry contains no address.
        unsafe { self.push(&opcode::PollAdd::new(fd, libc::POLLIN as u32).build().user_data(WATCH | token)) }
    }

    /// Sends all of a parcel. `may_share` allows the kernel to read its memory until the peer has
    /// acknowledged it; changes of the memory in the meantime may be sent instead.
    pub fn send(&mut self, socket: impl AsFd, token: u64, parcel: Box<Parcel>, may_share: bool) -> io::Result<()> {
        let shares = may_share && parcel.unsent() >= self.zero_copy_above;
        let fd = socket.as_fd().as_raw_fd();
        let number = self.flights.begin(token, fd, shares, parcel);
        self.submit_flight(number)
    }

    fn submit_flight(&mut self, number: usize) -> io::Result<()> {
        let Some((fd, message, shares)) = self.flights.prepare(number) else { return Ok(()) };
        let flags = (libc::MSG_NOSIGNAL | libc::MSG_WAITALL) as u32;
        let fd = types::Fd(fd);
        let entry = if shares {
            opcode::SendMsgZc::new(fd, message).flags(flags).build()
        } else {
            opcode::SendMsg::new(fd, message).flags(flags).build()
        };
        // SAFETY: the flight owns the message, its list and the parcel, and ends with the last
        // completion.
        unsafe { self.push(&entry.user_data(SEND | number as u64)) }
    }

    /// Returns a buffer, which can then receive more bytes.
    #[inline]
    pub fn give_back(&mut self, buffer: RingBuffer) {
        if let Some(buffers) = &mut self.buffers {
            buffers.give_back(buffer);
        }
    }

    /// # Safety
    /// Everything that the entry points to lives until its last completion.
    unsafe fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the caller guarantees this.
        while unsafe { self.ring().submission().push(entry) }.is_err() {
            self.enter(None)?;
        }
        self.queued += 1;
        Ok(())
    }

    /// Whether [`SocketRing::round`] would find anything without waiting.
    #[inline]
    pub fn has_work(&mut self) -> bool {
        let queued = self.queued;
        let ring = self.ring();
        queued > 0 || !ring.completion().is_empty() || ring.submission().taskrun()
    }

    /// Submits the queued entries, lets the kernel work, and waits until there is an event, at most
    /// for the given time.
    #[inline]
    pub fn round(&mut self, at_most: Duration) -> io::Result<()> {
        self.enter((!at_most.is_zero()).then_some(at_most))
    }

    fn enter(&mut self, wait: Option<Duration>) -> io::Result<()> {
        const IORING_ENTER_GETEVENTS: u32 = 1;
        let queued = self.queued;
        let ring = self.ring();
        let entered = match wait {
            // SAFETY: no argument is passed. Whoever pushed the queued entries guarantees that
            // their addresses are valid.
            None => unsafe { ring.submitter().enter::<()>(queued, 0, IORING_ENTER_GETEVENTS, None) },
            Some(wait) => {
                let until = types::Timespec::from(wait);
                ring.submitter().submit_with_args(1, &types::SubmitArgs::new().timespec(&until))
            }
        };
        match entered {
            Ok(taken) => self.queued = queued.saturating_sub(taken as u32),
            Err(error) => match error.raw_os_error() {
                // The entries were submitted before the wait, which ended early.
                Some(libc::ETIME | libc::EINTR) if wait.is_some() => self.queued = self.unsubmitted(),
                // Completions must be taken first. The caller does so and calls again.
                Some(libc::EINTR | libc::EBUSY | libc::EAGAIN) => self.queued = self.unsubmitted(),
                _ => return Err(error),
            },
        }
        Ok(())
    }

    fn unsubmitted(&mut self) -> u32 {
        self.ring().submission().len() as u32
    }

    /// Returns the next event, oldest first.
    #[inline]
    pub fn next_event(&mut self) -> Option<SocketEvent> {
        loop {
            let entry = self.ring().completion().next()?;
            if let Some(event) = self.interpret(&entry) {
                return Some(event);
            }
        }
    }

    #[inline]
    fn interpret(&mut self, entry: &cqueue::Entry) -> Option<SocketEvent> {
        let token = entry.user_data() & !KIND;
        let goes_on = cqueue::more(entry.flags());
        match entry.user_data() & KIND {
            RECEIVE => {
                if !goes_on {
                    self.outstanding -= 1;
                }
                self.received(token, entry, goes_on)
            }
            SEND => self.landed(token as usize, entry),
            WATCH => {
                self.outstanding -= 1;
                Some(SocketEvent::Readable { token })
            }
            _ => {
                self.outstanding -= 1;
                None
            }
        }
    }

    #[inline]
    fn received(&mut self, token: u64, entry: &cqueue::Entry, goes_on: bool) -> Option<SocketEvent> {
        let buffer = cqueue::buffer_select(entry.flags()).and_then(|number| self.buffers.as_mut()?.take(number));
        match (entry.result(), buffer) {
            (bytes @ 1.., Some(buffer)) => {
                if !goes_on {
                    self.flights.stopped.push_back(token);
                }
                Some(SocketEvent::Received { token, buffer, bytes: bytes as usize })
            }
            (result, buffer) => {
                if let Some(buffer) = buffer {
                    self.give_back(buffer);
                }
                let comes_back = matches!(-result, libc::ENOBUFS | libc::ECANCELED | libc::EINTR | libc::EAGAIN);
                (!goes_on).then_some(SocketEvent::Stopped { token, is_over: !comes_back })
            }
        }
    }

    fn landed(&mut self, number: usize, entry: &cqueue::Entry) -> Option<SocketEvent> {
        let flags = entry.flags();
        match self.flights.land(number, entry.result(), cqueue::notif(flags), cqueue::more(flags)) {
            Landing::Nothing => None,
            Landing::Again => {
                // There is at most one such entry per socket, so it fits; otherwise the ring is
                // broken for all sockets.
                let _ = self.submit_flight(number);
                None
            }
            Landing::Over { token, outcome, parcel } => Some(SocketEvent::Sent { token, outcome, parcel }),
        }
    }

    /// A receive that ended together with its last bytes.
    #[inline]
    pub fn next_stopped(&mut self) -> Option<u64> {
        self.flights.stopped.pop_front()
    }
}

impl SocketRing {
    /// Ends all operations, those that were not submitted yet, too. Returns whether all have ended.
    fn end_all(&mut self) -> bool {
        for turn in 0..MOST_WAITS {
            if self.has_ended() {
                return true;
            }
            // Only what has been submitted can be cancelled.
            if self.queued > 0 || turn == 0 {
                let _ = self.enter(None);
                let everything = types::CancelBuilder::any();
                // Operations that cannot be cancelled end by themselves, which is waited for.
                let _ = self.ring().submitter().register_sync_cancel(None, everything);
            }
            let _ = self.enter(Some(Duration::from_millis(1)));
            while let Some(event) = self.next_event() {
                if let SocketEvent::Received { buffer, .. } = event {
                    self.give_back(buffer);
                }
            }
        }
        self.has_ended()
    }

    fn has_ended(&self) -> bool {
        self.outstanding == 0 && self.flights.len() == 0
    }
}

impl Drop for SocketRing {
    fn drop(&mut self) {
        let have_ended = self.end_all();
        drop(self.ring.take());
        if !have_ended {
            // The kernel may still access the memory, so it is leaked instead of freed.
            let _ = ManuallyDrop::new(self.buffers.take());
            self.flights.leak();
        }
    }
}

#[cfg(test)]
mod tests;
