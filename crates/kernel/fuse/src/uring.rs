//! FUSE over io_uring: the kernel puts requests into buffers that were registered for them.
//!
//! ```text
//!  one entry = one slot:   header area, 288 bytes              payload: the slot itself
//!                          | in/out 128 | args 128 | ring 32 |  | data of WRITE, answer of READ, … |
//!
//!  REGISTER entry ─▶ (request arrives) completion ─▶ lane ─▶ COMMIT_AND_FETCH ─▶ completion …
//! ```
//!
//! Every processor has a queue, whose entries the kernel uses for requests that are made on it.
//! Each thread serves its share of the queues with one ring. The kernel begins to use the queues
//! when each has an entry. FORGET, INTERRUPT, and requests that were sent before the queues were
//! ready still come by reads of `/dev/fuse`, which the first thread does. See
//! `Documentation/filesystems/fuse/fuse-io-uring.rst` and `include/uapi/linux/fuse.h`.
//!
//! Unsafe because it passes addresses of headers and payloads to the kernel. The kernel accesses
//! them only while this thread is inside [`CommandRing::enter`], so they can be freed once the ring
//! is not entered any more.
#![allow(unsafe_code, reason = "island: addresses of headers and payloads for the kernel")]

use std::os::fd::{AsRawFd, RawFd};

use iolab_async_io::command_ring::{CommandRing, RingCommand, RingEvent};
use iolab_memory::{Backing, SlotPool};

use crate::FuseError;
use crate::abi::{InHeader, out_header, u32_at, u64_at};
use crate::channel::{Channel, Message, Received};
use crate::ending::Ending;
use crate::possible_cpus::possible_cpus;
use crate::service::{Reply, Service, Taken};

/// `struct fuse_uring_req_header`: in/out, arguments, and `struct fuse_uring_ent_in_out`.
const HEADER_BYTES: usize = 288;
const ARGS_AT: usize = 128;
const COMMIT_ID_AT: usize = 256 + 8;
const PAYLOAD_BYTES_AT: usize = 256 + 16;
/// Each header has its own cache lines.
const HEADER_STRIDE: usize = 320;

/// `enum fuse_uring_cmd`.
const REGISTER: u32 = 1;
const COMMIT_AND_FETCH: u32 = 2;

const DEVICE_TOKEN: u64 = 1 << 32;
const STOP_TOKEN: u64 = 2 << 32;
/// The lowest token of the service's descriptors; the number of the readable descriptor is added.
const WAKE_TOKENS: u64 = 3 << 32;

/// The entries: one for each slot except the last.
struct Entries {
    ring: CommandRing,
    headers: SlotPool,
    /// The header and payload of each entry as `struct iovec`: address and length.
    vectors: Box<[[u64; 4]]>,
    fd: RawFd,
    share: Share,
    /// The number of queues that the entries are for.
    queues: u16,
    rest_slot: u16,
    /// The number of entries that the kernel has not given up.
    alive: usize,
}

/// The share of a thread in the queues, of which there is one for each processor: every
/// `threads`-th queue, beginning with `thread`.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// The number of the thread.
    pub thread: usize,
    /// The number of threads.
    pub threads: usize,
}

impl Share {
    /// The number of these queues on this machine.
    fn queues(self) -> usize {
        possible_cpus().saturating_sub(self.thread).div_ceil(self.threads)
    }

    /// The queue of an entry: entries are assigned to the queues in turn.
    #[inline]
    fn queue_of(self, slot: u16, queues: u16) -> u16 {
        slot % queues * self.threads as u16 + self.thread as u16
    }
}

/// `struct fuse_uring_cmd_req`.
fn command_data(commit_id: u64, queue: u16) -> [u8; 80] {
    let mut data = [0; 80];
    data[8..16].copy_from_slice(&commit_id.to_ne_bytes());
    data[16..18].copy_from_slice(&queue.to_ne_bytes());
    data
}

impl Entries {
    fn new<S: Service>(channel: &Channel, session: &S, share: Share) -> Result<Entries, FuseError> {
        let queues = share.queues();
        let (slots, payload_bytes) = session.shape();
        let count = (slots - 1) / queues * queues;
        let no_ring = |error| FuseError::NoUring(format!("no ring: {error}"));
        let mut ring = CommandRing::new(count + 8).map_err(no_ring)?;
        ring.hold(channel.fd.as_raw_fd()).map_err(no_ring)?;
        let headers = SlotPool::new(1, count * HEADER_STRIDE, 0, &Backing::Anonymous)
            .map_err(|error| FuseError::NoUring(format!("{}: {}", error.message, error.source)))?;
        let first = headers.view().slot_ptr(0) as u64;
        let vector = |slot: usize| {
            let header = first + (slot * HEADER_STRIDE) as u64;
            [header, HEADER_BYTES as u64, session.payload_address(slot as u16), payload_bytes as u64]
        };
        let vectors = (0..count).map(vector).collect();
        let fd = channel.fd.as_raw_fd();
        let rest_slot = (slots - 1) as u16;
        Ok(Entries { ring, headers, vectors, fd, share, queues: queues as u16, rest_slot, alive: 0 })
    }

    /// The slot that has no entry.
    #[inline]
    fn rest_slot(&self) -> u16 {
        self.rest_slot
    }

    fn header(&mut self, slot: u16) -> &mut [u8] {
        let start = usize::from(slot) * HEADER_STRIDE;
        &mut self.headers.slot_mut(0)[start..start + HEADER_BYTES]
    }

    /// Offers every entry to the kernel.
    fn register(&mut self) -> Result<(), FuseError> {
        for slot in 0..self.vectors.len() {
            let command = RingCommand {
                fd: self.fd,
                operation: REGISTER,
                address: self.vectors[slot].as_ptr() as u64,
                length: 2,
                data: command_data(0, self.share.queue_of(slot as u16, self.queues)),
                token: slot as u64,
            };
            // SAFETY: vectors, headers and payloads live as long as the ring is entered: this value
            // owns the first two together with the ring, and the pool that the session borrows owns
            // the payloads.
            unsafe { self.ring.push(&command) }.map_err(ring_failed)?;
            self.alive += 1;
        }
        self.ring.enter(0).map_err(ring_failed)
    }

    /// Answers the request in a slot, and offers the slot for the next request.
    #[inline]
    fn commit(&mut self, reply: &Reply) -> Result<(), FuseError> {
        let header = self.header(reply.slot);
        let commit_id = u64_at(header, COMMIT_ID_AT).unwrap_or_default();
        header[..16].copy_from_slice(&out_header(reply.unique, reply.error, reply.body_bytes));
        header[PAYLOAD_BYTES_AT..PAYLOAD_BYTES_AT + 4].copy_from_slice(&(reply.body_bytes as u32).to_ne_bytes());
        let command = RingCommand {
            fd: self.fd,
            operation: COMMIT_AND_FETCH,
            address: 0,
            length: 0,
            data: command_data(commit_id, self.share.queue_of(reply.slot, self.queues)),
            token: u64::from(reply.slot),
        };
        // SAFETY: the command has no address of its own; those of the entry were guaranteed when it
        // was registered.
        unsafe { self.ring.push(&command) }.map_err(ring_failed)
    }

    /// The request that has arrived in a slot; `None` if it is invalid.
    #[inline]
    fn arrived<S: Service>(&mut self, slot: u16, session: &mut S, message: &mut Message) -> Option<()> {
        let header = self.header(slot);
        let payload_bytes = u32_at(header, PAYLOAD_BYTES_AT)? as usize;
        let parsed = InHeader::parse(header)?;
        let payload = session.payload(slot).get(..payload_bytes)?;
        message.assemble(parsed, &header[ARGS_AT..COMMIT_ID_AT - 8], payload);
        Some(())
    }
}

fn ring_failed(error: std::io::Error) -> FuseError {
    FuseError::Connection("io_uring_enter", error)
}

/// The result of a round.
#[derive(Default)]
struct Round {
    arrived: bool,
    ended: bool,
    stopped: bool,
    /// The indices of the service's descriptors that are readable.
    woken: Vec<usize>,
}

/// Serves until the connection ends or the user stops it. `registered` is called when requests can
/// arrive.
///
/// # Errors
/// The error of the connection or of the service.
pub fn serve<S: Service>(
    channel: &Channel,
    session: &mut S,
    idle_looks: u32,
    mut ending: Ending<'_>,
    share: Share,
    registered: impl FnOnce(),
) -> Result<(), S::Error> {
    let mut entries = Entries::new(channel, session, share)?;
    entries.register()?;
    if share.thread == 0 {
        entries.ring.watch(entries.fd, DEVICE_TOKEN).map_err(ring_failed)?;
    }
    for stop in ending.stops() {
        entries.ring.watch(stop.as_raw_fd(), STOP_TOKEN).map_err(ring_failed)?;
    }
    for (number, wake) in ending.wakes.iter().enumerate() {
        entries.ring.watch(wake.as_raw_fd(), WAKE_TOKENS + number as u64).map_err(ring_failed)?;
    }
    registered();
    let mut message = Message::EMPTY;
    let mut ended = false;
    loop {
        let mut round = Round::default();
        while let Some(event) = entries.ring.next_event() {
            round.arrived = true;
            on_event(&mut entries, session, channel, event, &mut message, &mut round)?;
        }
        if round.stopped {
            if ending.is_now()? {
                return Ok(());
            }
            // A halt ends the thread at once, so only the user's stop can be raised a second time.
            if let Some((stop, _)) = &ending.stop {
                entries.ring.watch(stop.as_raw_fd(), STOP_TOKEN).map_err(ring_failed)?;
            }
        }
        session.work(round.arrived)?;
        for number in round.woken {
            let wake = ending.wakes[number];
            entries.ring.watch(wake.as_raw_fd(), WAKE_TOKENS + number as u64).map_err(ring_failed)?;
        }
        while let Some(reply) = session.next_reply() {
            if reply.slot == entries.rest_slot() {
                reply_by_write(session, channel, &reply)?;
                round.ended |= !receive_rest(&mut entries, session, channel, &mut message)?;
            } else {
                entries.commit(&reply)?;
            }
        }
        ended |= round.ended;
        if (ended || entries.alive == 0) && !session.is_busy() {
            return Ok(());
        }
        entries.ring.round(session.is_busy(), idle_looks).map_err(ring_failed)?;
    }
}

fn on_event<S: Service>(
    entries: &mut Entries,
    session: &mut S,
    channel: &Channel,
    event: RingEvent,
    message: &mut Message,
    round: &mut Round,
) -> Result<(), FuseError> {
    match event.token {
        STOP_TOKEN => round.stopped = true,
        WAKE_TOKENS.. => round.woken.push((event.token - WAKE_TOKENS) as usize),
        DEVICE_TOKEN => {
            round.ended |= !receive_rest(entries, session, channel, message)?;
        }
        slot if event.result < 0 => {
            entries.alive -= 1;
            given_up(slot, event.result)?;
        }
        slot => {
            let slot = slot as u16;
            if entries.arrived(slot, session, message).is_none() {
                return Err(FuseError::Protocol(format!("the request in entry {slot} is longer than the entry")));
            }
            match session.take(slot, message) {
                Taken::Started => {}
                Taken::Reply(reply) => entries.commit(&reply)?,
                // Requests without answers arrive by reads. If one arrives here nevertheless, its
                // entry is returned.
                Taken::Silence => {
                    let unique = message.header.unique;
                    entries.commit(&Reply { slot, unique, error: 0, body_bytes: 0 })?;
                }
            }
        }
    }
    Ok(())
}

/// Handles an entry that the kernel has given up: the connection ends, or the entry was refused.
fn given_up(slot: u64, result: i32) -> Result<(), FuseError> {
    match -result {
        libc::ENOTCONN | libc::ECONNABORTED | libc::ENODEV | libc::ECANCELED => Ok(()),
        // The request was interrupted while it was being answered.
        libc::ENOENT => Ok(()),
        errno => {
            let reason = std::io::Error::from_raw_os_error(errno);
            Err(FuseError::NoUring(format!("the kernel rejected entry {slot}: {reason}")))
        }
    }
}

/// Reads the requests that still arrive by `/dev/fuse` into the last slot, until that slot is in
/// use or there are no more; then waits for more. Returns false if the connection has ended.
fn receive_rest<S: Service>(
    entries: &mut Entries,
    session: &mut S,
    channel: &Channel,
    message: &mut Message,
) -> Result<bool, FuseError> {
    let slot = entries.rest_slot();
    loop {
        match channel.receive(message, session.payload(slot))? {
            Received::End => return Ok(false),
            Received::Nothing => {
                entries.ring.watch(entries.fd, DEVICE_TOKEN).map_err(ring_failed)?;
                return Ok(true);
            }
            Received::Message => {}
        }
        match session.take(slot, message) {
            Taken::Silence => {}
            Taken::Reply(reply) => reply_by_write(session, channel, &reply)?,
            // Reading continues after its answer.
            Taken::Started => return Ok(true),
        }
    }
}

fn reply_by_write<S: Service>(session: &mut S, channel: &Channel, reply: &Reply) -> Result<(), FuseError> {
    channel.reply(reply.unique, reply.error, &session.payload(reply.slot)[..reply.body_bytes])
}
