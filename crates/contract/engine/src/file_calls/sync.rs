//! `fsync(2)`, `fdatasync(2)` and `sync_file_range(2)`.
//!
//! The first two make data durable if the device honours flushes; the third starts or awaits
//! write-back of pages and promises no durability at all (as its manual page says). Unsafe because
//! the descriptor is a number that the runner keeps open.

use std::os::fd::RawFd;

use crate::file_calls::retry;

/// `fsync(2)`: data and metadata. 0 or a negative errno.
#[inline]
pub fn fsync(fd: RawFd) -> i32 {
    // SAFETY: takes a number; the kernel answers EBADF if it is no descriptor.
    retry(|| unsafe { libc::fsync(fd) } as isize)
}

/// `fdatasync(2)`: data, and what metadata reading it back needs. 0 or a negative errno.
#[inline]
pub fn fdatasync(fd: RawFd) -> i32 {
    // SAFETY: as for fsync.
    retry(|| unsafe { libc::fdatasync(fd) } as isize)
}

/// The `SYNC_FILE_RANGE_*` bits meant by `flags`: no bits mean all three.
#[inline]
pub const fn sync_range_flags(flags: u32) -> u32 {
    const ALL: u32 = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    if flags == 0 { ALL } else { flags }
}

/// `sync_file_range(2)` of `length` bytes from `offset` with the `SYNC_FILE_RANGE_*` bits `flags`;
/// no bits mean all three (wait before, write, wait after). 0 or a negative errno.
#[inline]
pub fn sync_file_range(fd: RawFd, offset: u64, length: u64, flags: u32) -> i32 {
    let flags = sync_range_flags(flags);
    // SAFETY: takes numbers only; the kernel checks them.
    retry(|| unsafe { libc::sync_file_range(fd, offset as libc::off64_t, length as libc::off64_t, flags) } as isize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn sync_file_range_passes_its_flags_on() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        for (flags, expected) in [(0, 0), (libc::SYNC_FILE_RANGE_WRITE, 0), (7, 0), (1 << 20, -libc::EINVAL)] {
            assert_eq!(sync_file_range(file.as_raw_fd(), 0, 4096, flags), expected, "flags {flags}");
        }
        assert_eq!(sync_file_range(file.as_raw_fd(), u64::MAX, 4096, 0), -libc::EINVAL);
    }
}
