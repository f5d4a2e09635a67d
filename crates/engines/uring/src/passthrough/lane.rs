//! The hot half: one command per slot, written in place into its wide entry.
//!
//! Guarantees: those of the lane of `io_uring`. The kernel refuses a transfer larger than the
//! device's maximum, with EINVAL.

use iolab_engine::{Completion, Completions, Lane, LaneError, LaneRequest, Op, OpKind, Submission, TrimRanges, Wait};

use super::command::{self, opcode};
use super::namespace::GenericNamespace;
use super::options::Requested;
use crate::abi::{self, Command, Sqe, pair, sqe_flag};
use crate::lane::waiting::Gate;
use crate::opening::Opened;

/// A lane on the namespaces of a job, for the thread that opened it.
#[derive(Debug)]
pub struct PassthroughLane {
    gate: Gate<true>,
    /// Address of slot 0, the distance between slots, and the usable length of each.
    buffers: u64,
    stride_bytes: u64,
    slot_bytes: u64,
    depth: usize,
    /// Commands accepted and not yet returned.
    held: usize,
    /// Bytes that the command of each slot moves if it succeeds.
    moves: Box<[i32]>,
    /// The ranges that the command of each slot trims, all slots one after the other.
    ranges: Box<[[u64; 2]]>,
    /// Where they are, if a trim has several.
    trims: Option<TrimRanges>,
    /// One for each slot if buffers are passed as vectors, otherwise empty.
    vectors: Box<[libc::iovec]>,
    metadata: Box<[u64]>,
    files: Box<[File]>,
    /// Opcode of writes, and whether they carry data.
    write: (u8, bool),
    /// First word, and kind of command, of transfers.
    word: u64,
    kind: u64,
    uses_registered: bool,
    notes: Vec<String>,
    /// Closed last.
    _namespaces: Vec<GenericNamespace>,
}

/// The common parts of commands to a namespace.
#[derive(Debug, Clone, Copy)]
struct File {
    /// Its descriptor or registered index, in the form of an entry's first word.
    word: u64,
    nsid: u32,
    shift: u32,
    /// Dword 12 of reads and writes.
    controls: [u32; 2],
    /// Words 7 of commands with protection information: dword 15, and whether dword 14 is the
    /// block.
    application_tag: u32,
    tags_blocks: bool,
    /// Bytes of separate metadata of a block, for which a slot has room.
    metadata_bytes: u32,
    metadata_room: u32,
}

impl PassthroughLane {
    pub(super) fn new(
        opened: Opened<true>,
        request: &LaneRequest<'_>,
        requested: &Requested,
        namespaces: Vec<GenericNamespace>,
    ) -> PassthroughLane {
        let Opened { ring, fixed_buffers, fixed_files, notes, .. } = opened;
        let pool = &request.buffers;
        let has_memory = pool.slots() >= request.depth;
        let is_vectored = requested.ring.vectored && !fixed_buffers;
        let of = |(index, namespace): (usize, &GenericNamespace)| {
            let format = namespace.format;
            let number = if fixed_files { index as u32 } else { namespace.fd() as u32 };
            let is_protected = format.protection > 0;
            let protection = if is_protected { requested.protection } else { 0 };
            let is_kept = format.metadata_bytes == 0 || format.is_stripped(requested.protection);
            File {
                word: u64::from(number) << abi::FILE_SHIFT,
                nsid: namespace.nsid,
                shift: format.block_shift,
                controls: [requested.controls.0 | protection, requested.controls.1 | protection],
                application_tag: if is_protected { pair_of_tag(requested.application_tag) } else { 0 },
                tags_blocks: matches!(format.protection, 1 | 2),
                metadata_bytes: if is_kept { 0 } else { format.metadata_bytes },
                metadata_room: requested.metadata_bytes,
            }
        };
        let files: Box<[File]> = namespaces.iter().enumerate().map(of).collect();
        let words = requested.metadata_bytes.div_ceil(8) as usize;
        let flags = if fixed_files { sqe_flag::FIXED_FILE } else { 0 };
        let io = if is_vectored { command::URING_IO_VEC } else { command::URING_IO };
        let vectors = if is_vectored { request.depth } else { 0 };
        let mut lane = PassthroughLane {
            gate: Gate::new(ring, &requested.ring),
            buffers: if has_memory { pool.slot_ptr(0) as u64 } else { 0 },
            stride_bytes: if has_memory { pool.stride_bytes() as u64 } else { 0 },
            slot_bytes: if has_memory { pool.slot_bytes() as u64 } else { 0 },
            depth: request.depth,
            held: 0,
            moves: vec![0; request.depth].into(),
            ranges: vec![[0; 2]; request.depth].into(),
            trims: None,
            vectors: vec![libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; vectors].into(),
            metadata: vec![0; words * request.depth].into(),
            files,
            write: requested.write,
            word: abi::word(abi::opcode::URING_CMD, flags),
            kind: pair(io, 0),
            uses_registered: fixed_buffers,
            notes,
            _namespaces: namespaces,
        };
        for slot in 0..request.depth as u16 {
            *lane.gate.ring.sqe(slot) = Sqe { user_data: u64::from(slot), ..Sqe::default() };
        }
        lane
    }

    /// Commands that the kernel has or will have with the next enter.
    #[inline]
    fn flushed(&self) -> usize {
        self.held - self.gate.ring.unpublished() as usize
    }

    #[inline]
    fn needed(&self, wait: Wait, out: &Completions) -> usize {
        wait.at_least.saturating_sub(out.as_slice().len()).min(out.room_left()).min(self.flushed())
    }

    /// Writes a command into the entry of its slot.
    #[inline]
    fn queue(&mut self, op: &Op, kind: u64, command: Command, moves: i32) -> Submission {
        let word = self.word | self.files[op.file as usize].word;
        let is_registered = self.uses_registered && moves > 0;
        let slot = u64::from(op.slot);
        let entry = self.gate.ring.sqe(op.slot);
        entry.word = word;
        entry.off = kind;
        entry.addr = 0;
        entry.length_and_flags = pair(0, if is_registered { abi::COMMAND_FIXED } else { 0 });
        entry.buffer = if is_registered { slot << abi::BUFFER_SHIFT } else { 0 };
        *self.gate.ring.command(op.slot) = command;
        self.moves[usize::from(op.slot)] = moves;
        self.gate.ring.queue(op.slot);
        self.held += 1;
        Submission::Accepted
    }

    /// A read or a write.
    #[inline]
    fn transfer(&mut self, op: &Op) -> Submission {
        let file = self.files[op.file as usize];
        if u64::from(op.buffer_offset) + u64::from(op.length) > self.slot_bytes {
            return Submission::Refused(libc::EFAULT);
        }
        let (lba, blocks) = (op.offset >> file.shift, op.length >> file.shift);
        let whole = (op.offset | u64::from(op.length)) & ((1 << file.shift) - 1) == 0;
        if !whole || blocks == 0 || blocks > 1 << 16 {
            return Submission::Refused(libc::EINVAL);
        }
        let (opcode, has_data) = if op.kind == OpKind::Read { (opcode::READ, true) } else { self.write };
        let mut address = self.buffers + u64::from(op.slot) * self.stride_bytes + u64::from(op.buffer_offset);
        let mut bytes = op.length;
        let mut kind = self.kind;
        if !has_data {
            (address, bytes, kind) = (0, 0, pair(command::URING_IO, 0));
        } else if let Some(vector) = self.vectors.get_mut(usize::from(op.slot)) {
            *vector = libc::iovec { iov_base: address as *mut _, iov_len: op.length as usize };
            (address, bytes) = ((&raw const *vector) as u64, 1);
        }
        let control = file.controls[usize::from(op.kind == OpKind::Write)] | (blocks - 1);
        let mut command = command::of_blocks(opcode, file.nsid, lba, control, (address, bytes));
        if file.application_tag != 0 || file.tags_blocks {
            command[7] = pair(if file.tags_blocks { lba as u32 } else { 0 }, file.application_tag);
        }
        if file.metadata_bytes > 0 && has_data {
            let metadata = blocks * file.metadata_bytes;
            if metadata > file.metadata_room {
                return Submission::Refused(libc::EINVAL);
            }
            let words = file.metadata_room.div_ceil(8) as usize;
            command[2] = (&raw const self.metadata[usize::from(op.slot) * words]) as u64;
            command[4] = pair(metadata, bytes);
        }
        self.queue(op, kind, command, op.length as i32)
    }

    /// A flush or a trim.
    #[cold]
    fn control(&mut self, op: &Op) -> Submission {
        let file = self.files[op.file as usize];
        let command = if op.kind == OpKind::Trim {
            if (op.offset | u64::from(op.length)) & ((1 << file.shift) - 1) != 0 {
                return Submission::Refused(libc::EINVAL);
            }
            let count = self.trims.as_ref().map_or(1, |trims| trims.count() as usize);
            let ranges = &mut self.ranges[usize::from(op.slot) * count..][..count];
            let mut filled = 1;
            if let Some(trims) = &self.trims {
                filled = 0;
                for (place, (offset, length)) in ranges.iter_mut().zip(trims.of(op)) {
                    *place = command::range(offset >> file.shift, length >> file.shift);
                    filled += 1;
                }
            } else {
                ranges[0] = command::range(op.offset >> file.shift, op.length >> file.shift);
            }
            if filled != count {
                return Submission::Refused(libc::EINVAL);
            }
            command::deallocate(file.nsid, ranges)
        } else {
            command::bare(opcode::FLUSH, file.nsid)
        };
        self.queue(op, pair(command::URING_IO, 0), command, 0)
    }
}

/// Dword 15: the tag, and all bits of its mask.
fn pair_of_tag(tag: u32) -> u32 {
    0xffff << 16 | tag
}

/// The result of a completion: an errno, or a status of the device.
#[cold]
fn failed(result: i32) -> i32 {
    if result < 0 { result } else { -command::errno_of(result) }
}

impl Lane for PassthroughLane {
    const SYNCHRONOUS: bool = false;
    const FUSES: bool = true;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        if self.held == self.depth {
            return Submission::Full;
        }
        if usize::from(op.slot) >= self.depth {
            return Submission::Refused(libc::EFAULT);
        }
        match op.kind {
            OpKind::Read | OpKind::Write => self.transfer(op),
            _ => self.control(op),
        }
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        self.gate.offer();
        self.gate.flush(self.flushed())
    }

    #[inline]
    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        self.gate.await_ring(self.needed(wait, out), wait.timeout_ns, self.flushed())?;
        let ready = self.gate.ring.ready();
        let count = out.extend_with(ready, |index| {
            let done = self.gate.ring.completion(index);
            let result = if done.res == 0 { self.moves[done.user_data as usize] } else { failed(done.res) };
            Completion { slot: done.user_data as u32, result }
        });
        self.gate.ring.take(count);
        self.held -= count;
        Ok(count)
    }

    #[inline]
    fn flush_and_reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        self.gate.offer();
        self.reap(wait, out)
    }

    fn set_trim_ranges(&mut self, ranges: TrimRanges) -> Result<(), i32> {
        self.ranges = vec![[0; 2]; self.depth * ranges.count() as usize].into();
        self.trims = Some(ranges);
        Ok(())
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Drop for PassthroughLane {
    fn drop(&mut self) {
        self.gate.drain(self.flushed());
    }
}
