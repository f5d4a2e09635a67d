//! The calls on a file that every engine on descriptors makes in the same way: trim, the three
//! syncs, calls on zones, limits of untorn writes, and dropping cached pages.
//!
//! Results have the form of a [`Completion`](crate::Completion): 0 or a count, or a negative errno.
//! Interrupted calls (`EINTR`) are repeated. Nothing here allocates except [`reopen_for_writing`],
//! which is cold. This module moves no data: engines differ in how they do that.
#![allow(
    unsafe_code,
    reason = "island: fsync, fallocate, sync_file_range, posix_fadvise, statx and ioctl on descriptors the runner owns"
)]

mod atomic;
mod reopen;
mod sync;
mod trim;
mod waiting;
mod zones;

pub use atomic::atomic_write_limits;
pub use reopen::{is_writable, reopen_for_writing};
pub use sync::{fdatasync, fsync, sync_file_range, sync_range_flags};
pub use trim::{PUNCH_HOLE, discard, punch_hole, trim};
pub use waiting::always_waits;
pub use zones::zone_call;

use std::io;
use std::os::fd::RawFd;

use crate::{Op, OpKind, TargetFile};

/// A file as these calls need it: the part of a [`TargetFile`] that the hot half of an engine
/// keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileTarget {
    /// The descriptor; an invalid one makes every call return `-EBADF`.
    pub fd: RawFd,
    /// Whether trims are discards of a block device rather than holes in a file.
    pub is_block_device: bool,
    /// Whether trims reset zones of that device.
    is_zoned: bool,
}

impl FileTarget {
    /// An open file. A block device is asked whether it has zones.
    #[must_use]
    pub fn new(fd: RawFd, is_block_device: bool) -> FileTarget {
        FileTarget { fd, is_block_device, is_zoned: is_block_device && zones::is_zoned(fd) }
    }

    /// Whether trims are nothing but discards of a block device.
    #[must_use]
    pub fn discards(self) -> bool {
        self.is_block_device && !self.is_zoned
    }
}

impl From<&TargetFile> for FileTarget {
    fn from(file: &TargetFile) -> FileTarget {
        FileTarget::new(file.fd, file.is_block_device)
    }
}

/// Performs an operation that moves no data: a trim or one of the three syncs.
///
/// Returns 0 or a negative errno; `-EINVAL` for a read or write, which are the engine's own.
#[inline]
pub fn perform(target: FileTarget, op: &Op) -> i32 {
    match op.kind {
        OpKind::Trim => trim(target, op.offset, u64::from(op.length)),
        OpKind::Sync => fsync(target.fd),
        OpKind::DataSync => fdatasync(target.fd),
        OpKind::SyncFileRange => sync_file_range(target.fd, op.offset, u64::from(op.length), op.buffer_offset),
        OpKind::Read | OpKind::Write => -libc::EINVAL,
    }
}

/// Drops a range from the page cache; no `length` means to the end of the file. 0 or a negative
/// errno (posix_fadvise(2), `POSIX_FADV_DONTNEED`). The kernel drops pages that are clean, not
/// mapped and lie in the range as a whole; it writes nothing back for it.
pub fn drop_cached(fd: RawFd, offset: u64, length: u64) -> i32 {
    // SAFETY: takes numbers only; the kernel checks them.
    let errno =
        unsafe { libc::posix_fadvise(fd, offset as libc::off_t, length as libc::off_t, libc::POSIX_FADV_DONTNEED) };
    -errno
}

/// Repeats `call` until it is not interrupted. Returns its result, or the negative errno if that is
/// -1.
#[inline]
pub fn retry(mut call: impl FnMut() -> isize) -> i32 {
    loop {
        let returned = call();
        if returned >= 0 {
            // The kernel caps every transfer at 0x7ffff000 bytes (read(2), NOTES).
            return i32::try_from(returned).unwrap_or(i32::MAX);
        }
        let errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
        if errno != libc::EINTR {
            return -errno;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn each_kind_reaches_its_call_and_data_is_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let good = FileTarget::new(file.as_raw_fd(), false);
        let bad = FileTarget::new(-1, false);
        for (kind, expected, on_bad) in [
            (OpKind::Trim, 0, -libc::EBADF),
            (OpKind::Sync, 0, -libc::EBADF),
            (OpKind::DataSync, 0, -libc::EBADF),
            (OpKind::SyncFileRange, 0, -libc::EBADF),
            (OpKind::Read, -libc::EINVAL, -libc::EINVAL),
            (OpKind::Write, -libc::EINVAL, -libc::EINVAL),
        ] {
            let op = Op { offset: 0, length: 4096, buffer_offset: 0, file: 0, slot: 0, kind, priority: 0 };
            assert_eq!(perform(good, &op), expected, "{kind:?}");
            assert_eq!(perform(bad, &op), on_bad, "{kind:?} on a bad descriptor");
        }
    }

    #[test]
    fn the_kernel_takes_ranges_and_refuses_what_is_no_file() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        for (offset, length) in [(0, 0), (4096, 4096), (1 << 40, 1)] {
            assert_eq!(drop_cached(file.as_raw_fd(), offset, length), 0, "{offset} {length}");
        }
        assert_eq!(drop_cached(-1, 0, 0), -libc::EBADF);
    }

    #[test]
    fn interrupted_calls_are_made_again() {
        let set_errno = |errno| {
            // SAFETY: the address of the calling thread's own errno, always valid.
            unsafe { *libc::__errno_location() = errno };
            -1
        };
        let mut calls = 0;
        let result = retry(|| {
            calls += 1;
            if calls < 3 { set_errno(libc::EINTR) } else { 512 }
        });
        assert_eq!((calls, result), (3, 512));
        assert_eq!(retry(|| set_errno(libc::ENOSPC)), -libc::ENOSPC);
        assert_eq!(retry(|| 0), 0);
    }
}
