//! Receives data to where it belongs, without a copy: a guess of what comes next.
//!
//! Targets mostly answer in the order of the commands. So one call receives the header of the first
//! answer into `heads`, its data into the memory of its command, the header of the second, and so on.
//!
//! ```text
//! stream   | rest of data | header | data A        | header | data B      | head…
//! goes to    its command    heads    command A       heads    command B     heads
//! ```
//!
//! Then each header is read. As long as it is the one that was guessed, its command has its data
//! already. If another comes, all that follows is put into the inbox in the order of the stream, and
//! handled from there; memory of commands in flight may hold anything until they end. Guesses that
//! fail are not made again for a while.
//!
//! Data with a digest is not received this way: it has to be read once anyway.

use iolab_memory::MappingAccess;
use iolab_nvme_fabrics::{Pdu, PduError, Sender};
use iolab_pci_device::DmaPlace;
use iolab_sockets::PieceList;

use super::queue::TcpQueue;
use super::receive::Incoming;

/// Bytes that are kept for a header: 24 and a digest.
const HEAD_ROOM: usize = 32;
/// Bytes of every header that comes on a connected queue.
const HEADER_BYTES: usize = 24;
/// The most PDUs that are guessed for one call.
const MOST_UNITS: usize = 128;
/// The fewest that are tried for.
const FEWEST_UNITS: usize = 4;
/// The most bytes that one call is to receive beyond the data that has begun.
const MOST_BYTES: usize = 512 << 10;
/// Where nothing can be guessed, data of this size is received directly after its header.
const DIRECT_BYTES: u32 = 16 << 10;
/// After a wrong guess, so many receives make none; with each more, up to the most.
const FIRST_DOUBT: u32 = 16;
const MOST_DOUBT: u32 = 4096;

/// A PDU that is guessed to come.
#[derive(Debug, Clone, Copy)]
struct Unit {
    /// Its data: the slot, where it goes, and how many bytes; none for a PDU that is only a header.
    data: Option<(usize, DmaPlace, u32)>,
}

/// What a queue guesses with.
#[derive(Debug)]
pub(super) struct Scatter {
    list: PieceList,
    heads: Box<[u8]>,
    units: Vec<Unit>,
    /// Bytes that are guessed beyond the data that has begun.
    bytes: usize,
    /// How many PDUs are worth guessing.
    reach: usize,
    /// Receives that are still to be made without a guess.
    doubt: u32,
    /// What the next wrong guess costs.
    next_doubt: u32,
    /// Whether data stands for the completion, too.
    pub(super) marks_success: bool,
}

impl Default for Scatter {
    fn default() -> Scatter {
        Scatter {
            list: PieceList::default(),
            heads: vec![0; MOST_UNITS * HEAD_ROOM].into(),
            units: Vec::with_capacity(MOST_UNITS),
            bytes: 0,
            reach: FEWEST_UNITS,
            doubt: 0,
            next_doubt: FIRST_DOUBT,
            marks_success: true,
        }
    }
}

impl Scatter {
    fn head(&mut self, unit: usize) -> &mut [u8] {
        &mut self.heads[unit * HEAD_ROOM..(unit + 1) * HEAD_ROOM]
    }

    /// Something was received.
    #[inline]
    pub(super) fn has_received(&mut self) {
        self.doubt = self.doubt.saturating_sub(1);
    }

    /// Another connection, perhaps to another target.
    pub(super) fn forget(&mut self) {
        (self.doubt, self.next_doubt, self.marks_success) = (0, FIRST_DOUBT, true);
    }

    fn was_right(&mut self, units: usize) {
        self.reach = (2 * units + 2).clamp(FEWEST_UNITS, MOST_UNITS);
        self.next_doubt = (self.next_doubt - self.next_doubt / 8).max(FIRST_DOUBT);
    }

    #[cold]
    fn was_wrong(&mut self) {
        self.doubt = self.next_doubt;
        self.next_doubt = (self.next_doubt * 2).min(MOST_DOUBT);
    }
}

impl TcpQueue {
    /// Bytes of a header with its digest.
    #[inline]
    fn head_bytes(&self) -> usize {
        let has_digest = self.wire.as_ref().is_some_and(|wire| wire.framing.digests.header);
        HEADER_BYTES + if has_digest { 4 } else { 0 }
    }

    /// Guesses what comes next. Returns whether a guess is worth a call of its own kind.
    #[inline]
    pub(super) fn guess(&mut self) -> bool {
        let head_bytes = self.head_bytes();
        let Some(wire) = &self.wire else { return false };
        if self.id == 0 || wire.framing.digests.data || wire.inbox.unread().len() >= head_bytes {
            return false;
        }
        self.scatter.units.clear();
        self.scatter.bytes = 0;
        while let Some(cid) = self.order.front().copied()
            && self.find(cid).is_none()
        {
            self.order.pop_front();
        }
        let Some(first) = self.order.front().copied() else { return false };
        if self.scatter.doubt > 0 {
            // The next header alone, if what follows it is worth a call of its own.
            let is_large = self.incoming.as_ref().is_some_and(|incoming| incoming.left > 0)
                || self.in_flight[usize::from(first) & (self.in_flight.len() - 1)].bytes >= DIRECT_BYTES;
            if is_large {
                self.scatter.units.push(Unit { data: None });
            }
            return is_large;
        }
        self.guess_in_order(head_bytes);
        !self.scatter.units.is_empty() || self.incoming.is_some()
    }

    #[inline]
    fn guess_in_order(&mut self, head_bytes: usize) {
        let begun = self.incoming.as_ref().map(|incoming| incoming.slot);
        let mask = self.in_flight.len() - 1;
        for cid in &self.order {
            if self.scatter.units.len() >= self.scatter.reach {
                return;
            }
            let slot = usize::from(*cid) & mask;
            let command = self.in_flight[slot];
            if command.cid != u32::from(*cid) {
                continue;
            }
            let expects_data = command.reads && command.moved == 0;
            if begun == Some(slot) || !expects_data {
                // Its data has come or is coming: a completion may follow. Of others a header comes in any case.
                if !(command.reads && self.scatter.marks_success) {
                    self.scatter.units.push(Unit { data: None });
                    self.scatter.bytes += head_bytes;
                }
                continue;
            }
            let bytes = command.bytes as usize;
            if self.scatter.bytes > 0 && self.scatter.bytes + bytes > MOST_BYTES {
                return;
            }
            let Some(place) = self.memory.place(command.address, bytes, MappingAccess::ReadWrite) else { return };
            self.scatter.units.push(Unit { data: Some((slot, place, command.bytes)) });
            self.scatter.bytes += head_bytes + bytes;
            if !self.scatter.marks_success && self.scatter.units.len() < MOST_UNITS {
                self.scatter.units.push(Unit { data: None });
                self.scatter.bytes += head_bytes;
            }
        }
    }

    /// Receives by the guess, and handles what came. `None`: the memory has changed meanwhile.
    #[inline]
    pub(super) fn receive_guessed(&mut self) -> Option<std::io::Result<usize>> {
        let head_bytes = self.head_bytes();
        let (wire, scatter) = (self.wire.as_ref()?, &mut self.scatter);
        let begun = wire.inbox.unread();
        scatter.heads[..begun.len()].copy_from_slice(begun);
        let has = begun.len();
        let place = match &self.incoming {
            Some(incoming) if incoming.left > 0 => {
                Some((self.memory.place(incoming.address, incoming.left, MappingAccess::ReadWrite)?, incoming.left))
            }
            _ => None,
        };
        let mut pieces = scatter.list.reading();
        if let Some((place, left)) = place {
            let (memory, offset) = self.memory.memory_at(place)?;
            pieces.shared(memory, offset, left);
        }
        let mut from = has;
        for (head, unit) in scatter.heads.chunks_exact_mut(HEAD_ROOM).zip(&scatter.units) {
            pieces.bytes(&mut head[from..head_bytes]);
            from = 0;
            if let Some((_, place, bytes)) = unit.data {
                let (memory, offset) = self.memory.memory_at(place)?;
                pieces.shared(memory, offset, bytes as usize);
            }
        }
        Some(pieces.receive(&wire.socket))
    }

    /// Handles so many bytes that came by the guess.
    #[inline]
    pub(super) fn take_guessed(&mut self, mut bytes: usize, asked: &mut bool) -> Result<(), PduError> {
        if let Some(incoming) = &mut self.incoming {
            let came = bytes.min(incoming.left);
            incoming.address += came as u64;
            incoming.left -= came;
            bytes -= came;
            if incoming.left > 0 {
                return Ok(());
            }
            self.end_data();
        }
        let head_bytes = self.head_bytes();
        let Some(wire) = &mut self.wire else { return Ok(()) };
        let framing = wire.framing;
        let mut has = wire.inbox.unread().len();
        if bytes > 0 {
            wire.inbox.clear();
        }
        for number in 0..self.scatter.units.len() {
            if bytes == 0 {
                return Ok(());
            }
            if has + bytes < head_bytes {
                let head = &self.scatter.heads[number * HEAD_ROOM..][..has + bytes];
                if let Some(wire) = &mut self.wire {
                    wire.inbox.append(head);
                }
                return Ok(());
            }
            bytes -= head_bytes - has;
            has = 0;
            let unit = self.scatter.units[number];
            let read = framing.next(&self.scatter.head(number)[..head_bytes], Sender::Controller)?;
            let fits = match (read, unit.data) {
                (Some((Pdu::Data { cid, offset: 0, is_success, .. }, range)), Some((slot, _, expected))) => {
                    let command = self.in_flight[slot];
                    let fits = command.cid == u32::from(cid)
                        && range.offset == head_bytes
                        && range.bytes == expected as usize
                        && command.moved == 0;
                    if fits {
                        let came = bytes.min(range.bytes);
                        bytes -= came;
                        self.in_flight[slot].moved = expected;
                        self.scatter.marks_success = is_success;
                        if came == range.bytes {
                            if is_success {
                                self.complete_read(slot, cid);
                            }
                        } else {
                            let (address, left) = (command.address + came as u64, range.bytes - came);
                            self.incoming = Some(Incoming { slot, cid, address, left, digest: None, is_success });
                        }
                    }
                    fits
                }
                (Some((pdu, range)), None) if range.bytes == 0 && range.end() == head_bytes => {
                    self.take_pdu(pdu, asked)?;
                    true
                }
                _ => false,
            };
            if !fits {
                return self.straighten(number, bytes);
            }
            if self.wire.is_none() {
                return Ok(());
            }
            if bytes == 0 {
                self.scatter.was_right(number + 1);
            }
        }
        Ok(())
    }

    /// The guess was wrong from a unit on, whose header has come, and `bytes` behind it: puts all of it into the inbox
    /// as it came.
    #[cold]
    fn straighten(&mut self, number: usize, mut bytes: usize) -> Result<(), PduError> {
        let head_bytes = self.head_bytes();
        let is_guess = self.scatter.units[number].data.is_some() || number + 1 < self.scatter.units.len();
        if is_guess {
            self.scatter.was_wrong();
        }
        let Some(wire) = &mut self.wire else { return Ok(()) };
        let changed = PduError::out_of_range("data for memory that was unmapped");
        let mut head = head_bytes;
        for (at, unit) in self.scatter.units.iter().enumerate().skip(number) {
            wire.inbox.append(&self.scatter.heads[at * HEAD_ROOM..][..head]);
            if let Some((_, place, expected)) = unit.data {
                let came = bytes.min(expected as usize);
                let (memory, offset) = self.memory.memory_at(place).ok_or(changed)?;
                memory.read(offset, wire.inbox.room(came));
                bytes -= came;
            }
            head = bytes.min(head_bytes);
            bytes -= head;
            if head == 0 {
                break;
            }
        }
        Ok(())
    }
}
