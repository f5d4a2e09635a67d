//! One AIO context: the four system calls, and the completion ring that the kernel maps into user
//! memory.
//!
//! Guarantees: the context is destroyed once, and destroying waits for every operation
//! (io_destroy(2)), so that buffers may be freed afterwards. The meaning of operations is not known
//! here.
//!
//! Unsafe because it makes raw system calls, and atomically accesses memory that the kernel writes.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::native_aio::abi::{IoEvent, Iocb, RING_MAGIC, RingHeader};

/// A context for a number of operations in flight.
#[derive(Debug)]
pub struct Context {
    /// The kernel's `aio_context_t`: the address of the completion ring.
    id: libc::c_ulong,
    /// The ring, if its layout is the known one.
    ring: Option<NonNull<RingHeader>>,
}

impl Context {
    /// Creates a context with io_setup(2).
    ///
    /// # Errors
    /// The errno of the kernel's refusal.
    pub fn new(depth: usize) -> Result<Context, i32> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: the kernel writes one identifier, which lives during the call.
        let result = unsafe { libc::syscall(libc::SYS_io_setup, depth as libc::c_uint, &raw mut id) };
        if result < 0 {
            return Err(last_errno());
        }
        Ok(Context { id, ring: known_ring(id) })
    }

    /// Whether completions can be taken without a system call.
    pub fn has_known_ring(&self) -> bool {
        self.ring.is_some()
    }

    /// Submits operations with io_submit(2). Returns how many were taken, from the first on, or a
    /// negative errno.
    ///
    /// # Safety
    /// The pointers are to operations that live during the call. The memory that the operations
    /// name stays valid, and nobody else writes to it, until they complete or the context has been
    /// dropped. Arrays of iovecs are only read during the call.
    #[inline]
    pub unsafe fn submit(&self, operations: &[*mut Iocb]) -> i32 {
        let (count, first) = (operations.len() as libc::c_long, operations.as_ptr());
        // SAFETY: the kernel reads `count` pointers from a slice that lives during the call, and
        // the caller guarantees that the operations behind them are valid.
        let result = unsafe { libc::syscall(libc::SYS_io_submit, self.id, count, first) };
        if result < 0 { -last_errno() } else { result as i32 }
    }

    /// Collects completions with io_getevents(2). Returns how many were written to `events`, or a
    /// negative errno.
    ///
    /// Waits for `at_least` completions (at most as many as there are places), for `timeout_ns` or,
    /// with `u64::MAX`, forever.
    #[inline]
    pub fn get_events(&self, at_least: usize, events: &mut [IoEvent], timeout_ns: u64) -> i32 {
        let (least, most) = (at_least as libc::c_long, events.len() as libc::c_long);
        let mut timeout = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let mut limit: *const libc::timespec = std::ptr::null();
        if timeout_ns != u64::MAX {
            timeout.tv_sec = (timeout_ns / 1_000_000_000) as i64;
            timeout.tv_nsec = (timeout_ns % 1_000_000_000) as libc::c_long;
            limit = &raw const timeout;
        }
        let first = events.as_mut_ptr();
        // SAFETY: the kernel writes at most `most` events to the slice and reads the timeout; both
        // live during the call.
        let result = unsafe { libc::syscall(libc::SYS_io_getevents, self.id, least, most, first, limit) };
        if result < 0 { -last_errno() } else { result as i32 }
    }

    /// Takes completions directly from the ring, without a system call. Returns their number, which
    /// is zero if the layout of the ring is not known. Never waits.
    pub fn take_events(&self, events: &mut [IoEvent]) -> usize {
        let Some(ring) = self.ring else { return 0 };
        let ring = ring.as_ptr();
        // SAFETY: the header is in the kernel's mapping, which lives as long as the context; head
        // and tail are accessed only atomically, and `entries` never changes.
        let (head_at, tail_at, entries) = unsafe {
            (AtomicU32::from_ptr(&raw mut (*ring).head), AtomicU32::from_ptr(&raw mut (*ring).tail), (*ring).entries)
        };
        let (mut head, tail) = (head_at.load(Ordering::Relaxed), tail_at.load(Ordering::Acquire));
        let mut count = 0;
        while head != tail && count < events.len() {
            // SAFETY: head is below `entries`, and that many events follow the header; the kernel
            // wrote this one before it moved the tail that was acquired above.
            events[count] = unsafe { ring.add(1).cast::<IoEvent>().add(head as usize).read() };
            count += 1;
            head = if head + 1 == entries { 0 } else { head + 1 };
        }
        if count > 0 {
            head_at.store(head, Ordering::Release);
        }
        count
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: this value owns the context and destroys it once, here.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
    }
}

/// The ring whose address is the identifier, if its header shows the known layout.
fn known_ring(id: libc::c_ulong) -> Option<NonNull<RingHeader>> {
    let ring = NonNull::new(id as *mut RingHeader)?;
    // SAFETY: io_setup returns the address of the ring that it has mapped readable into this
    // process. In every kernel that has the call, the ring begins with a header of at least this
    // size.
    let (magic, features, header_bytes, entries) = unsafe {
        let header = ring.as_ptr();
        ((*header).magic, (*header).incompatible_features, (*header).header_bytes, (*header).entries)
    };
    let known = magic == RING_MAGIC && features == 0 && header_bytes as usize == size_of::<RingHeader>();
    (known && entries > 0).then_some(ring)
}

/// The errno of the system call that just failed.
fn last_errno() -> i32 {
    // SAFETY: glibc and musl return the address of the calling thread's errno, which is always
    // valid.
    unsafe { *libc::__errno_location() }
}
