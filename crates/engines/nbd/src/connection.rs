//! One connection: requests on their way out, replies on their way in.
//!
//! Nothing here waits. A connection that breaks ends its operations with an error and takes no
//! more; why it broke is a note of the lane.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};

use iolab_engine::OpKind;
use iolab_nbd::{NbdCommand, NbdExport, NbdFlags, NbdRequest, NbdStreamError, command_flags};
use iolab_sockets::{Parcel, PieceList};
use iolab_tls::StreamChannel;

use crate::flights::{Flight, Flights};
use crate::incoming::{Body, Guesses, Inbox};
use crate::link::Link;
use crate::options::Asked;

/// Own bytes that a parcel keeps room for.
const KEPT_BYTES: usize = 16 << 10;

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) channel: StreamChannel,
    pub(crate) export: NbdExport,
    /// Its number in the lane.
    pub(crate) number: usize,
    out: Parcel,
    pub(crate) list: PieceList,
    pub(crate) inbox: Inbox,
    /// Data that has begun to come.
    pub(crate) body: Option<Body>,
    pub(crate) guesses: Guesses,
    /// Slots in the order of their requests; those that have ended go when they are met.
    pub(crate) order: VecDeque<(u16, u64)>,
    pub(crate) in_flight: u32,
    pub(crate) reads_in_flight: u32,
    /// Since when the server has been silent although it owes replies, as far as anybody looked.
    pub(crate) silent_since_ns: Option<u64>,
    /// Why it broke, once it has.
    pub(crate) broken: Option<(i32, String)>,
}

impl Connection {
    pub(crate) fn new(link: Link, number: usize, depth: usize) -> Connection {
        Connection {
            channel: link.channel,
            export: link.export,
            number,
            out: Parcel::default(),
            list: PieceList::default(),
            inbox: Inbox::default(),
            body: None,
            guesses: Guesses::default(),
            order: VecDeque::with_capacity(2 * depth + 2),
            in_flight: 0,
            reads_in_flight: 0,
            silent_since_ns: None,
            broken: None,
        }
    }

    /// The errno with which an operation is refused before it is sent; 0 if the export takes it.
    #[inline]
    pub(crate) fn refuses(&self, kind: OpKind, asked: &Asked) -> i32 {
        if let Some((errno, _)) = self.broken {
            return errno;
        }
        let flags = self.export.flags;
        let needed = match kind {
            OpKind::Read => return 0,
            OpKind::Write => 0,
            OpKind::Trim if asked.trim_zeroes => NbdFlags::WRITE_ZEROES,
            OpKind::Trim => NbdFlags::TRIM,
            OpKind::Sync | OpKind::DataSync | OpKind::SyncFileRange => {
                return if flags.has(NbdFlags::FLUSH) { 0 } else { libc::EOPNOTSUPP };
            }
        };
        if flags.has(NbdFlags::READ_ONLY) {
            libc::EROFS
        } else if flags.has(needed) {
            0
        } else {
            libc::EOPNOTSUPP
        }
    }

    /// Puts the request of an operation behind those that wait to be sent.
    #[inline]
    pub(crate) fn request(&mut self, flight: &Flight, asked: &Asked, flights: &Flights) {
        let fua = if asked.fua { command_flags::FUA } else { 0 };
        let (command, flags) = match flight.kind {
            OpKind::Read => (NbdCommand::Read, 0),
            OpKind::Write => (NbdCommand::Write, fua),
            OpKind::Trim if asked.trim_zeroes => (NbdCommand::WriteZeroes, fua),
            OpKind::Trim => (NbdCommand::Trim, fua),
            OpKind::Sync | OpKind::DataSync | OpKind::SyncFileRange => (NbdCommand::Flush, 0),
        };
        // A flush covers the whole export, and has no range.
        let (offset, length) = if flight.kind.is_sync() { (0, 0) } else { (flight.offset, flight.length) };
        let request = NbdRequest { command, flags, cookie: flight.cookie, offset, length };
        self.out.bytes.extend_from_slice(&request.encode());
        if flight.kind == OpKind::Write
            && let Some(data) = flights.memory.window(flight.place, length as usize)
        {
            self.out.insert(data);
        }
        self.in_flight += 1;
        self.reads_in_flight += u32::from(flight.kind == OpKind::Read);
        if self.order.len() == self.order.capacity() {
            self.order.retain(|(slot, cookie)| flights.of_slot(*slot).cookie == *cookie);
        }
        self.order.push_back((flight.cookie as u16, flight.cookie));
    }

    /// Whether requests wait for room in the socket.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.out.unsent() > 0 || self.channel.has_unsent()
    }

    /// Sends what the socket takes.
    #[inline]
    pub(crate) fn send(&mut self, flights: &mut Flights) {
        if !self.has_unsent() || self.broken.is_some() {
            return;
        }
        let before = self.out.unsent();
        let Connection { channel, out, list, .. } = self;
        match channel.push().and_then(|_| out.send_by(|pieces| channel.send(pieces), list, KEPT_BYTES)) {
            Ok(_) => {
                if self.out.unsent() < before {
                    self.silent_since_ns = None;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                self.break_off(errno, &format!("sending failed: {error}"), flights);
            }
        }
    }

    /// Takes what has come, by one call. Returns whether anything had.
    #[inline]
    pub(crate) fn receive(&mut self, flights: &mut Flights) -> bool {
        if self.broken.is_some() || self.in_flight == 0 {
            return false;
        }
        match self.receive_once(flights) {
            Ok(0) => self.break_off(libc::ECONNRESET, "the server closed the connection", flights),
            Ok(bytes) => {
                self.silent_since_ns = None;
                if let Err(NbdStreamError(what)) = self.arrived(bytes, flights) {
                    self.break_off(libc::EPROTO, &format!("the server breaks the protocol: {what}"), flights);
                }
                return true;
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return false,
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                self.break_off(errno, &format!("receiving failed: {error}"), flights);
            }
        }
        true
    }

    /// Gives the connection up.
    #[cold]
    pub(crate) fn break_off(&mut self, errno: i32, why: &str, flights: &mut Flights) {
        if self.broken.is_none() {
            self.channel.socket().end();
            self.broken = Some((errno, why.to_owned()));
        }
        flights.end_all(self.number, errno);
        (self.in_flight, self.reads_in_flight, self.body) = (0, 0, None);
        self.out.clear(0);
        self.order.clear();
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}
