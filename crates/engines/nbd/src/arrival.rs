//! What arrives on a connection, and where it goes.
//!
//! ```text
//! stream   | rest of data | header | data A        | header | data B      | head…
//! goes to    its slot       heads    slot A          heads    slot B        heads      as guessed
//!            its slot       inbox…                                                     without a guess
//! ```
//!
//! Servers mostly answer in the order of the requests, so one call receives the headers of the next
//! replies into `heads` and their data into the slots. Where a header is another one, all behind it
//! goes to the inbox in the order of the stream, and from there by copies; then there are no
//! guesses for a while, only headers, each followed by its data in one call. Slots of reads in
//! flight may hold anything until they end.

use std::io;

use iolab_engine::OpKind;
use iolab_nbd::{DATA_CHUNK_BYTES, NbdChunk, NbdReply, NbdStreamError, SIMPLE_REPLY_BYTES, errno_of_wire};

use crate::connection::Connection;
use crate::flights::{Flight, Flights};
use crate::incoming::{Body, Guess, HEAD_ROOM, MOST_GUESSED_BYTES, MOST_GUESSES};

/// Bytes that are received without knowing what they are, when no data is expected.
const INBOX_BYTES: usize = 4096;

impl Connection {
    /// Bytes before the data of a read that succeeds.
    fn read_head(&self) -> usize {
        if self.export.is_structured { DATA_CHUNK_BYTES } else { SIMPLE_REPLY_BYTES }
    }

    /// Guesses the next replies: those of the oldest requests.
    #[inline]
    fn guess(&mut self, flights: &Flights) {
        self.guesses.list.clear();
        if !self.inbox.unread().is_empty() {
            return;
        }
        if self.guesses.doubt > 0 {
            self.guesses.doubt -= 1;
            return;
        }
        let ended = |(slot, cookie): &(u16, u64)| flights.of_slot(*slot).cookie != *cookie;
        while self.order.front().is_some_and(ended) {
            self.order.pop_front();
        }
        let (begun, mut bytes, read_head) = (self.body.map(|body| body.slot), 0, self.read_head());
        for (slot, cookie) in &self.order {
            let flight = flights.of_slot(*slot);
            // Data that came in several chunks must not be overwritten by a guess.
            if flight.cookie != *cookie || begun == Some(*slot) || flight.came > 0 {
                continue;
            }
            let is_read = flight.kind == OpKind::Read;
            let data_bytes = if is_read { flight.length as usize } else { 0 };
            bytes += data_bytes;
            let is_full = self.guesses.list.len() == MOST_GUESSES;
            if is_full || (bytes > MOST_GUESSED_BYTES && !self.guesses.list.is_empty()) {
                return;
            }
            let head_bytes = if is_read { read_head } else { SIMPLE_REPLY_BYTES };
            self.guesses.list.push(Guess { slot: *slot, head_bytes, data_bytes });
        }
    }

    /// One call: what has come, to where it belongs as far as that is known.
    #[inline]
    pub(crate) fn receive_once(&mut self, flights: &Flights) -> io::Result<usize> {
        self.guess(flights);
        let read_head = self.read_head();
        let mut pieces = self.list.reading();
        if let Some(Body { place: Some(place), left, .. }) = self.body {
            pieces.shared(&flights.memory, place, left);
        }
        if !self.guesses.list.is_empty() && self.body.is_none_or(|body| body.place.is_some()) {
            for (head, guess) in self.guesses.heads.chunks_exact_mut(HEAD_ROOM).zip(&self.guesses.list) {
                pieces.bytes(&mut head[..guess.head_bytes]);
                if guess.data_bytes > 0 {
                    pieces.shared(&flights.memory, flights.of_slot(guess.slot).place, guess.data_bytes);
                }
            }
            return self.channel.receive(pieces);
        }
        self.guesses.list.clear();
        // Behind the header of a read comes data, which is not to be copied.
        let has = self.inbox.unread().len();
        let most = match self.body {
            Some(Body { place: None, left, .. }) => left.min(INBOX_BYTES),
            _ if self.reads_in_flight > 0 => read_head.saturating_sub(has).max(1),
            _ => INBOX_BYTES,
        };
        let start = self.inbox.bytes.len();
        self.inbox.bytes.resize(start + most, 0);
        pieces.bytes(&mut self.inbox.bytes[start..]);
        let in_body = self.body.and_then(|body| body.place.map(|_| body.left)).unwrap_or(0);
        let received = self.channel.receive(pieces);
        let came = received.as_ref().map_or(0, |bytes| bytes.saturating_sub(in_body));
        self.inbox.bytes.truncate(start + came);
        received
    }

    /// Takes `bytes` that [`Connection::receive_once`] has received.
    #[inline]
    pub(crate) fn arrived(&mut self, mut bytes: usize, flights: &mut Flights) -> Result<(), NbdStreamError> {
        if let Some(body) = &mut self.body
            && let Some(place) = &mut body.place
        {
            let came = bytes.min(body.left);
            *place += came;
            body.left -= came;
            bytes -= came;
            if body.left > 0 {
                return Ok(());
            }
            self.end_body(flights);
        }
        if !self.guesses.list.is_empty() {
            self.take_guessed(bytes, flights)?;
        }
        self.take_inbox(flights)
    }

    /// Reads the guessed headers one after the other, as long as they are right.
    #[inline]
    fn take_guessed(&mut self, mut bytes: usize, flights: &mut Flights) -> Result<(), NbdStreamError> {
        for number in 0..self.guesses.list.len() {
            let Guess { slot, head_bytes, data_bytes } = self.guesses.list[number];
            if bytes == 0 {
                break;
            }
            let head = &self.guesses.heads[number * HEAD_ROOM..][..head_bytes.min(bytes)];
            let flight = *flights.of_slot(slot);
            let is_right = bytes >= head_bytes
                && matches!(NbdReply::decode(head)?, Some((reply, _)) if self.is_expected(&reply, &flight));
            if !is_right {
                // An incomplete header is no wrong guess.
                if bytes >= head_bytes {
                    self.guesses.were_wrong();
                }
                self.straighten(number, bytes, flights);
                return Ok(());
            }
            bytes -= head_bytes;
            let came = bytes.min(data_bytes);
            bytes -= came;
            flights.of_slot_mut(slot).came = data_bytes as u32;
            if came < data_bytes {
                let (place, left) = (Some(flight.place + came), data_bytes - came);
                self.body = Some(Body { place, left, slot, is_last: true });
            } else {
                self.end(slot, flights);
            }
        }
        self.guesses.were_right();
        Ok(())
    }

    /// Whether a reply is the whole, successful one of an operation.
    #[inline]
    fn is_expected(&self, reply: &NbdReply, flight: &Flight) -> bool {
        match *reply {
            NbdReply::Simple { cookie, error } => {
                let has_no_chunks = flight.kind != OpKind::Read || !self.export.is_structured;
                cookie == flight.cookie && error == 0 && has_no_chunks
            }
            NbdReply::Chunk { cookie, is_last: true, content: NbdChunk::Data { offset, bytes } } => {
                let whole = (flight.kind, flight.came, flight.offset, flight.length);
                cookie == flight.cookie && whole == (OpKind::Read, 0, offset, bytes)
            }
            NbdReply::Chunk { .. } => false,
        }
    }

    /// Puts what has come from a guess on into the inbox, in the order of the stream.
    #[cold]
    fn straighten(&mut self, number: usize, mut bytes: usize, flights: &Flights) {
        for (guess, head) in self.guesses.list.iter().zip(self.guesses.heads.chunks_exact(HEAD_ROOM)).skip(number) {
            let came = bytes.min(guess.head_bytes);
            self.inbox.bytes.extend_from_slice(&head[..came]);
            bytes -= came;
            let came = bytes.min(guess.data_bytes);
            let start = self.inbox.bytes.len();
            self.inbox.bytes.resize(start + came, 0);
            flights.memory.read(flights.of_slot(guess.slot).place, &mut self.inbox.bytes[start..]);
            bytes -= came;
        }
    }

    /// Takes what is in the inbox, as far as it is understood.
    fn take_inbox(&mut self, flights: &mut Flights) -> Result<(), NbdStreamError> {
        loop {
            if let Some(body) = &mut self.body {
                let came = self.inbox.unread().len().min(body.left);
                if let Some(place) = &mut body.place {
                    flights.memory.write(*place, &self.inbox.unread()[..came]);
                    *place += came;
                }
                body.left -= came;
                let is_over = body.left == 0;
                self.inbox.consume(came);
                if !is_over {
                    return Ok(());
                }
                self.end_body(flights);
            }
            let Some((reply, used)) = NbdReply::decode(self.inbox.unread())? else { return Ok(()) };
            self.inbox.consume(used);
            self.take(reply, flights)?;
        }
    }

    fn end_body(&mut self, flights: &mut Flights) {
        if let Some(Body { slot, is_last: true, .. }) = self.body.take() {
            self.end(slot, flights);
        }
    }

    /// Ends an operation.
    #[inline]
    fn end(&mut self, slot: u16, flights: &mut Flights) {
        self.in_flight -= 1;
        self.reads_in_flight -= u32::from(flights.of_slot(slot).kind == OpKind::Read);
        flights.end(slot);
    }

    /// Takes a header; the data behind it becomes the body.
    fn take(&mut self, reply: NbdReply, flights: &mut Flights) -> Result<(), NbdStreamError> {
        let (NbdReply::Simple { cookie, .. } | NbdReply::Chunk { cookie, .. }) = reply;
        let slot = flights.find(cookie, self.number)?;
        let Flight { kind, length, place, offset, came, .. } = *flights.of_slot(slot);
        let (is_last, content) = match reply {
            NbdReply::Simple { error: 0, .. } if kind == OpKind::Read => {
                if self.export.is_structured {
                    return Err(NbdStreamError("a read is answered without chunks"));
                }
                flights.of_slot_mut(slot).came = length;
                let body = Body { place: Some(place), left: length as usize, slot, is_last: true };
                self.body = Some(body);
                return Ok(());
            }
            NbdReply::Simple { error: 0, .. } => (true, NbdChunk::Nothing),
            NbdReply::Simple { error, .. } => (true, NbdChunk::Error { error, text_bytes: 0 }),
            NbdReply::Chunk { is_last, content, .. } => (is_last, content),
        };
        let part = |at: u64, bytes: u32| {
            let fits = kind == OpKind::Read && bytes <= length - came;
            let last = u64::from(length).checked_sub(u64::from(bytes));
            let from = at.checked_sub(offset).filter(|from| last.is_some_and(|last| *from <= last));
            let wrong = NbdStreamError("data that was not asked for, or twice");
            from.filter(|_| fits).map(|from| place + from as usize).ok_or(wrong)
        };
        match content {
            NbdChunk::Nothing if !is_last => return Err(NbdStreamError("a chunk without anything is not the last")),
            NbdChunk::Nothing => {}
            NbdChunk::Data { offset: at, bytes } => {
                let place = Some(part(at, bytes)?);
                flights.of_slot_mut(slot).came = came + bytes;
                self.body = Some(Body { place, left: bytes as usize, slot, is_last });
                return Ok(());
            }
            NbdChunk::Hole { offset: at, bytes } => {
                flights.memory.fill(part(at, bytes)?, bytes as usize, 0);
                flights.of_slot_mut(slot).came = came + bytes;
            }
            NbdChunk::Error { error, text_bytes } => {
                flights.fail(slot, errno_of_wire(error));
                if text_bytes > 0 {
                    self.body = Some(Body { place: None, left: text_bytes as usize, slot, is_last });
                    return Ok(());
                }
            }
            NbdChunk::Other { .. } => return Err(NbdStreamError("a chunk of a kind that was not asked for")),
        }
        if is_last {
            self.end(slot, flights);
        }
        Ok(())
    }
}
