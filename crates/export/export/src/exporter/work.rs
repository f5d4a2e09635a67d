//! The state of one slot.
//!
//! Plain data; `steps.rs` has the transitions.

use iolab_engine::OpKind;

use crate::{ExportRequest, RequestKind};

/// What follows when the current transfer is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// No request, or one that waits for the range lock.
    None,
    /// The request, or the current piece of it, is done.
    Straight,
    /// Whole blocks were read: move the requested bytes to the start.
    Shift,
    /// The first block of a partial write was read.
    FillHead,
    /// The last block of a partial write was read.
    FillTail,
}

/// The transfer of one range through the lane, in as many operations as necessary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transfer {
    pub(super) kind: OpKind,
    pub(super) offset: u64,
    pub(super) length: u32,
    /// Offset of its data in the slot.
    pub(super) at: u32,
    /// Bytes already transferred.
    pub(super) done: u32,
}

impl Transfer {
    /// A transfer of which nothing is done yet.
    #[inline]
    pub(super) fn of(kind: OpKind, offset: u64, length: u32, at: u32) -> Transfer {
        Transfer { kind, offset, length, at, done: 0 }
    }

    /// Bytes of the next operation.
    #[inline]
    pub(super) fn left(&self, most: u32) -> u32 {
        let left = self.length - self.done;
        if self.moves_data() { left.min(most) } else { left }
    }

    /// Offset of the next operation's data in the slot; 0 if it has none.
    #[inline]
    pub(super) fn buffer_offset(&self) -> u32 {
        if self.moves_data() { self.at + self.done } else { 0 }
    }

    #[inline]
    pub(super) fn moves_data(&self) -> bool {
        self.kind.moves_data()
    }
}

/// A request and its progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) request: ExportRequest,
    pub(super) busy: bool,
    pub(super) step: Step,
    pub(super) transfer: Transfer,
    /// The part of the request that the current piece writes.
    pub(super) piece: (u64, u32),
    /// Where the next piece starts; the request's end when the current piece is the last.
    pub(super) next_piece: u64,
}

impl Work {
    pub(super) const IDLE: Work = Work {
        request: ExportRequest { kind: RequestKind::Flush, offset: 0, length: 0 },
        busy: false,
        step: Step::None,
        transfer: Transfer { kind: OpKind::Sync, offset: 0, length: 0, at: 0, done: 0 },
        piece: (0, 0),
        next_piece: 0,
    };

    #[inline]
    pub(super) fn of(request: ExportRequest) -> Work {
        Work { request, busy: true, next_piece: request.offset, ..Work::IDLE }
    }

    pub(super) fn is_idle(&self) -> bool {
        !self.busy
    }

    /// Where the request ends.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.request.offset + self.request.length
    }
}
