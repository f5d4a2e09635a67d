//! The steps of a request: the first transfer, and the next one after each is complete.
//!
//! Nothing here waits; every step ends with a transfer submitted or the request finished.

use iolab_engine::{Lane, OpKind};

use super::work::{Step, Transfer};
use super::{Exporter, RequestKind};

/// Longest range of one trim: whole blocks of every size, and well within an op's length.
const TRIM_BYTES: u64 = 1 << 30;

impl<L: Lane> Exporter<'_, L> {
    /// Starts the first step of a request that may begin.
    #[inline]
    pub(super) fn begin(&mut self, slot: u16) {
        let work = &mut self.works[usize::from(slot)];
        match work.request.kind {
            RequestKind::Read => self.begin_read(slot),
            RequestKind::Write => {
                work.piece = (work.request.offset, work.request.length as u32);
                work.next_piece = work.end();
                self.begin_write(slot);
            }
            RequestKind::Zero => self.next_zeroes(slot),
            RequestKind::Discard => self.next_discard(slot),
            RequestKind::Flush => self.transfer(slot, Step::Straight, Transfer::of(OpKind::Sync, 0, 0, 0)),
        }
    }

    #[inline]
    fn begin_read(&mut self, slot: u16) {
        let work = &self.works[usize::from(slot)];
        let (offset, end) = (work.request.offset, work.end());
        if self.size.is_aligned(offset, end) {
            return self.transfer(slot, Step::Straight, Transfer::of(OpKind::Read, offset, (end - offset) as u32, 0));
        }
        let span = self.size.span(offset, end);
        self.transfer(slot, Step::Shift, Transfer::of(OpKind::Read, span.start, (span.end - span.start) as u32, 0));
    }

    /// Writes the current piece, whose bytes are at the start of the slot.
    #[inline]
    fn begin_write(&mut self, slot: u16) {
        let (offset, length) = self.works[usize::from(slot)].piece;
        let end = offset + u64::from(length);
        if self.size.is_aligned(offset, end) {
            return self.transfer(slot, Step::Straight, Transfer::of(OpKind::Write, offset, length, 0));
        }
        let span = self.size.span(offset, end);
        self.pool.slot_mut(usize::from(slot)).copy_within(..length as usize, span.lead);
        if span.lead > 0 { self.fill(slot, Step::FillHead) } else { self.fill(slot, Step::FillTail) }
    }

    /// Reads the first or last block of a partial write into the space after the blocks to be
    /// written.
    fn fill(&mut self, slot: u16, step: Step) {
        let (offset, length) = self.works[usize::from(slot)].piece;
        let span = self.size.span(offset, offset + u64::from(length));
        let block = self.size.block_bytes();
        let start = if step == Step::FillHead { span.start } else { span.end - u64::from(block) };
        self.transfer(slot, step, Transfer::of(OpKind::Read, start, block, (span.end - span.start) as u32));
    }

    /// Uses the block read by `fill` to complete one side of the write; then reads the other or
    /// writes.
    fn filled(&mut self, slot: u16, step: Step) {
        let (offset, length) = self.works[usize::from(slot)].piece;
        let end = offset + u64::from(length);
        let (span, block) = (self.size.span(offset, end), self.size.block_bytes() as usize);
        let bytes = (span.end - span.start) as usize;
        let tail = (span.end - end) as usize;
        let buffer = self.pool.slot_mut(usize::from(slot));
        if step == Step::FillHead {
            buffer.copy_within(bytes..bytes + span.lead, 0);
        }
        if step == Step::FillTail || bytes == block {
            buffer.copy_within(bytes + block - tail..bytes + block, bytes - tail);
        } else if tail > 0 {
            return self.fill(slot, Step::FillTail);
        }
        self.transfer(slot, Step::Straight, Transfer::of(OpKind::Write, span.start, bytes as u32, 0));
    }

    /// Zeroes the next part of a range: a partial block, or whole blocks.
    fn next_zeroes(&mut self, slot: u16) {
        let work = &mut self.works[usize::from(slot)];
        let (start, end) = (work.next_piece, work.end());
        let block = u64::from(self.size.block_bytes());
        let whole = (end & !(block - 1)).saturating_sub(start);
        let is_whole = start.is_multiple_of(block) && whole > 0;
        let most = if self.limits.trim_zeroes {
            TRIM_BYTES
        } else {
            crate::payload_bytes(self.pool.view().slot_bytes()) as u64
        };
        let length = if is_whole { whole.min(most) } else { (end - start).min(block - start % block) };
        work.piece = (start, length as u32);
        work.next_piece = start + length;
        if is_whole && self.limits.trim_zeroes {
            return self.transfer(slot, Step::Straight, Transfer::of(OpKind::Trim, start, length as u32, 0));
        }
        self.pool.slot_mut(usize::from(slot))[..length as usize].fill(0);
        self.begin_write(slot);
    }

    /// Trims the next whole blocks of a range that is not needed; partial blocks stay.
    fn next_discard(&mut self, slot: u16) {
        let work = &mut self.works[usize::from(slot)];
        let block = u64::from(self.size.block_bytes());
        let (start, end) = (work.next_piece.next_multiple_of(block), work.end() & !(block - 1));
        if start >= end {
            return self.finish(slot, 0);
        }
        let length = (end - start).min(TRIM_BYTES);
        work.next_piece = start + length;
        self.transfer(slot, Step::Straight, Transfer::of(OpKind::Trim, start, length as u32, 0));
    }

    #[inline]
    fn transfer(&mut self, slot: u16, step: Step, transfer: Transfer) {
        let work = &mut self.works[usize::from(slot)];
        work.step = step;
        work.transfer = transfer;
        self.send(slot);
    }

    /// Handles the lane's result for the slot's operation.
    #[inline]
    pub(super) fn completed(&mut self, slot: u16, result: i32) {
        let work = &mut self.works[usize::from(slot)];
        if result < 0 {
            return self.finish(slot, result);
        }
        let transfer = &mut work.transfer;
        if transfer.moves_data() {
            transfer.done = transfer.done.saturating_add(result.unsigned_abs()).min(transfer.length);
            if transfer.done < transfer.length {
                // Nothing was transferred: the device is shorter than stated, and retrying would
                // never end.
                return if result == 0 { self.finish(slot, -libc::EIO) } else { self.send(slot) };
            }
        }
        self.transferred(slot);
    }

    #[inline]
    fn transferred(&mut self, slot: u16) {
        let work = &self.works[usize::from(slot)];
        let (request, step, more) = (work.request, work.step, work.next_piece < work.end());
        match step {
            Step::Shift => {
                let lead = self.size.span(request.offset, work.end()).lead;
                self.pool.slot_mut(usize::from(slot)).copy_within(lead..lead + request.length as usize, 0);
                self.finish(slot, request.length as i32);
            }
            Step::FillHead | Step::FillTail => self.filled(slot, step),
            Step::Straight | Step::None => match request.kind {
                RequestKind::Read | RequestKind::Write => self.finish(slot, request.length as i32),
                RequestKind::Zero if more => self.next_zeroes(slot),
                RequestKind::Discard if more => self.next_discard(slot),
                _ => self.finish(slot, 0),
            },
        }
    }
}
