//! Replies to one client, on their way out: headers together, data directly from the slots.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};

use iolab_engine::Lane;
use iolab_nbd::{DATA_CHUNK_BYTES, data_chunk, error_chunk, simple_reply, wire_of_errno};
use iolab_sockets::PieceList;
use iolab_tls::StreamChannel;

use crate::Exporter;

/// Own bytes that wait for the socket before no more requests are received.
const MOST_UNSENT: usize = 64 << 10;
/// Own bytes that there is room for from the beginning.
const ROOM: usize = 4096;

/// A reply with data.
#[derive(Debug)]
struct Leaving {
    slot: u16,
    head: [u8; DATA_CHUNK_BYTES],
    head_bytes: usize,
    data_bytes: usize,
    gone: usize,
}

/// Replies that wait for the socket.
#[derive(Debug)]
pub(super) struct Replies {
    is_structured: bool,
    list: PieceList,
    /// Replies without data.
    own: Vec<u8>,
    own_gone: usize,
    /// Replies with data, which go after them.
    leaving: VecDeque<Leaving>,
}

impl Replies {
    pub(super) fn new(is_structured: bool, slots: usize) -> Replies {
        Replies {
            is_structured,
            list: PieceList::default(),
            own: Vec::with_capacity(ROOM),
            own_gone: 0,
            leaving: VecDeque::with_capacity(slots),
        }
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.own_gone < self.own.len() || !self.leaving.is_empty()
    }

    /// Whether a client that does not read them has to read first.
    pub(super) fn are_many(&self) -> bool {
        self.own.len() - self.own_gone >= MOST_UNSENT
    }

    /// A request without data has succeeded.
    pub(super) fn done(&mut self, cookie: u64) {
        self.own.extend_from_slice(&simple_reply(cookie, 0));
    }

    /// A request has failed.
    pub(super) fn fail(&mut self, cookie: u64, errno: i32) {
        let error = wire_of_errno(errno);
        if self.is_structured {
            error_chunk(&mut self.own, cookie, error, &io::Error::from_raw_os_error(errno).to_string());
        } else {
            self.own.extend_from_slice(&simple_reply(cookie, error));
        }
    }

    /// A read has succeeded; its data is in its slot.
    pub(super) fn data(&mut self, cookie: u64, offset: u64, slot: u16, bytes: u32) {
        let mut head = [0; DATA_CHUNK_BYTES];
        let head_bytes = if self.is_structured {
            head = data_chunk(cookie, offset, bytes);
            head.len()
        } else {
            let simple = simple_reply(cookie, 0);
            head[..simple.len()].copy_from_slice(&simple);
            simple.len()
        };
        self.leaving.push_back(Leaving { slot, head, head_bytes, data_bytes: bytes as usize, gone: 0 });
    }

    /// Sends what the socket takes; slots whose data has gone become free. Returns whether anything
    /// has gone.
    pub(super) fn send<L: Lane>(
        &mut self,
        channel: &mut StreamChannel,
        exporter: &mut Exporter<'_, L>,
        free: &mut Vec<u16>,
    ) -> io::Result<bool> {
        let mut any = false;
        channel.push()?;
        while self.has_unsent() {
            let mut pieces = self.list.writing();
            // A reply that has begun goes on before others.
            let begun = self.leaving.front().is_some_and(|leaving| leaving.gone > 0);
            let own = if begun { 0 } else { self.own.len() - self.own_gone };
            if own > 0 {
                pieces.bytes(&self.own[self.own_gone..]);
            }
            if let Some(Leaving { slot, head, head_bytes, data_bytes, gone }) = self.leaving.front() {
                if gone < head_bytes {
                    pieces.bytes(&head[*gone..*head_bytes]);
                }
                let from = gone.saturating_sub(*head_bytes);
                pieces.bytes(&exporter.payload(*slot)[from..*data_bytes]);
            }
            match channel.send(pieces) {
                Ok(bytes) => free.extend(self.gone(bytes, own)),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => break,
                Err(error) => return Err(error),
            }
            any = true;
        }
        Ok(any)
    }

    /// Notes that so many bytes have gone, the first `own` of them of replies without data. Returns
    /// the slot whose reply is complete.
    fn gone(&mut self, bytes: usize, own: usize) -> Option<u16> {
        self.own_gone += bytes.min(own);
        if self.own_gone == self.own.len() {
            self.own.clear();
            self.own_gone = 0;
        }
        let leaving = self.leaving.front_mut()?;
        leaving.gone += bytes.saturating_sub(own);
        if leaving.gone < leaving.head_bytes + leaving.data_bytes {
            return None;
        }
        let slot = leaving.slot;
        self.leaving.pop_front();
        Some(slot)
    }
}
