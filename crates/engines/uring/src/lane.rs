//! The hot half: one submission entry per slot, one `io_uring_enter` for submitting and waiting
//! together.
//!
//! Guarantees: no allocation between open and drop; at most one system call per `flush_and_reap`
//! while the kernel neither refuses nor is interrupted; dropping the lane cancels or awaits every
//! operation, because the buffers are freed afterwards. A wait with a timeout returns early when a
//! signal interrupts it; one without a timeout continues. With nothing in flight, no wait sleeps.

mod control;
pub(crate) mod waiting;

use iolab_engine::file_calls::{FileTarget, always_waits};
use iolab_engine::{Completion, Completions, Lane, LaneError, Op, OpKind, Submission, TargetFile, Wait};

use self::waiting::Gate;
use crate::abi::{self, Sqe, opcode, setup, sqe_flag};
use crate::opening::Opened;
use crate::options::Requested;

/// A lane on one ring, for the thread that opened it.
#[derive(Debug)]
pub struct UringLane {
    gate: Gate,
    /// Address of slot 0, the distance between slots, and the usable length of each.
    buffers: u64,
    stride_bytes: u64,
    slot_bytes: u64,
    depth: usize,
    /// Operations accepted and not yet returned.
    held: usize,
    /// `IOSQE_*` flags of syncs and trims.
    control_flags: u8,
    /// First word of a read's and a write's entry: opcode, flags.
    read_word: u64,
    write_word: u64,
    /// `RWF_*` flags of reads and writes, in the form of an entry.
    transfer_flags: u64,
    /// The bits of a slot's number that are the index of its registered buffer: all bits, or none
    /// without registration.
    buffer_mask: u64,
    /// Whether transfers need more than their plain entry: vectors, or occasionally `IOSQE_ASYNC`.
    is_special: bool,
    /// For each file, its descriptor or registered index and its flags, in the form of an entry's
    /// first word.
    file_words: Box<[u64]>,
    files: Box<[FileTarget]>,
    /// One for each slot if transfers are vectored, otherwise empty.
    vectors: Box<[libc::iovec]>,
    is_vectored: bool,
    /// Writes cannot be torn.
    is_atomic: bool,
    fixed_buffers: bool,
    force_async: u32,
    until_async: u32,
    /// Cleared if the kernel does not support the discard command.
    discards_by_ring: bool,
    /// Operations performed by plain calls, to be returned; never more than `depth`.
    done: Vec<Completion>,
    setup_flags: u32,
    notes: Vec<String>,
}

impl UringLane {
    pub(crate) fn new(opened: Opened, request: &iolab_engine::LaneRequest<'_>, requested: &Requested) -> UringLane {
        let Opened { ring, setup_flags, fixed_buffers, fixed_files, notes } = opened;
        let pool = &request.buffers;
        let has_memory = pool.slots() >= request.depth;
        let is_vectored = requested.vectored && !fixed_buffers;
        let (read, write) = match (fixed_buffers, is_vectored) {
            (true, _) => (opcode::READ_FIXED, opcode::WRITE_FIXED),
            (false, true) => (opcode::READV, opcode::WRITEV),
            (false, false) => (opcode::READ, opcode::WRITE),
        };
        let flags = if fixed_files { sqe_flag::FIXED_FILE } else { 0 };
        let mut rwf = 0;
        rwf |= if requested.nowait { abi::RWF_NOWAIT } else { 0 };
        rwf |= if requested.uncached { abi::RWF_DONTCACHE } else { 0 };
        let word_of = |(index, file): (usize, &TargetFile)| {
            let number = if fixed_files { index as u32 } else { file.fd as u32 };
            let at_once = requested.workers_at_once.unwrap_or_else(|| request.depth == 1 && always_waits(file));
            let flags = if at_once { sqe_flag::ASYNC } else { 0 };
            u64::from(number) << abi::FILE_SHIFT | u64::from(flags) << abi::FLAGS_SHIFT
        };
        let vectors = if is_vectored { request.depth } else { 0 };
        let mut lane = UringLane {
            gate: Gate::new(ring, requested),
            buffers: if has_memory { pool.slot_ptr(0) as u64 } else { 0 },
            stride_bytes: if has_memory { pool.stride_bytes() as u64 } else { 0 },
            slot_bytes: if has_memory { pool.slot_bytes() as u64 } else { 0 },
            depth: request.depth,
            held: 0,
            control_flags: flags,
            read_word: abi::word(read, flags),
            write_word: abi::word(write, flags),
            transfer_flags: abi::pair(0, rwf),
            buffer_mask: if fixed_buffers { u64::MAX } else { 0 },
            is_special: is_vectored || requested.force_async > 0 || requested.atomic,
            is_atomic: requested.atomic,
            file_words: request.files.iter().enumerate().map(word_of).collect(),
            files: request.files.iter().map(FileTarget::from).collect(),
            vectors: vec![libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; vectors].into(),
            is_vectored,
            fixed_buffers,
            force_async: requested.force_async,
            until_async: requested.force_async,
            discards_by_ring: true,
            done: Vec::with_capacity(request.depth),
            setup_flags,
            notes,
        };
        // The constant parts of an entry are written once.
        for slot in 0..request.depth as u16 {
            *lane.gate.ring.sqe(slot) = Sqe { user_data: u64::from(slot), ..Sqe::default() };
        }
        lane
    }

    /// Whether buffers are registered with the kernel.
    pub fn has_fixed_buffers(&self) -> bool {
        self.fixed_buffers
    }

    /// Whether completion work is deferred until the lane asks (`IORING_SETUP_DEFER_TASKRUN`).
    pub fn defers_task_work(&self) -> bool {
        self.setup_flags & setup::DEFER_TASKRUN != 0
    }

    #[inline]
    fn queue(&mut self, slot: u16) {
        self.gate.ring.queue(slot);
        self.held += 1;
    }

    /// Operations that the kernel has or will have with the next enter.
    #[inline]
    fn flushed(&self) -> usize {
        self.held - self.gate.ring.unpublished() as usize - self.done.len()
    }

    /// How many completions of the ring to wait for, given what `out` has and can take.
    #[inline]
    fn needed(&self, wait: Wait, out: &Completions) -> usize {
        let have = out.as_slice().len() + self.done.len();
        wait.at_least.saturating_sub(have).min(out.room_left()).min(self.flushed())
    }

    /// Returns completions that are ready.
    #[inline]
    fn collect(&mut self, out: &mut Completions) -> usize {
        let mut handed = 0;
        if !self.done.is_empty() {
            handed = self.collect_done(out);
        }
        let count = out.extend_with(self.gate.ring.ready(), |index| {
            let cqe = self.gate.ring.completion(index);
            let result = if cqe.res < 0 { self.failed(cqe) } else { cqe.res };
            Completion { slot: cqe.user_data as u32, result }
        });
        self.gate.ring.take(count);
        self.held -= count + handed;
        count + handed
    }

    #[cold]
    fn collect_done(&mut self, out: &mut Completions) -> usize {
        let count = self.done.len().min(out.room_left());
        self.done.drain(..count).for_each(|done| out.push(done));
        count
    }
}

impl Lane for UringLane {
    const SYNCHRONOUS: bool = false;
    const FUSES: bool = true;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        if self.held == self.depth {
            return Submission::Full;
        }
        let word = match op.kind {
            OpKind::Read => self.read_word,
            OpKind::Write => self.write_word,
            _ => return self.submit_control(op),
        };
        // The kernel would write past the slot: the buffers are this process's memory.
        if u64::from(op.buffer_offset) + u64::from(op.length) > self.slot_bytes || op.slot as usize >= self.depth {
            return Submission::Refused(libc::EFAULT);
        }
        let slot = u64::from(op.slot);
        let file_word = self.file_words[op.file as usize];
        let (flags, buffer_mask) = (self.transfer_flags, self.buffer_mask);
        let address = self.buffers + slot * self.stride_bytes + u64::from(op.buffer_offset);
        let entry = self.gate.ring.sqe(op.slot);
        entry.word = word | file_word;
        entry.off = op.offset;
        entry.addr = address;
        entry.length_and_flags = abi::pair(op.length, 0) | flags;
        entry.buffer = (slot & buffer_mask) << abi::BUFFER_SHIFT;
        entry.addr3 = 0;
        if self.is_special | (op.priority != 0) {
            self.specialise(op);
        }
        self.queue(op.slot);
        Submission::Accepted
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        self.gate.offer();
        self.gate.flush(self.flushed())
    }

    #[inline]
    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        self.gate.await_ring(self.needed(wait, out), wait.timeout_ns, self.flushed())?;
        Ok(self.collect(out))
    }

    #[inline]
    fn flush_and_reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        self.gate.offer();
        self.reap(wait, out)
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Drop for UringLane {
    fn drop(&mut self) {
        self.gate.drain(self.flushed());
    }
}
