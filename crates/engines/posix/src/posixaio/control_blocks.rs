//! The control blocks of operations in flight, one per slot, and the list that `aio_suspend(3)`
//! takes.
//!
//! The address of a block is fixed from the call that queues it until `aio_return(3)`, as the C
//! library requires: the blocks are allocated once and never move. Dropping the blocks cancels
//! operations if possible and waits for the rest, so that the C library never holds a dangling
//! address.
//!
//! Unsafe: it hands addresses of blocks and buffers to the C library's threads.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use iolab_engine::{Completion, Completions, OpKind};

/// The C library's request for one operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) kind: OpKind,
    pub(crate) fd: RawFd,
    pub(crate) address: *mut u8,
    pub(crate) length: usize,
    pub(crate) offset: u64,
}

/// Control blocks by slot; `waiting` and `slots` list those in flight, in parallel and without
/// gaps.
pub(crate) struct ControlBlocks {
    blocks: Box<[libc::aiocb]>,
    waiting: Vec<*const libc::aiocb>,
    slots: Vec<u16>,
    busy: Box<[bool]>,
}

impl std::fmt::Debug for ControlBlocks {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ControlBlocks").field("in_flight", &self.slots).finish_non_exhaustive()
    }
}

// SAFETY: the pointers lead to blocks this value owns and to the runner's slots; the C library
// takes requests and questions about them from any thread.
unsafe impl Send for ControlBlocks {}

impl ControlBlocks {
    pub(crate) fn for_slots(count: usize) -> ControlBlocks {
        // SAFETY: aiocb is a C structure of numbers and pointers, for which all zeroes is a valid
        // value.
        let idle: libc::aiocb = unsafe { std::mem::zeroed() };
        ControlBlocks {
            blocks: vec![idle; count].into_boxed_slice(),
            waiting: Vec::with_capacity(count),
            slots: Vec::with_capacity(count),
            busy: vec![false; count].into_boxed_slice(),
        }
    }

    /// Number of operations in flight.
    #[inline]
    pub(crate) fn in_flight(&self) -> usize {
        self.slots.len()
    }

    /// Whether `slot` belongs to this lane and is idle.
    #[inline]
    pub(crate) fn is_idle(&self, slot: u16) -> bool {
        self.busy.get(usize::from(slot)) == Some(&false)
    }

    /// Queues `request` on the block of `slot`. `Err` is the errno with which the C library refused
    /// it.
    ///
    /// # Safety
    /// `slot` is idle; the request's bytes, if it moves any, are nobody else's until it is
    /// collected.
    #[inline]
    pub(crate) unsafe fn queue(&mut self, slot: u16, request: &Request) -> Result<(), i32> {
        let block = &mut self.blocks[usize::from(slot)];
        block.aio_fildes = request.fd;
        block.aio_reqprio = 0;
        block.aio_buf = request.address.cast();
        block.aio_nbytes = request.length;
        block.aio_offset = request.offset as libc::off_t;
        block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        let block: *mut libc::aiocb = block;
        // SAFETY: the block is idle, stays where it is and lives until collected (Drop waits); the
        // bytes are the caller's promise.
        let answer = unsafe {
            match request.kind {
                OpKind::Write => libc::aio_write(block),
                OpKind::Sync => libc::aio_fsync(libc::O_SYNC, block),
                OpKind::DataSync => libc::aio_fsync(libc::O_DSYNC, block),
                _ => libc::aio_read(block),
            }
        };
        if answer != 0 {
            return Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EAGAIN));
        }
        self.waiting.push(block);
        self.slots.push(slot);
        self.busy[usize::from(slot)] = true;
        Ok(())
    }

    /// Moves completed operations to `out`, as far as there is room.
    #[inline]
    pub(crate) fn collect_into(&mut self, out: &mut Completions) {
        let mut position = 0;
        while position < self.slots.len() && out.room_left() > 0 {
            match self.result_at(position) {
                Some(result) => {
                    let slot = self.slots.swap_remove(position);
                    self.waiting.swap_remove(position);
                    self.busy[usize::from(slot)] = false;
                    out.push(Completion { slot: u32::from(slot), result });
                }
                None => position += 1,
            }
        }
    }

    /// The result of the operation at `position` in the list: bytes or a negative errno; `None`
    /// while it is in progress.
    #[inline]
    fn result_at(&mut self, position: usize) -> Option<i32> {
        let block: *mut libc::aiocb = &mut self.blocks[usize::from(self.slots[position])];
        // SAFETY: the block was queued and has not been collected.
        match unsafe { libc::aio_error(block) } {
            libc::EINPROGRESS => None,
            0 => {
                // SAFETY: the operation is complete and its result is asked for once: the caller
                // delists it.
                let moved = unsafe { libc::aio_return(block) };
                Some(i32::try_from(moved).unwrap_or(i32::MAX))
            }
            errno => {
                // SAFETY: as above; the errno is known already, the call ends the block's use.
                unsafe { libc::aio_return(block) };
                Some(-errno)
            }
        }
    }

    /// Waits until an operation completes (`Ok(true)`) or `timeout_ns` has passed (`Ok(false)`);
    /// `u64::MAX` waits forever. `Err` is an errno.
    pub(crate) fn wait(&self, timeout_ns: u64) -> Result<bool, i32> {
        let timeout = Duration::from_nanos(timeout_ns);
        let timeout = libc::timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos() as libc::c_long,
        };
        let timeout = if timeout_ns == u64::MAX { std::ptr::null() } else { &raw const timeout };
        loop {
            // SAFETY: the list names blocks in flight; the timeout is null or alive during the
            // call.
            let answer =
                unsafe { libc::aio_suspend(self.waiting.as_ptr(), self.waiting.len() as libc::c_int, timeout) };
            if answer == 0 {
                return Ok(true);
            }
            match io::Error::last_os_error().raw_os_error() {
                Some(libc::EAGAIN) => return Ok(false),
                Some(libc::EINTR) => {}
                errno => return Err(errno.unwrap_or(libc::EIO)),
            }
        }
    }
}

impl Drop for ControlBlocks {
    fn drop(&mut self) {
        for &slot in &self.slots {
            let block: *mut libc::aiocb = &mut self.blocks[usize::from(slot)];
            // SAFETY: a block in flight; what cannot be cancelled is awaited below.
            unsafe { libc::aio_cancel((*block).aio_fildes, block) };
        }
        let mut out = Completions::with_room(self.slots.len());
        loop {
            self.collect_into(&mut out);
            // An error of aio_suspend, except for the interruptions that it handles itself, does
            // not end the wait: returning with blocks in flight would give freed memory to the C
            // library.
            if self.slots.is_empty() {
                return;
            }
            let _ = self.wait(u64::MAX);
        }
    }
}
