//! One client: the handshake, then its requests, until it leaves or breaks the protocol.
//!
//! ```text
//! socket ─▶ inbox: headers ─▶ request ─▶ slot ─▶ exporter ─▶ finished ─▶ reply ─▶ socket
//!        └▶ data of a write: directly to its slot           data of a read: directly from its slot
//! ```
//!
//! A request takes a slot; while all slots are taken, nothing is received, so that a client waits.
//! A slot is free again when its reply has gone.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use iolab_clock::Clock;
use iolab_engine::{Lane, LaneError};
use iolab_memory::SlotPool;
use iolab_nbd::{
    NbdAgreement, NbdCommand, NbdHandshakeError, NbdOffer, NbdRequest, NbdStreamError, REQUEST_BYTES, command_flags,
    welcome, welcome_secured, welcome_to_tls,
};
use iolab_sockets::{PieceList, StreamSocket};
use iolab_tls::{StreamChannel, TlsServer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::replies::Replies;
use crate::{ExportRequest, Exporter, Finished, LaneLimits, PoolShape, RequestKind, ServedCounts, SharedRanges, Size};

/// Bytes that are received without knowing what they are. Behind a write, only the next header is.
const INBOX_BYTES: usize = 4096;
/// How long an idle thread waits at a time: a client's end wakes it.
const IDLE: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// Opens the lane of a client, on its thread, with slots of the shape that it is given; on failure
/// returns the reason.
pub type SharedOpenLane<L> = Arc<dyn Fn(PoolShape) -> Result<(L, SlotPool), String> + Send + Sync>;

/// What all clients of a server share.
pub(super) struct Service<L> {
    pub(super) offer: NbdOffer,
    pub(super) size: Size,
    pub(super) limits: LaneLimits,
    pub(super) shape: PoolShape,
    pub(super) ranges: SharedRanges,
    pub(super) open: SharedOpenLane<L>,
    pub(super) clock: Clock,
    pub(super) handshake: Duration,
    /// Clients must use TLS.
    pub(super) tls: Option<TlsServer>,
}

/// Serves a client to its end. Returns what it had.
pub(super) fn serve<L: Lane>(socket: StreamSocket, service: &Service<L>, place: usize) -> ServedCounts {
    let mut patient = Patient {
        channel: socket.into(),
        clock: &service.clock,
        until_ns: service.clock.now_ns().saturating_add(service.handshake.as_nanos() as u64),
    };
    // A client that breaks the protocol, or leaves, is none; it sees its connection closed.
    let Ok(Some(agreed)) = agree(&mut patient, service) else { return ServedCounts::default() };
    // Without a lane, too: the server's own log is its program's.
    let Ok((lane, mut pool)) = (service.open)(service.shape) else { return ServedCounts::default() };
    let exporter = Exporter::new(lane, &mut pool, service.size, service.limits)
        .and_then(|exporter| exporter.sharing(&service.ranges, place));
    let Ok(exporter) = exporter else { return ServedCounts::default() };
    let mut session = Session::new(patient.channel, exporter, agreed.is_structured);
    // How it ended makes no difference: the connection is closed.
    let _ = session.run();
    session.settle();
    session.exporter.tally()
}

/// The whole handshake, with TLS if the service has it.
fn agree<L>(patient: &mut Patient<'_>, service: &Service<L>) -> Result<Option<NbdAgreement>, NbdHandshakeError> {
    let Some(tls) = &service.tls else { return welcome(patient, &service.offer) };
    let Some(flags) = welcome_to_tls(patient)? else { return Ok(None) };
    patient.channel.begin_server(tls)?;
    while !patient.look()?.handshake_step()? {}
    welcome_secured(patient, &service.offer, flags)
}

/// A stream whose reads and writes all end at one time.
struct Patient<'a> {
    channel: StreamChannel,
    clock: &'a Clock,
    until_ns: u64,
}

impl Patient<'_> {
    fn look(&mut self) -> io::Result<&mut StreamChannel> {
        let left_ns = self.until_ns.saturating_sub(self.clock.now_ns());
        if left_ns == 0 {
            return Err(ErrorKind::TimedOut.into());
        }
        self.channel.socket().set_timeouts(Duration::from_nanos(left_ns))?;
        Ok(&mut self.channel)
    }
}

impl Read for Patient<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.look()?.read(to)
    }
}

impl Write for Patient<'_> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.look()?.write(from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Why a session ends.
#[derive(Debug)]
enum Ended {
    /// The client has left, or its connection is gone.
    Client,
    /// The client breaks the protocol.
    Protocol,
    /// The lane is broken.
    Lane,
}

impl From<NbdStreamError> for Ended {
    fn from(_: NbdStreamError) -> Ended {
        Ended::Protocol
    }
}

impl From<LaneError> for Ended {
    fn from(_: LaneError) -> Ended {
        Ended::Lane
    }
}

/// What a slot is taken for.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    cookie: u64,
    /// Where the client's range begins, bytes.
    offset: u64,
    /// Whether a flush comes between the change and its reply.
    flushes: bool,
}

/// Data of a write that is coming.
#[derive(Debug, Clone, Copy)]
struct Coming {
    slot: u16,
    has: usize,
    length: usize,
}

struct Session<'a, L: Lane> {
    channel: StreamChannel,
    exporter: Exporter<'a, L>,
    list: PieceList,
    inbox: Vec<u8>,
    read_from: usize,
    coming: Option<Coming>,
    free: Vec<u16>,
    taken: Box<[Taken]>,
    replies: Replies,
    /// Whether the last request was a write, so that its like probably follows.
    writes: bool,
    /// Whether the client has said that it leaves.
    leaves: bool,
}

impl<'a, L: Lane> Session<'a, L> {
    fn new(channel: StreamChannel, exporter: Exporter<'a, L>, is_structured: bool) -> Session<'a, L> {
        let slots = exporter.slots();
        Session {
            channel,
            list: PieceList::default(),
            inbox: Vec::with_capacity(2 * INBOX_BYTES),
            read_from: 0,
            coming: None,
            free: (0..slots as u16).rev().collect(),
            taken: vec![Taken::default(); slots].into(),
            replies: Replies::new(is_structured, slots),
            writes: false,
            leaves: false,
            exporter,
        }
    }

    fn run(&mut self) -> Result<(), Ended> {
        loop {
            let arrived = self.wants_more() && self.receive()?;
            self.begin_requests()?;
            self.exporter.work(arrived)?;
            while let Some(finished) = self.exporter.next_finished() {
                self.finished(finished);
            }
            let sent = self.replies.send(&mut self.channel, &mut self.exporter, &mut self.free);
            let sent = sent.map_err(|_| Ended::Client)?;
            if self.leaves && !self.exporter.is_busy() && !self.has_unsent() {
                return Ok(());
            }
            if !arrived && !sent && !self.exporter.is_busy() {
                self.sleep();
            }
        }
    }

    /// Lets everything end that the client has begun: others wait for the ranges that it changes.
    fn settle(&mut self) {
        while self.exporter.is_busy() && self.exporter.work(false).is_ok() {
            while self.exporter.next_finished().is_some() {}
        }
    }

    /// Whether there is room for what a client may send next.
    fn wants_more(&self) -> bool {
        let has_room = !self.free.is_empty() && !self.replies.are_many();
        !self.leaves && (self.coming.is_some() || has_room)
    }

    /// Whether anything waits for room in the socket.
    fn has_unsent(&self) -> bool {
        self.replies.has_unsent() || self.channel.has_unsent()
    }

    fn sleep(&self) {
        if self.wants_more() && self.channel.has_unread() {
            return;
        }
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::IN, self.wants_more());
        interest.set(PollFlags::OUT, self.has_unsent());
        // An interrupted wait is one more round.
        let _ = poll(&mut [PollFd::new(&self.channel, interest)], Some(&IDLE));
    }

    /// Takes what has come, by one call. Returns whether anything had.
    fn receive(&mut self) -> Result<bool, Ended> {
        let has = self.inbox.len() - self.read_from;
        if has >= REQUEST_BYTES && self.coming.is_none() {
            // Requests that waited for a slot.
            return Ok(false);
        }
        if self.read_from > 0 {
            self.inbox.drain(..self.read_from);
            self.read_from = 0;
        }
        let most = if self.writes { REQUEST_BYTES.saturating_sub(has).max(1) } else { INBOX_BYTES };
        let start = self.inbox.len();
        self.inbox.resize(start + most, 0);
        let mut pieces = self.list.reading();
        let mut expected = 0;
        if let Some(Coming { slot, has, length }) = self.coming {
            expected = length - has;
            pieces.bytes(&mut self.exporter.payload(slot)[has..length]);
        }
        pieces.bytes(&mut self.inbox[start..]);
        let received = self.channel.receive(pieces);
        let bytes = match received {
            Ok(0) => Err(Ended::Client),
            Ok(bytes) => Ok(bytes),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
            Err(_) => Err(Ended::Client),
        };
        let bytes = bytes.inspect_err(|_| self.inbox.truncate(start))?;
        self.inbox.truncate(start + bytes.saturating_sub(expected));
        if let Some(coming) = &mut self.coming {
            coming.has += bytes.min(expected);
        }
        Ok(bytes > 0)
    }

    /// Begins the requests that have come as a whole, as long as slots are free.
    fn begin_requests(&mut self) -> Result<(), Ended> {
        loop {
            if let Some(coming) = &mut self.coming {
                let from = &self.inbox[self.read_from..];
                let bytes = from.len().min(coming.length - coming.has);
                let to = &mut self.exporter.payload(coming.slot)[coming.has..coming.has + bytes];
                to.copy_from_slice(&from[..bytes]);
                self.read_from += bytes;
                coming.has += bytes;
                if coming.has < coming.length {
                    return Ok(());
                }
                let Coming { slot, length, .. } = *coming;
                self.coming = None;
                self.start(slot, RequestKind::Write, length as u64);
            }
            if self.leaves || self.free.is_empty() {
                return Ok(());
            }
            let Some(request) = NbdRequest::decode(&self.inbox[self.read_from..])? else { return Ok(()) };
            self.read_from += REQUEST_BYTES;
            self.begin(&request)?;
        }
    }

    fn begin(&mut self, request: &NbdRequest) -> Result<(), Ended> {
        self.writes = request.command == NbdCommand::Write;
        if request.command == NbdCommand::Disconnect {
            self.leaves = true;
            return Ok(());
        }
        if let Err(errno) = self.check(request) {
            // The data of a write that is refused would have to be taken off the stream. It is too
            // long, or the client breaks the rules that it was told: the connection ends instead.
            if self.writes {
                return Err(Ended::Protocol);
            }
            self.replies.fail(request.cookie, errno);
            return Ok(());
        }
        let Some(slot) = self.free.pop() else { return Ok(()) };
        let flushes = request.flags & command_flags::FUA != 0
            && matches!(request.command, NbdCommand::Write | NbdCommand::Trim | NbdCommand::WriteZeroes);
        self.taken[usize::from(slot)] = Taken { cookie: request.cookie, offset: request.offset, flushes };
        let kind = match request.command {
            NbdCommand::Write => {
                self.coming = Some(Coming { slot, has: 0, length: request.length as usize });
                return Ok(());
            }
            NbdCommand::Read => RequestKind::Read,
            NbdCommand::Trim => RequestKind::Discard,
            NbdCommand::WriteZeroes => RequestKind::Zero,
            _ => RequestKind::Flush,
        };
        self.start(slot, kind, request.length.into());
        Ok(())
    }

    /// The errno with which a request is refused.
    fn check(&self, request: &NbdRequest) -> Result<(), i32> {
        let moves = matches!(request.command, NbdCommand::Read | NbdCommand::Write);
        let known = match request.command {
            NbdCommand::Read => command_flags::DONT_FRAGMENT | command_flags::FUA,
            NbdCommand::Write | NbdCommand::Trim => command_flags::FUA,
            NbdCommand::WriteZeroes => command_flags::FUA | command_flags::NO_HOLE,
            NbdCommand::Flush => command_flags::FUA,
            NbdCommand::Disconnect | NbdCommand::Other(_) => return Err(libc::EINVAL),
        };
        if request.flags & !known != 0 {
            return Err(libc::EINVAL);
        }
        if request.command == NbdCommand::Flush {
            return if request.offset == 0 && request.length == 0 { Ok(()) } else { Err(libc::EINVAL) };
        }
        if request.length == 0 || (moves && request.length as usize > self.exporter.payload_bytes()) {
            return Err(libc::EINVAL);
        }
        let end = request.offset.checked_add(request.length.into());
        match end.is_some_and(|end| end <= self.exporter.size().bytes()) {
            true => Ok(()),
            false if request.command == NbdCommand::Read => Err(libc::EINVAL),
            false => Err(libc::ENOSPC),
        }
    }

    fn start(&mut self, slot: u16, kind: RequestKind, length: u64) {
        let offset = if kind == RequestKind::Flush { 0 } else { self.taken[usize::from(slot)].offset };
        self.exporter.start(slot, ExportRequest { kind, offset, length });
    }

    /// Queues the reply of a request that has ended, or begins the flush that it asked for.
    fn finished(&mut self, Finished { slot, request, result }: Finished) {
        let taken = &mut self.taken[usize::from(slot)];
        let (cookie, offset) = (taken.cookie, taken.offset);
        if result >= 0 && taken.flushes {
            taken.flushes = false;
            return self.start(slot, RequestKind::Flush, 0);
        }
        if result < 0 {
            self.free.push(slot);
            return self.replies.fail(cookie, -result);
        }
        if request.kind != RequestKind::Read {
            self.free.push(slot);
            return self.replies.done(cookie);
        }
        self.replies.data(cookie, offset, slot, result as u32);
    }
}
