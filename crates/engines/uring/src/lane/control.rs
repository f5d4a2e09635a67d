//! Everything besides plain transfers: syncs, trims, priorities, vectors, and failed discards.
//!
//! Everything here is cold, so that the path of a plain read or write stays short.

use iolab_engine::{Completion, Op, OpKind, Submission, io_priority};

use super::UringLane;
use crate::abi::{self, Cqe, Sqe, opcode, sqe_flag};
use iolab_engine::file_calls::{FileTarget, PUNCH_HOLE, perform, sync_range_flags, trim};

impl UringLane {
    /// A sync or a trim: everything that is not a transfer.
    #[cold]
    #[inline(never)]
    pub(super) fn submit_control(&mut self, op: &Op) -> Submission {
        if op.slot as usize >= self.depth {
            return Submission::Refused(libc::EFAULT);
        }
        let file = self.files[op.file as usize];
        let length = u64::from(op.length);
        let discards = op.kind == OpKind::Trim && file.discards();
        let resets = op.kind == OpKind::Trim && file.is_block_device && !discards;
        if self.gate.poll_device || resets || (discards && !self.discards_by_ring) {
            let result = perform(file, op);
            self.done.push(Completion { slot: u32::from(op.slot), result });
            self.held += 1;
            return Submission::Accepted;
        }
        let word = |opcode| abi::word(opcode, self.control_flags) | self.file_words[op.file as usize];
        let base = Sqe { off: op.offset, user_data: u64::from(op.slot), ..Sqe::default() };
        let entry = match op.kind {
            OpKind::Sync => Sqe { word: word(opcode::FSYNC), off: 0, ..base },
            OpKind::DataSync => {
                Sqe { word: word(opcode::FSYNC), off: 0, length_and_flags: abi::pair(0, abi::FSYNC_DATASYNC), ..base }
            }
            OpKind::SyncFileRange => {
                let length_and_flags = abi::pair(op.length, sync_range_flags(op.buffer_offset));
                Sqe { word: word(opcode::SYNC_FILE_RANGE), length_and_flags, ..base }
            }
            OpKind::Trim if discards => {
                let off = abi::pair(abi::BLOCK_DISCARD, 0);
                Sqe { word: word(opcode::URING_CMD), off, addr: op.offset, addr3: length, ..base }
            }
            OpKind::Trim => {
                let length_and_flags = abi::pair(PUNCH_HOLE as u32, 0);
                Sqe { word: word(opcode::FALLOCATE), addr: length, length_and_flags, ..base }
            }
            OpKind::Read | OpKind::Write => return Submission::Refused(libc::EINVAL),
        };
        *self.gate.ring.sqe(op.slot) = entry;
        self.queue(op.slot);
        Submission::Accepted
    }

    /// Adds priorities, vectors and forced workers to an entry that is otherwise complete.
    #[cold]
    #[inline(never)]
    pub(super) fn specialise(&mut self, op: &Op) {
        let mut extra = 0;
        if op.priority != 0 {
            extra |= u64::from(io_priority(op.priority)) << abi::PRIORITY_SHIFT;
        }
        if self.force_async > 0 {
            self.until_async -= 1;
            if self.until_async == 0 {
                self.until_async = self.force_async;
                extra |= u64::from(sqe_flag::ASYNC) << abi::FLAGS_SHIFT;
            }
        }
        let is_atomic = self.is_atomic && op.kind == OpKind::Write;
        let flags = self.transfer_flags | if is_atomic { abi::pair(0, libc::RWF_ATOMIC as u32) } else { 0 };
        let entry = self.gate.ring.sqe(op.slot);
        entry.word |= extra;
        entry.length_and_flags |= flags;
        if self.is_vectored {
            let vector = &mut self.vectors[op.slot as usize];
            *vector = libc::iovec { iov_base: entry.addr as *mut _, iov_len: op.length as usize };
            entry.addr = (&raw const *vector) as u64;
            entry.length_and_flags = abi::pair(1, 0) | flags;
        }
    }

    /// A failed operation. A discard that the ring does not support is performed by a plain call
    /// instead.
    #[cold]
    #[inline(never)]
    pub(super) fn failed(&mut self, cqe: Cqe) -> i32 {
        let sqe = *self.gate.ring.sqe(cqe.user_data as u16);
        let unknown = matches!(-cqe.res, libc::EOPNOTSUPP | libc::EINVAL | libc::ENOTTY);
        if sqe.opcode() != opcode::URING_CMD || !unknown {
            return cqe.res;
        }
        let number = (sqe.word >> abi::FILE_SHIFT) as u32;
        let registered = self.control_flags & sqe_flag::FIXED_FILE != 0;
        let fd = if registered { self.files[number as usize].fd } else { number as i32 };
        let result = trim(FileTarget::new(fd, true), sqe.addr, sqe.addr3);
        self.discards_by_ring &= result < 0;
        result
    }
}
