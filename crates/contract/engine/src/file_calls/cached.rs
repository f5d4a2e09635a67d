//! `posix_fadvise(2)` with `POSIX_FADV_DONTNEED`.
//!
//! The kernel drops pages that are clean, not mapped and lie in the range as a whole; it writes
//! nothing back for it. Unsafe because the descriptor is a number that the runner keeps open.

use std::os::fd::RawFd;

/// Drops a range from the page cache; no `length` means to the end of the file. 0 or a negative
/// errno.
pub fn drop_cached(fd: RawFd, offset: u64, length: u64) -> i32 {
    // SAFETY: takes numbers only; the kernel checks them.
    let errno =
        unsafe { libc::posix_fadvise(fd, offset as libc::off_t, length as libc::off_t, libc::POSIX_FADV_DONTNEED) };
    -errno
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn the_kernel_takes_ranges_and_refuses_what_is_no_file() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        for (offset, length) in [(0, 0), (4096, 4096), (1 << 40, 1)] {
            assert_eq!(drop_cached(file.as_raw_fd(), offset, length), 0, "{offset} {length}");
        }
        assert_eq!(drop_cached(-1, 0, 0), -libc::EBADF);
    }
}
