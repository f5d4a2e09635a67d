//! Receiving on a queue: completions, data, and requests for data.

use std::io::ErrorKind;

use iolab_memory::{MappingAccess, SharedBytes};
use iolab_nvme_fabrics::{DataPart, DataRange, Framing, Pdu, PduError, RunningDigest, Sender};
use iolab_nvme_spec::{CompletionEntry, IoOpcode, Status};
use iolab_pci_device::HostMemory;

use super::queue::{KEEP_ALIVE_CID, PROPERTY_CID, TcpQueue};
use super::wire::Wire;
use crate::inbox::Found;
use crate::outbox::LEAST_INSERT;

/// A data PDU that is being received.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) slot: usize,
    pub(super) cid: u16,
    /// The destination of the next bytes.
    pub(super) address: u64,
    /// Bytes of data still to be received.
    pub(super) left: usize,
    pub(super) digest: Option<RunningDigest>,
    pub(super) is_success: bool,
}

/// Whether a PDU was handled, or is still incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Done,
    Waiting,
}

impl TcpQueue {
    /// Reads the available bytes once, and handles them.
    #[inline]
    pub(super) fn receive(&mut self) {
        let Some(wire) = &mut self.wire else { return };
        if wire.out.unsent() > 0 {
            self.send();
        }
        if self.guess()
            && let Some(received) = self.receive_guessed()
        {
            match received {
                Ok(0) => self.break_off("the target closed the connection"),
                Ok(bytes) => self.handle(bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => self.break_off(&format!("receiving: {error}")),
            }
            return;
        }
        let Some(wire) = &mut self.wire else { return };
        match wire.inbox.fill(&wire.socket) {
            Ok((Found::Bytes(_), _)) => self.handle(0),
            Ok((Found::Nothing, _)) => {}
            Ok((Found::End, _)) => self.break_off("the target closed the connection"),
            Err(error) => self.break_off(&format!("receiving: {error}")),
        }
    }

    /// Handles bytes received by a prediction, and then the PDUs in the inbox.
    fn handle(&mut self, guessed: usize) {
        self.scatter.has_received();
        let mut asked = false;
        let taken = if guessed > 0 { self.take_guessed(guessed, &mut asked) } else { Ok(()) };
        if let Err(error) = taken.and_then(|()| self.handle_inbox(&mut asked)) {
            let reason = match &mut self.wire {
                Some(wire) => wire.refuse(&error).to_string(),
                None => error.to_string(),
            };
            return self.break_off(&reason);
        }
        if asked {
            self.send();
        }
    }

    #[inline]
    fn handle_inbox(&mut self, asked: &mut bool) -> Result<(), PduError> {
        while self.wire.as_ref().is_some_and(|wire| !wire.inbox.is_empty()) {
            if self.step(asked)? == Progress::Waiting {
                break;
            }
        }
        Ok(())
    }

    /// Handles a PDU, or a part of one.
    #[inline]
    fn step(&mut self, asked: &mut bool) -> Result<Progress, PduError> {
        if self.incoming.is_some() && self.take_data()? == Progress::Waiting {
            return Ok(Progress::Waiting);
        }
        let Some(wire) = &mut self.wire else { return Ok(Progress::Waiting) };
        let Some((pdu, range)) = wire.framing.next(wire.inbox.unread(), Sender::Controller)? else {
            return Ok(Progress::Waiting);
        };
        if let Pdu::Data { cid, offset, is_success, .. } = pdu {
            if wire.inbox.unread().len() < range.offset {
                return Ok(Progress::Waiting);
            }
            wire.inbox.consume(range.offset);
            self.scatter.marks_success = is_success;
            self.begin_data(cid, offset, is_success, range)?;
            return Ok(Progress::Done);
        }
        // The faulty header follows a termination request; it is not needed.
        wire.inbox.consume(range.end());
        self.take_pdu(pdu, asked)?;
        Ok(if self.wire.is_some() { Progress::Done } else { Progress::Waiting })
    }

    /// Handles a PDU that has no data for a command.
    #[inline]
    pub(super) fn take_pdu(&mut self, pdu: Pdu, asked: &mut bool) -> Result<(), PduError> {
        match pdu {
            Pdu::Response(entry) => self.complete(entry),
            Pdu::ReadyToTransfer { cid, tag, offset, bytes } => {
                let part = DataPart { cid, tag, offset, bytes, is_last: true, is_success: false };
                self.give_data(&part)?;
                *asked = true;
            }
            Pdu::Terminate { status, .. } => {
                self.break_off(&format!("the target ended the connection: {status}"));
            }
            _ => return Err(PduError::sequence("a PDU that cannot come on a connected queue")),
        }
        Ok(())
    }

    /// Ends a read: all its data has arrived, which also reports its success.
    #[inline]
    pub(super) fn complete_read(&mut self, slot: usize, cid: u16) {
        self.forget(slot);
        self.finish(CompletionEntry::new(self.id, cid, Status::SUCCESS));
    }

    /// Handles a completion.
    #[inline]
    fn complete(&mut self, entry: CompletionEntry) {
        let cid = entry.cid();
        if self.id == 0 && cid == KEEP_ALIVE_CID {
            return;
        }
        if self.id == 0 && cid == PROPERTY_CID {
            self.property = Some(entry);
            return;
        }
        // The command side judges a completion that names no command.
        let Some(slot) = self.find(cid) else { return self.finish(entry) };
        let command = &self.in_flight[slot];
        let is_short = command.opcode == IoOpcode::READ.0 && self.id != 0 && command.moved < command.bytes;
        let fails = entry.status().is_success() && (command.is_damaged || is_short);
        self.forget(slot);
        if fails {
            // The completion reports success, but data was damaged or missing.
            self.finish(CompletionEntry::new(self.id, cid, Status::TRANSIENT_TRANSPORT_ERROR));
        } else {
            self.finish(entry);
        }
    }

    /// Begins a PDU with data, after its header.
    #[inline]
    fn begin_data(&mut self, cid: u16, offset: u32, is_success: bool, range: DataRange) -> Result<(), PduError> {
        let Some(slot) = self.find(cid) else {
            return Err(PduError::field(8, "data for a command that is not in flight"));
        };
        let command = &mut self.in_flight[slot];
        let end = u64::from(offset) + range.bytes as u64;
        if command.is_asked || offset != command.moved || end > u64::from(command.bytes) {
            return Err(PduError::out_of_range("data outside of what the command has room for"));
        }
        command.moved = end as u32;
        let address = command.address + u64::from(offset);
        let digest = range.has_digest.then(RunningDigest::default);
        self.incoming = Some(Incoming { slot, cid, address, left: range.bytes, digest, is_success });
        Ok(())
    }

    /// Takes data of the PDU that is being received.
    #[inline]
    fn take_data(&mut self) -> Result<Progress, PduError> {
        let (Some(incoming), Some(wire)) = (&mut self.incoming, &mut self.wire) else { return Ok(Progress::Done) };
        let bytes = incoming.left.min(wire.inbox.unread().len());
        let piece = &wire.inbox.unread()[..bytes];
        if self.memory.write(incoming.address, piece).is_err() {
            return Err(PduError::out_of_range("data for memory that was unmapped"));
        }
        if let Some(digest) = &mut incoming.digest {
            digest.add(piece);
        }
        incoming.address += bytes as u64;
        incoming.left -= bytes;
        wire.inbox.consume(bytes);
        if incoming.left > 0 {
            return Ok(Progress::Waiting);
        }
        if let Some(digest) = incoming.digest {
            let Some(came) = wire.inbox.unread().first_chunk().copied() else { return Ok(Progress::Waiting) };
            wire.inbox.consume(came.len());
            self.in_flight[incoming.slot].is_damaged |= digest.value() != u32::from_le_bytes(came);
        }
        self.end_data();
        Ok(Progress::Done)
    }

    /// Ends a PDU with data.
    #[inline]
    pub(super) fn end_data(&mut self) {
        if let Some(Incoming { cid, is_success: true, .. }) = self.incoming.take() {
            self.complete(CompletionEntry::new(self.id, cid, Status::SUCCESS));
        }
    }

    /// Sends data that the controller requests.
    fn give_data(&mut self, request: &DataPart) -> Result<(), PduError> {
        let Some(slot) = self.find(request.cid) else {
            return Err(PduError::field(8, "R2T for a command that is not in flight"));
        };
        let command = &mut self.in_flight[slot];
        let end = u64::from(request.offset) + u64::from(request.bytes);
        if !command.is_asked || request.offset != command.moved || end > u64::from(command.bytes) {
            return Err(PduError::out_of_range("R2T outside of the data of the command"));
        }
        command.moved = end as u32;
        let first = command.address + u64::from(request.offset);
        let Some(wire) = &mut self.wire else { return Ok(()) };
        let most = wire.most_sent;
        let mut done = 0;
        while done < request.bytes {
            let bytes = most.min(request.bytes - done);
            let is_last = done + bytes == request.bytes;
            let part = DataPart { offset: request.offset + done, bytes, is_last, ..*request };
            send_part(wire, &mut self.memory, first + u64::from(done), &part)?;
            done += bytes;
        }
        Ok(())
    }
}

/// The memory of data that can be sent without a copy.
#[inline]
pub(super) fn insertable(
    framing: &Framing,
    memory: &mut impl HostMemory,
    address: u64,
    bytes: usize,
) -> Option<SharedBytes> {
    if framing.digests.data || bytes < LEAST_INSERT {
        return None;
    }
    memory.window(address, bytes, MappingAccess::Read).ok().filter(|window| !window.is_watched())
}

fn send_part(wire: &mut Wire, memory: &mut impl HostMemory, address: u64, part: &DataPart) -> Result<(), PduError> {
    let out = wire.out.bytes();
    wire.framing.data_header(out, Sender::Host, part);
    if let Some(window) = insertable(&wire.framing, memory, address, part.bytes as usize) {
        wire.out.parcel.insert(window);
        return Ok(());
    }
    let start = out.len();
    out.resize(start + part.bytes as usize, 0);
    if memory.read(address, &mut out[start..]).is_err() {
        return Err(PduError::out_of_range("data from memory that was unmapped"));
    }
    wire.framing.end_data(out, start);
    Ok(())
}
