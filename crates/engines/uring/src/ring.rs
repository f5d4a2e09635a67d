//! One io_uring: its descriptor, its three mappings, and the calls that enter and register.
//!
//! ```text
//!        submission ring (u32 slot numbers)          completion ring (Cqe)
//!        head ──▶ [3][0][1] ◀── tail                 head ──▶ [..][..] ◀── tail
//!        kernel      │           us                   us                   kernel
//!                    ▼
//!        sqes        [0][1][2][3]   one per slot, rewritten in place
//! ```
//!
//! Guarantees: indices stay inside the mappings, and the mappings live as long as the value. Does
//! not know what operations mean, nor who owns which slot.
//!
//! Unsafe: raw system calls, and access to mappings shared with the kernel.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use crate::abi::{self, Command, Cqe, GetEventsArg, Params, RingFdUpdate, Sqe, SyncCancel, Timespec};

const NS_PER_S: u64 = 1_000_000_000;

/// A mapping of the ring's descriptor, unmapped on drop.
#[derive(Debug)]
struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    fn new(fd: i32, bytes: usize, offset: i64) -> Result<Mapping, i32> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a fresh mapping at an address of the kernel's choice touches nothing that exists.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, fd, offset) };
        match NonNull::new(address.cast()) {
            Some(base) if address != libc::MAP_FAILED => Ok(Mapping { base, bytes }),
            _ => Err(last_errno()),
        }
    }

    /// The address of a `T` at this offset; panics if it would not be inside the mapping.
    fn at<T>(&self, offset: u32, count: u32) -> NonNull<T> {
        let end = offset as usize + size_of::<T>() * count as usize;
        assert!(end <= self.bytes, "the kernel placed ring fields outside their mapping");
        // SAFETY: the offset is inside the mapping, as just checked.
        unsafe { self.base.add(offset as usize).cast() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: base and length are those of the mapping made in `new`, unmapped once, here.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// A ring with its mappings. A `WIDE` one has entries of 128 bytes and completions of 32, for
/// commands to drivers.
#[derive(Debug)]
pub(crate) struct Ring<const WIDE: bool = false> {
    /// What `enter` passes: the descriptor, or its registered index.
    enter_fd: i32,
    /// Flags of every `enter`.
    enter_flags: u32,
    sq_tail: NonNull<AtomicU32>,
    sq_flags: NonNull<AtomicU32>,
    sq_array: NonNull<u32>,
    sq_mask: u32,
    sqes: NonNull<Sqe>,
    cq_head: NonNull<AtomicU32>,
    cq_tail: NonNull<AtomicU32>,
    cqes: NonNull<Cqe>,
    cq_mask: u32,
    /// Completions taken from the ring.
    taken: u32,
    /// Entries put into the submission ring, and how many of them the kernel was shown.
    tail: u32,
    published: u32,
    fd: i32,
    has_buffers: bool,
    has_ring_fd: bool,
    /// Unmapped after the last use of everything above.
    _mappings: [Option<Mapping>; 3],
}

impl<const WIDE: bool> Ring<WIDE> {
    /// Units of a narrow entry or completion that one occupies.
    const STEP: usize = if WIDE { 2 } else { 1 };

    /// Sets up a ring according to `params`; returns the errno if the kernel refuses.
    pub(crate) fn new(entries: u32, params: &mut Params) -> Result<Ring<WIDE>, i32> {
        if WIDE {
            params.flags |= abi::setup::SQE128 | abi::setup::CQE32;
        }
        let parameters: *mut Params = params;
        // SAFETY: the kernel reads and writes one Params, which lives through the call.
        let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, entries, parameters) } as i32;
        if fd < 0 {
            return Err(last_errno());
        }
        Ring::map(fd, params).inspect_err(|_| {
            // SAFETY: the descriptor was made above and nothing else knows it.
            unsafe { libc::close(fd) };
        })
    }

    fn map(fd: i32, params: &Params) -> Result<Ring<WIDE>, i32> {
        let (sq, cq) = (&params.sq_off, &params.cq_off);
        let sq_bytes = sq.array as usize + params.sq_entries as usize * size_of::<u32>();
        let cq_bytes = cq.cqes as usize + params.cq_entries as usize * size_of::<Cqe>() * Self::STEP;
        let single = params.features & abi::feature::SINGLE_MMAP != 0;
        let first = Mapping::new(fd, if single { sq_bytes.max(cq_bytes) } else { sq_bytes }, abi::OFF_SQ_RING)?;
        let second = if single { None } else { Some(Mapping::new(fd, cq_bytes, abi::OFF_CQ_RING)?) };
        let third = Mapping::new(fd, params.sq_entries as usize * size_of::<Sqe>() * Self::STEP, abi::OFF_SQES)?;
        let completion = second.as_ref().unwrap_or(&first);
        Ok(Ring {
            enter_fd: fd,
            enter_flags: 0,
            sq_tail: first.at(sq.tail, 1),
            sq_flags: first.at(sq.flags, 1),
            sq_array: first.at(sq.array, params.sq_entries),
            sq_mask: params.sq_entries - 1,
            sqes: third.at(0, params.sq_entries * Self::STEP as u32),
            cq_head: completion.at(cq.head, 1),
            cq_tail: completion.at(cq.tail, 1),
            cqes: completion.at(cq.cqes, params.cq_entries * Self::STEP as u32),
            cq_mask: params.cq_entries - 1,
            taken: 0,
            tail: 0,
            published: 0,
            fd,
            has_buffers: false,
            has_ring_fd: false,
            _mappings: [Some(first), second, Some(third)],
        })
    }

    /// The submission entry of `slot`. The caller may write it only while the kernel does not own
    /// the slot.
    #[inline]
    pub(crate) fn sqe(&mut self, slot: u16) -> &mut Sqe {
        // The mask does nothing to the index of a slot and keeps any other number inside.
        let index = u32::from(slot) & self.sq_mask;
        // SAFETY: masked, the index is inside the array of entries. The kernel reads an entry
        // between publish and the return of the enter (or the completion) that consumes it, and
        // never writes one.
        unsafe { self.sqes.add(index as usize * Self::STEP).as_mut() }
    }

    /// The rest of the entry of `slot`, after its first 48 bytes: a command to a driver.
    #[inline]
    pub(crate) fn command(&mut self, slot: u16) -> &mut Command {
        const { assert!(WIDE, "a narrow entry has no room for a command") };
        let index = (u32::from(slot) & self.sq_mask) as usize * Self::STEP;
        // SAFETY: a wide entry has 128 bytes, of which the command is those from 48 on; the rest is
        // as in `sqe`.
        unsafe { self.sqes.add(index).cast::<u8>().add(abi::COMMAND_AT).cast::<Command>().as_mut() }
    }

    /// Queues the entry of `slot`; invisible until `publish`. At most as many as there are entries
    /// may be queued and not consumed, which holds while every slot is queued at most once.
    #[inline]
    pub(crate) fn queue(&mut self, slot: u16) {
        let index = (self.tail & self.sq_mask) as usize;
        // SAFETY: masked, the index is inside the array.
        unsafe { self.sq_array.add(index).write(u32::from(slot)) };
        self.tail = self.tail.wrapping_add(1);
    }

    /// Entries queued and not published.
    #[inline]
    pub(crate) fn unpublished(&self) -> u32 {
        self.tail.wrapping_sub(self.published)
    }

    /// Shows all queued entries to the kernel. Returns how many are new.
    #[inline]
    pub(crate) fn publish(&mut self) -> u32 {
        let count = self.unpublished();
        self.published = self.tail;
        // SAFETY: the address is that of the ring's tail in a live mapping, only accessed
        // atomically.
        unsafe { self.sq_tail.as_ref() }.store(self.tail, Ordering::Release);
        count
    }

    /// The current `IORING_SQ_*` flags of the kernel.
    #[inline]
    pub(crate) fn flags(&self) -> u32 {
        // SAFETY: the address is that of the ring's flags in a live mapping, only accessed
        // atomically.
        unsafe { self.sq_flags.as_ref() }.load(Ordering::Relaxed)
    }

    /// Whether the submission thread sleeps; checked after `publish`.
    pub(crate) fn needs_wakeup(&self) -> bool {
        // The thread sets its flag and then reads the tail; the fence keeps this thread's two steps
        // in the opposite order.
        fence(Ordering::SeqCst);
        self.flags() & abi::sq_flag::NEED_WAKEUP != 0
    }

    /// Number of completions that can be taken.
    #[inline]
    pub(crate) fn ready(&self) -> usize {
        // SAFETY: the address is that of the ring's tail in a live mapping, only accessed
        // atomically.
        let tail = unsafe { self.cq_tail.as_ref() }.load(Ordering::Acquire);
        tail.wrapping_sub(self.taken) as usize
    }

    /// The completion `index` places after the last one taken; `index` is below the result of
    /// `ready`.
    #[inline]
    pub(crate) fn completion(&self, index: usize) -> Cqe {
        let place = (self.taken.wrapping_add(index as u32) & self.cq_mask) as usize;
        // SAFETY: masked, the index is inside the array; the kernel wrote the entry before it moved
        // the tail that `ready` acquired, and writes it again only after `take`.
        unsafe { self.cqes.add(place * Self::STEP).read() }
    }

    /// Returns the places of the first `count` completions to the kernel.
    #[inline]
    pub(crate) fn take(&mut self, count: usize) {
        self.taken = self.taken.wrapping_add(count as u32);
        // SAFETY: the address is that of the ring's head in a live mapping, only accessed
        // atomically.
        unsafe { self.cq_head.as_ref() }.store(self.taken, Ordering::Release);
    }

    /// io_uring_enter(2) without a timeout. Returns how many entries were consumed, or a negative
    /// errno.
    #[inline]
    pub(crate) fn enter(&self, to_submit: u32, min_complete: u32, flags: u32) -> i32 {
        self.call_enter(to_submit, min_complete, flags, std::ptr::null(), 0)
    }

    /// As `enter`, but a wait lasts at most `timeout_ns` (`u64::MAX`: forever).
    #[inline]
    pub(crate) fn enter_for(&self, to_submit: u32, min_complete: u32, timeout_ns: u64, flags: u32) -> i32 {
        if min_complete == 0 || timeout_ns == u64::MAX {
            return self.enter(to_submit, min_complete, flags);
        }
        self.enter_with_timeout(to_submit, min_complete, timeout_ns, flags)
    }

    #[cold]
    fn enter_with_timeout(&self, to_submit: u32, min_complete: u32, timeout_ns: u64, flags: u32) -> i32 {
        // Avoids the division in the usual case of less than a second.
        let seconds = if timeout_ns < NS_PER_S { 0 } else { timeout_ns / NS_PER_S };
        let timeout = Timespec { seconds: seconds as i64, nanoseconds: (timeout_ns - seconds * NS_PER_S) as i64 };
        let argument = GetEventsArg { ts: (&raw const timeout) as u64, ..GetEventsArg::default() };
        let flags = flags | abi::enter::EXT_ARG;
        self.call_enter(to_submit, min_complete, flags, (&raw const argument).cast(), size_of::<GetEventsArg>())
    }

    #[inline]
    fn call_enter(&self, submit: u32, complete: u32, flags: u32, argument: *const c_void, bytes: usize) -> i32 {
        let (fd, flags) = (self.enter_fd, flags | self.enter_flags);
        // SAFETY: the kernel reads the argument, which lives through the call, and acts on entries
        // that point to buffers which outlive the lane (contract of OpenRequest).
        let result = unsafe { libc::syscall(libc::SYS_io_uring_enter, fd, submit, complete, flags, argument, bytes) };
        if result < 0 { -last_errno() } else { result as i32 }
    }

    fn register(&self, opcode: u32, argument: *mut c_void, count: u32) -> Result<u32, i32> {
        // SAFETY: each caller passes an argument of the type and count that the opcode takes, alive
        // through the call.
        let result = unsafe { libc::syscall(libc::SYS_io_uring_register, self.fd, opcode, argument, count) };
        if result < 0 { Err(last_errno()) } else { Ok(result as u32) }
    }

    /// Registers descriptors; -1 leaves a hole.
    pub(crate) fn register_files(&mut self, fds: &mut [i32]) -> Result<(), i32> {
        self.register(abi::register::FILES, fds.as_mut_ptr().cast(), fds.len() as u32).map(|_| ())
    }

    /// Registers buffers: they are pinned until the ring drops.
    pub(crate) fn register_buffers(&mut self, buffers: &mut [libc::iovec]) -> Result<(), i32> {
        self.register(abi::register::BUFFERS, buffers.as_mut_ptr().cast(), buffers.len() as u32)?;
        self.has_buffers = true;
        Ok(())
    }

    /// Registers the ring's own descriptor for the calling thread.
    pub(crate) fn register_ring_fd(&mut self) -> Result<(), i32> {
        let mut update = RingFdUpdate { offset: u32::MAX, reserved: 0, data: self.fd as u64 };
        self.register(abi::register::RING_FDS, (&raw mut update).cast(), 1)?;
        self.enter_fd = update.offset as i32;
        self.enter_flags = abi::enter::REGISTERED_RING;
        self.has_ring_fd = true;
        Ok(())
    }

    /// Asks the kernel to cancel every operation. Waits briefly for those that cannot be cancelled.
    pub(crate) fn cancel_everything(&self) {
        let timeout = Timespec { seconds: 0, nanoseconds: 10_000_000 };
        let mut cancel = SyncCancel { fd: -1, flags: abi::CANCEL_EVERYTHING, timeout, ..SyncCancel::default() };
        // Kernels before 6.0 refuse; the operations are then awaited.
        let _ = self.register(abi::register::SYNC_CANCEL, (&raw mut cancel).cast(), 1);
    }
}

impl<const WIDE: bool> Drop for Ring<WIDE> {
    fn drop(&mut self) {
        // Closing alone would release these later, on a kernel thread, while the next lane already
        // uses the same limits.
        if self.has_ring_fd {
            let mut update = RingFdUpdate { offset: self.enter_fd as u32, reserved: 0, data: 0 };
            let _ = self.register(abi::register::UNREGISTER_RING_FDS, (&raw mut update).cast(), 1);
        }
        if self.has_buffers {
            let _ = self.register(abi::register::UNREGISTER_BUFFERS, std::ptr::null_mut(), 0);
        }
        // SAFETY: the descriptor is this ring's own and closed once, here.
        unsafe { libc::close(self.fd) };
    }
}

/// The errno of the system call that just failed.
pub(crate) fn last_errno() -> i32 {
    // SAFETY: glibc and musl give the address of the calling thread's errno, always valid.
    unsafe { *libc::__errno_location() }
}
