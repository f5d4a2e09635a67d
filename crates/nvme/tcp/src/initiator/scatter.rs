//! Receives data directly to its destination, without a copy, by predicting the next PDUs.
//!
//! Targets mostly answer in the order of the commands. One call therefore receives the header of
//! the first answer into `heads`, its data into the memory of its command, the header of the
//! second, and so on.
//!
//! ```text
//! stream   | rest of data | header | data A        | header | data B      | head…
//! goes to    its command    heads    command A       heads    command B     heads
//! ```
//!
//! Then each header is read. As long as headers are as predicted, the commands already have their
//! data. If a header differs, everything after it is put into the inbox in the order of the stream,
//! and handled from there. Memory of commands in flight may contain anything until they end. After
//! a wrong prediction, none are made for a while.
//!
//! Data with a digest is not received this way: it has to be read once anyway.

use iolab_memory::MappingAccess;
use iolab_nvme_fabrics::{Pdu, PduError, Sender};

use super::guesses::{DIRECT_BYTES, HEAD_ROOM, HEADER_BYTES, MOST_BYTES, MOST_UNITS, Unit};
use super::queue::TcpQueue;
use super::receive::Incoming;

impl TcpQueue {
    /// Bytes of a header with its digest.
    #[inline]
    fn head_bytes(&self) -> usize {
        let has_digest = self.wire.as_ref().is_some_and(|wire| wire.framing.digests.header);
        HEADER_BYTES + if has_digest { 4 } else { 0 }
    }

    /// Predicts the next PDUs. Returns whether the prediction is worth a scattered receive.
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
            // Predicts only the next header, if the data after it is worth a separate call.
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
                // The command's data has arrived or is arriving, so a completion may follow. For
                // other commands, a header follows in any case.
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

    /// Receives according to the prediction, and handles the received bytes. `None` if the memory
    /// has changed meanwhile.
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

    /// Handles bytes received by the prediction.
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
        for number in 0..=self.scatter.units.len() {
            if bytes == 0 || number == self.scatter.units.len() {
                self.scatter.was_right(number);
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
            if let Some((slot, _, expected)) = unit.data
                && let Some(is_success) = framing.is_plain_data(&self.scatter.head(number)[..head_bytes], expected)
                && self.take_plain_data(number, is_success, (slot, expected), &mut bytes)
            {
                continue;
            }
            let read = framing.next(&self.scatter.head(number)[..head_bytes], Sender::Controller)?;
            match (read, unit.data) {
                (Some((pdu, range)), None) if range.bytes == 0 && range.end() == head_bytes => {
                    self.take_pdu(pdu, asked)?;
                }
                (Some((Pdu::Data { offset: 0, is_success, .. }, range)), Some((slot, _, expected)))
                    if (range.offset, range.bytes) == (head_bytes, expected as usize)
                        && self.take_plain_data(number, is_success, (slot, expected), &mut bytes) => {}
                _ => return self.straighten(number, bytes),
            }
            if self.wire.is_none() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes the data after the predicted header, if it belongs to the predicted command.
    #[inline]
    fn take_plain_data(
        &mut self,
        number: usize,
        is_success: bool,
        (slot, expected): (usize, u32),
        bytes: &mut usize,
    ) -> bool {
        let head = &self.scatter.heads[number * HEAD_ROOM..];
        let cid = u16::from_le_bytes([head[8], head[9]]);
        let command = &mut self.in_flight[slot];
        if command.cid != u32::from(cid) || command.moved != 0 {
            return false;
        }
        let came = (*bytes).min(expected as usize);
        *bytes -= came;
        command.moved = expected;
        self.scatter.marks_success = is_success;
        if came < expected as usize {
            let (address, left) = (command.address + came as u64, expected as usize - came);
            self.incoming = Some(Incoming { slot, cid, address, left, digest: None, is_success });
        } else if is_success {
            self.complete_read(slot, cid);
        }
        true
    }

    /// Handles a wrong prediction, from a unit on whose header has arrived with `bytes` after it.
    /// Puts all of them into the inbox in the order of the stream.
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
