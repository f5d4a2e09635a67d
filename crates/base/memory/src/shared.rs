//! One mapping that is shared by the process that makes it and every process forked from it later.
//!
//! Unsafe because it maps memory and views it as values that other processes change at the same
//! time.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr::NonNull;

/// Zeroed memory with `count` values of `T`, visible to all forked processes.
///
/// `T` must consist of atomics only. This makes concurrent access from other processes sound, and
/// the all-zero bit pattern a valid start.
#[derive(Debug)]
pub struct SharedRegion<T: SharedState> {
    base: NonNull<T>,
    count: usize,
}

/// Types that may live in a [`SharedRegion`].
///
/// # Safety
/// Every field is an atomic (or padding), is valid whatever its bytes are, and contains no pointers
/// and no drop glue.
pub unsafe trait SharedState: Sync {}

// SAFETY: it is an atomic, and any bytes are a valid value.
unsafe impl SharedState for std::sync::atomic::AtomicU16 {}
// SAFETY: as above.
unsafe impl SharedState for std::sync::atomic::AtomicU64 {}

// SAFETY: the region is shared memory of atomics; any thread may hold or drop the owner.
unsafe impl<T: SharedState> Send for SharedRegion<T> {}
// SAFETY: as above; `&SharedRegion` only gives access to `&T`, and T is Sync.
unsafe impl<T: SharedState> Sync for SharedRegion<T> {}

impl<T: SharedState> SharedRegion<T> {
    /// Maps room for `count` values.
    pub fn new(count: usize) -> io::Result<SharedRegion<T>> {
        SharedRegion::map(count, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1)
    }

    /// Maps the first `count` values of a file, and allocates as much storage as they need. The
    /// file keeps what is stored in them, even if every process that has the region is killed.
    ///
    /// Nobody may shorten the file while it is mapped, because the kernel ends a process that then
    /// uses it.
    pub fn of_file(file: BorrowedFd<'_>, count: usize) -> io::Result<SharedRegion<T>> {
        let bytes = size_of::<T>().max(1) * count.max(1);
        let length = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
        // SAFETY: the call takes numbers and touches no memory.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
            0 => SharedRegion::map(count, libc::MAP_SHARED, file.as_raw_fd()),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    fn map(count: usize, flags: libc::c_int, file: RawFd) -> io::Result<SharedRegion<T>> {
        let bytes = size_of::<T>().max(1) * count.max(1);
        // SAFETY: a new mapping at an address that the kernel chooses touches nothing that exists.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, file, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(address.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(SharedRegion { base, count })
    }
}

impl<T: SharedState> std::ops::Deref for SharedRegion<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the mapping holds `count` values and lives as long as self. They are zeroes or
        // bytes of a file, which SharedState says are valid. Others only touch them through
        // atomics. mmap aligns to a page.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.count) }
    }
}

impl<T: SharedState> Drop for SharedRegion<T> {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `new`; it is unmapped once, and T has no drop glue.
        unsafe { libc::munmap(self.base.as_ptr().cast(), size_of::<T>().max(1) * self.count.max(1)) };
    }
}
