//! The hot half: one prebuilt `iocb` per slot, one `io_submit` per flush, and one `io_getevents`
//! per reap that finds nothing in the completion ring.
//!
//! Guarantees: no allocation between open and drop; operations for which the kernel has no room
//! stay queued until a later flush or reap; an operation that the kernel refuses completes with its
//! errno, and the rest continues. A wait with a timeout returns early when a signal interrupts it;
//! one without a timeout continues. With nothing in flight, no wait sleeps. Dropping the lane waits
//! for all operations in the kernel.
//!
//! Unsafe: reading back, through the pointers the kernel is given, the operation that it refused.

use iolab_engine::{Completion, Completions, Lane, LaneError, LaneRequest, Op, OpKind, Submission, Wait, io_priority};

use iolab_async_io::native_aio::Context;
use iolab_async_io::native_aio::abi::{self, IoEvent, Iocb, command};
use iolab_engine::file_calls::{FileTarget, fdatasync, fsync, perform};

/// How often to offer a submission again for which the kernel has no memory, before its first
/// operation fails.
const PATIENCE: usize = 10_000;

/// A lane on one AIO context.
#[derive(Debug)]
pub struct LibaioLane {
    /// Declared first, so that it is dropped, awaiting all operations, before the memory that the
    /// kernel reads.
    context: Context,
    iocbs: Box<[Iocb]>,
    /// One for each slot if transfers are vectored, otherwise empty.
    vectors: Box<[libc::iovec]>,
    /// Accepted operations in order; those from `queued_from` to `queued_to` are not yet submitted
    /// to the kernel.
    queue: Box<[*mut Iocb]>,
    queued_from: usize,
    queued_to: usize,
    /// The position up to which a flush has offered the queue to the kernel.
    flushed_to: usize,
    /// Buffer for completions before they are translated.
    events: Box<[IoEvent]>,
    /// Operations finished outside the kernel's queue, to be returned by `reap`; never more than
    /// the depth.
    done: Vec<Completion>,
    /// Operations in the kernel.
    in_kernel: usize,
    /// Operations accepted and not yet returned by `reap`.
    held: usize,
    files: Box<[FileTarget]>,
    buffers: u64,
    stride_bytes: u64,
    slot_bytes: u64,
    rw_flags: u32,
    userspace_reap: bool,
    is_vectored: bool,
    /// Writes cannot be torn.
    is_atomic: bool,
    /// Transfers need more than their plain entry.
    is_special: bool,
    /// Cleared when the kernel does not support asynchronous syncs.
    syncs_in_kernel: bool,
    notes: Vec<String>,
}

/// The lane's options.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Requested {
    /// `None` means automatic.
    pub(crate) userspace_reap: Option<bool>,
    pub(crate) nowait: bool,
    pub(crate) vectored: bool,
    pub(crate) atomic: bool,
}

impl LibaioLane {
    pub(crate) fn new(context: Context, request: &LaneRequest<'_>, requested: Requested) -> LibaioLane {
        let depth = request.depth;
        let pool = &request.buffers;
        let has_memory = pool.slots() >= depth;
        let vectors = if requested.vectored { depth } else { 0 };
        let mut notes = Vec::new();
        if requested.userspace_reap == Some(true) && !context.has_known_ring() {
            notes.push("userspace_reap=1 has no effect: this kernel's completion ring has another layout".to_owned());
        }
        LibaioLane {
            iocbs: (0..depth).map(|slot| Iocb { data: slot as u64, ..Iocb::default() }).collect(),
            vectors: vec![libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; vectors].into(),
            queue: vec![std::ptr::null_mut(); depth].into(),
            queued_from: 0,
            queued_to: 0,
            flushed_to: 0,
            events: vec![IoEvent::default(); depth].into(),
            done: Vec::with_capacity(depth),
            in_kernel: 0,
            held: 0,
            files: request.files.iter().map(FileTarget::from).collect(),
            buffers: if has_memory { pool.slot_ptr(0) as u64 } else { 0 },
            stride_bytes: if has_memory { pool.stride_bytes() as u64 } else { 0 },
            slot_bytes: if has_memory { pool.slot_bytes() as u64 } else { 0 },
            rw_flags: if requested.nowait { abi::RWF_NOWAIT } else { 0 },
            userspace_reap: requested.userspace_reap != Some(false) && context.has_known_ring(),
            is_vectored: requested.vectored,
            is_atomic: requested.atomic,
            is_special: requested.vectored || requested.atomic,
            syncs_in_kernel: true,
            notes,
            context,
        }
    }

    /// Whether completions are taken from the kernel's ring without a system call.
    pub fn takes_events_in_user_space(&self) -> bool {
        self.userspace_reap
    }

    /// A sync or a trim: everything that is not a transfer.
    #[cold]
    #[inline(never)]
    fn submit_control(&mut self, op: &Op) -> Submission {
        if op.slot as usize >= self.iocbs.len() {
            return Submission::Refused(libc::EFAULT);
        }
        let file = self.files[op.file as usize];
        let opcode = match op.kind {
            OpKind::Sync => command::FSYNC,
            OpKind::DataSync => command::FDSYNC,
            _ => u16::MAX,
        };
        if opcode == u16::MAX || !self.syncs_in_kernel {
            let result = perform(file, op);
            self.held += 1;
            self.done.push(Completion { slot: u32::from(op.slot), result });
            return Submission::Accepted;
        }
        let data = u64::from(op.slot);
        self.iocbs[op.slot as usize] = Iocb { data, opcode, fd: file.fd as u32, ..Iocb::default() };
        self.enqueue(op.slot);
        Submission::Accepted
    }

    /// Adds vectors, priorities and flags to an operation that is otherwise complete.
    #[cold]
    #[inline(never)]
    fn specialise(&mut self, op: &Op) {
        let iocb = &mut self.iocbs[op.slot as usize];
        if op.priority != 0 {
            iocb.flags = abi::FLAG_IOPRIO;
            iocb.priority = io_priority(op.priority).cast_signed();
        }
        if self.is_atomic && op.kind == OpKind::Write {
            iocb.rw_flags |= libc::RWF_ATOMIC as u32;
        }
        if self.is_vectored {
            let vector = &mut self.vectors[op.slot as usize];
            *vector = libc::iovec { iov_base: iocb.buffer as *mut _, iov_len: iocb.bytes as usize };
            iocb.opcode = if op.kind == OpKind::Read { command::PREADV } else { command::PWRITEV };
            iocb.buffer = (&raw const *vector) as u64;
            iocb.bytes = 1;
        }
    }

    #[inline]
    fn enqueue(&mut self, slot: u16) {
        if self.queued_to == self.queue.len() {
            self.close_ranks();
        }
        self.queue[self.queued_to] = &raw mut self.iocbs[slot as usize];
        self.queued_to += 1;
        self.held += 1;
    }

    /// Moves the queued operations to the front. There is room, because fewer than `depth`
    /// operations are held.
    #[cold]
    fn close_ranks(&mut self) {
        self.queue.copy_within(self.queued_from..self.queued_to, 0);
        self.flushed_to -= self.queued_from;
        self.queued_to -= self.queued_from;
        self.queued_from = 0;
    }

    /// Submits flushed operations until the kernel has them all or has no room.
    #[inline]
    fn submit_queue(&mut self) -> Result<(), LaneError> {
        let mut patience = PATIENCE;
        while self.queued_from < self.flushed_to {
            let waiting = &self.queue[self.queued_from..self.flushed_to];
            // SAFETY: the operations lie in the lane's own boxed array, and act on buffers which
            // outlive the lane (contract of OpenRequest).
            let taken = unsafe { self.context.submit(waiting) };
            if taken > 0 {
                self.queued_from += taken as usize;
                self.in_kernel += taken as usize;
            } else if !self.submit_failed(-taken, &mut patience)? {
                return Ok(());
            }
        }
        (self.queued_from, self.flushed_to, self.queued_to) = match self.queued_to == self.flushed_to {
            true => (0, 0, 0),
            false => (self.queued_from, self.flushed_to, self.queued_to),
        };
        Ok(())
    }

    /// The kernel took no operation. Returns whether to offer the queue again now.
    #[cold]
    #[inline(never)]
    fn submit_failed(&mut self, errno: i32, patience: &mut usize) -> Result<bool, LaneError> {
        match errno {
            libc::EINTR => return Ok(true),
            // No room: completions make some, and the next flush or reap offers the rest.
            0 | libc::EAGAIN if self.in_kernel > 0 => return Ok(false),
            // Nothing is in flight that could make room: the kernel is temporarily short of memory.
            0 | libc::EAGAIN if *patience > 0 => {
                *patience -= 1;
                std::thread::yield_now();
                return Ok(true);
            }
            0 | libc::ENOSYS => return Err(LaneError { call: "io_submit", errno }),
            _ => {}
        }
        // Any other errno is that of the first operation alone (io_submit(2)); those behind it are
        // offered again.
        // SAFETY: the pointer is to an element of `iocbs`, which nothing writes meanwhile.
        let iocb = unsafe { *self.queue[self.queued_from] };
        self.queued_from += 1;
        let is_sync = matches!(iocb.opcode, command::FSYNC | command::FDSYNC);
        let result = if is_sync && errno == libc::EINVAL {
            let fd = iocb.fd as i32;
            let result = if iocb.opcode == command::FDSYNC { fdatasync(fd) } else { fsync(fd) };
            self.syncs_in_kernel &= result < 0;
            result
        } else {
            -errno
        };
        self.done.push(Completion { slot: iocb.data as u32, result });
        Ok(true)
    }

    /// Returns operations that were finished outside the kernel's queue.
    #[cold]
    fn collect_done(&mut self, out: &mut Completions) -> usize {
        let count = self.done.len().min(out.room_left());
        self.done.drain(..count).for_each(|done| out.push(done));
        self.held -= count;
        count
    }

    /// Returns the first `count` events.
    #[inline]
    fn hand_out(&mut self, count: usize, out: &mut Completions) {
        let events = &self.events[..count];
        out.extend_with(count, |index| {
            let event = &events[index];
            Completion { slot: event.data as u32, result: event.result as i32 }
        });
        self.in_kernel -= count;
        self.held -= count;
    }

    /// Fetches completions of the kernel, waiting for `need` of them. Returns how many it got.
    #[inline]
    fn fetch(&mut self, need: usize, timeout_ns: u64, out: &mut Completions) -> Result<usize, LaneError> {
        let most = out.room_left().min(self.in_kernel);
        if most == 0 {
            return Ok(0);
        }
        if self.userspace_reap {
            let count = self.context.take_events(&mut self.events[..most]);
            if count > 0 || need == 0 {
                self.hand_out(count, out);
                return Ok(count);
            }
        }
        let timeout_ns = if need == 0 { 0 } else { timeout_ns };
        match self.context.get_events(need, &mut self.events[..most], timeout_ns) {
            count if count >= 0 => {
                self.hand_out(count as usize, out);
                Ok(count as usize)
            }
            interrupted if interrupted == -libc::EINTR => Ok(0),
            failed => Err(LaneError { call: "io_getevents", errno: -failed }),
        }
    }
}

impl Lane for LibaioLane {
    const SYNCHRONOUS: bool = false;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        if self.held == self.queue.len() {
            return Submission::Full;
        }
        let opcode = match op.kind {
            OpKind::Read => command::PREAD,
            OpKind::Write => command::PWRITE,
            _ => return self.submit_control(op),
        };
        // The kernel would write past the slot: the buffers are this process's memory.
        if u64::from(op.buffer_offset) + u64::from(op.length) > self.slot_bytes || op.slot as usize >= self.iocbs.len()
        {
            return Submission::Refused(libc::EFAULT);
        }
        let slot = op.slot as usize;
        let fd = self.files[op.file as usize].fd;
        let iocb = &mut self.iocbs[slot];
        iocb.rw_flags = self.rw_flags;
        iocb.opcode = opcode;
        iocb.fd = fd as u32;
        iocb.buffer = self.buffers + slot as u64 * self.stride_bytes + u64::from(op.buffer_offset);
        iocb.bytes = u64::from(op.length);
        iocb.offset = op.offset as i64;
        iocb.flags = 0;
        if self.is_special | (op.priority != 0) {
            self.specialise(op);
        }
        self.enqueue(op.slot);
        Submission::Accepted
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        self.flushed_to = self.queued_to;
        self.submit_queue()
    }

    #[inline]
    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        let mut handed = if self.done.is_empty() { 0 } else { self.collect_done(out) };
        loop {
            if self.queued_from < self.flushed_to {
                self.submit_queue()?;
                handed += self.collect_done(out);
            }
            let missing = wait.at_least.saturating_sub(out.as_slice().len());
            let need = missing.min(out.room_left()).min(self.in_kernel);
            let count = self.fetch(need, wait.timeout_ns, out)?;
            handed += count;
            let unsatisfied = count < need || (missing > count && self.queued_from < self.flushed_to);
            // A wait with a timeout ended by the timeout, by a signal or with some completions.
            // Fetch again only without a timeout.
            let again = wait.timeout_ns == u64::MAX || (self.userspace_reap && count > 0 && wait.timeout_ns > 0);
            if !unsatisfied || !again || out.room_left() == 0 {
                return Ok(handed);
            }
        }
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}
