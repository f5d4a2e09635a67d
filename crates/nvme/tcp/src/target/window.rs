//! The data of a command received over TCP, as the device reads and writes it.
//!
//! Data that a host writes is in the inbox, after its command, or was gathered by R2T. Data that it
//! reads is sent from the medium's memory, after the header of a C2HData PDU. It is copied into the
//! outbox if it has a digest, or if its file could be truncated.

use iolab_memory::SharedBytes;
use iolab_nvme_fabrics::{DataPart, Framing, Sender};
use iolab_nvme_spec::sgl::{SglSubtype, SglType};
use iolab_nvme_spec::{Status, SubmissionEntry};
use iolab_sockets::ParcelEnd;
use iolab_virtual_ssd::{CommandError, DataDirection, DataWindow, Unreachable};

use crate::inbox::Inbox;
use crate::outbox::{LEAST_INSERT, Outbox, zeroes};

/// The most bytes that one command transfers, whatever the drive allows. This bounds the memory
/// that a host can make a target use.
pub(super) const MOST_TRANSFER_BYTES: usize = 1 << 20;

/// Where the data of the current command is.
#[derive(Debug, Default)]
pub(super) enum Source {
    /// The command has no data.
    #[default]
    Nowhere,
    /// The data is in the capsule, at this offset of the unread bytes.
    Capsule { offset: usize, bytes: usize },
    /// The data was gathered.
    Gathered(Vec<u8>),
}

/// The contents of the data for the host.
#[derive(Debug)]
enum Content {
    /// Zeroes, which is the initial content.
    Zeroes,
    /// In the outbox.
    Own,
    /// In this memory.
    Elsewhere(SharedBytes),
}

/// A PDU with data for the host, in the outbox.
#[derive(Debug)]
struct Answer {
    /// The end of the PDUs before it.
    before: ParcelEnd,
    /// Where its data is in the outbox, or would be.
    data: usize,
    content: Content,
}

/// The effect of a fault on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Breakage {
    /// Nothing more is sent or processed.
    HalfOpen,
    /// The link must be reset.
    Reset,
}

/// Buffers of a connection, and the data of its current command.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) inbox: Inbox,
    pub(super) out: Outbox,
    pub(super) framing: Framing,
    /// Whether C2HData may also report the completion.
    pub(super) marks_success: bool,
    pub(super) source: Source,
    pub(super) breakage: Option<Breakage>,
    answer: Option<Answer>,
    bytes: usize,
}

impl Window {
    pub(super) fn new(inbox_bytes: usize) -> Window {
        Window {
            inbox: Inbox::new(inbox_bytes),
            out: Outbox::default(),
            framing: Framing::before_connection(),
            marks_success: false,
            source: Source::Nowhere,
            breakage: None,
            answer: None,
            bytes: 0,
        }
    }

    /// The data that the command brought.
    pub(super) fn brought(&self) -> &[u8] {
        match &self.source {
            Source::Nowhere => &[],
            Source::Capsule { offset, bytes } => self.inbox.unread().get(*offset..offset + bytes).unwrap_or_default(),
            Source::Gathered(bytes) => bytes,
        }
    }

    /// Removes the data that the command brought from the window.
    pub(super) fn take_brought(&mut self) -> Vec<u8> {
        match std::mem::take(&mut self.source) {
            Source::Gathered(bytes) => bytes,
            source => {
                self.source = source;
                let bytes = self.brought().to_vec();
                self.source = Source::Nowhere;
                bytes
            }
        }
    }

    /// The data for the host in the outbox, if the command has any.
    pub(super) fn answer_mut(&mut self) -> Option<&mut [u8]> {
        let Answer { data, content, .. } = self.answer.as_mut()?;
        let out = self.out.bytes();
        match std::mem::replace(content, Content::Own) {
            Content::Own => {}
            Content::Zeroes => out.resize(*data + self.bytes, 0),
            Content::Elsewhere(memory) => {
                out.resize(*data + self.bytes, 0);
                memory.read(0, &mut out[*data..]);
            }
        }
        Some(&mut out[*data..])
    }

    /// Discards the data for the host: the command failed, or is executed again.
    pub(super) fn drop_answer(&mut self) {
        if let Some(answer) = self.answer.take() {
            drop(self.out.parcel.split_off(answer.before));
        }
    }

    /// Bytes of data for the host.
    #[inline]
    pub(super) fn answer_bytes(&self) -> usize {
        if self.answer.is_some() { self.bytes } else { 0 }
    }

    /// Ends the PDU with the data for the host. Returns whether it also reports the completion.
    #[inline]
    pub(super) fn finish_answer(&mut self) -> bool {
        let Some(answer) = &self.answer else { return false };
        if (self.framing.digests.data || self.bytes < LEAST_INSERT) && !matches!(answer.content, Content::Own) {
            let _ = self.answer_mut();
        }
        let Some(answer) = self.answer.take() else { return false };
        match answer.content {
            Content::Own => self.framing.end_data(self.out.bytes(), answer.data),
            Content::Elsewhere(memory) => self.out.parcel.insert(memory),
            Content::Zeroes => match zeroes(self.bytes) {
                Some(memory) => self.out.parcel.insert(memory),
                None => self.out.bytes().resize(answer.data + self.bytes, 0),
            },
        }
        self.marks_success
    }

    /// The end of the outbox before the PDUs of the current command.
    #[inline]
    pub(super) fn answer_start(&self) -> ParcelEnd {
        self.answer.as_ref().map_or_else(|| self.out.parcel.end(), |answer| answer.before)
    }

    #[inline]
    fn begin_answer(&mut self, cid: u16, bytes: usize) {
        let before = self.out.parcel.end();
        let is_success = self.marks_success;
        let part = DataPart { cid, tag: 0, offset: 0, bytes: bytes as u32, is_last: true, is_success };
        let out = self.out.bytes();
        self.framing.data_header(out, Sender::Controller, &part);
        self.answer = Some(Answer { before, data: out.len(), content: Content::Zeroes });
    }
}

/// Rejects a description of data that does not fit the command.
#[cold]
fn invalid(status: Status) -> CommandError {
    CommandError::permanent(status)
}

impl DataWindow for Window {
    #[inline]
    fn locate(
        &mut self,
        command: &SubmissionEntry,
        direction: DataDirection,
        bytes: usize,
    ) -> Result<(), CommandError> {
        if bytes > MOST_TRANSFER_BYTES {
            return Err(invalid(Status::INVALID_FIELD));
        }
        self.bytes = bytes;
        if direction == DataDirection::FromHost {
            if self.brought().len() < bytes {
                return Err(invalid(Status::DATA_SGL_LENGTH_INVALID));
            }
            return Ok(());
        }
        self.drop_answer();
        let descriptor = command.sgl1();
        let is_transport =
            descriptor.kind() == SglType::TRANSPORT_DATA_BLOCK && descriptor.subtype() == SglSubtype::TRANSPORT;
        if bytes == 0 {
            return Ok(());
        }
        if !is_transport {
            return Err(invalid(Status::SGL_TYPE_INVALID));
        }
        if (descriptor.length() as usize) < bytes {
            return Err(invalid(Status::DATA_SGL_LENGTH_INVALID));
        }
        self.begin_answer(command.cid(), bytes);
        Ok(())
    }

    fn len(&self) -> usize {
        self.bytes
    }

    fn read(&mut self, to: &mut [u8]) -> Result<(), Unreachable> {
        to.copy_from_slice(self.brought().get(..to.len()).ok_or(Unreachable)?);
        Ok(())
    }

    fn write(&mut self, from: &[u8]) -> Result<(), Unreachable> {
        if !from.is_empty() {
            let data = self.answer_mut().and_then(|data| data.get_mut(..from.len()));
            data.ok_or(Unreachable)?.copy_from_slice(from);
        }
        Ok(())
    }

    fn copy_to(&mut self, to: &SharedBytes, offset: usize) -> Result<(), Unreachable> {
        to.write(offset, self.brought().get(..self.bytes).ok_or(Unreachable)?);
        Ok(())
    }

    fn copy_from(&mut self, from: &SharedBytes, offset: usize) -> Result<(), Unreachable> {
        let bytes = self.bytes;
        // Data with a digest must not change any more, but a file can be truncated.
        let stays = bytes >= LEAST_INSERT && !self.framing.digests.data && !from.is_watched();
        if stays
            && let Some(answer) = &mut self.answer
            && let Some(memory) = from.window(offset, bytes)
        {
            answer.content = Content::Elsewhere(memory);
            return Ok(());
        }
        if bytes > 0 {
            let data = self.answer_mut().and_then(|data| data.get_mut(..bytes));
            from.read(offset, data.ok_or(Unreachable)?);
        }
        Ok(())
    }
}
