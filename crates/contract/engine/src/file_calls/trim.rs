//! Trim: discarding a range of a block device or of a file.
//!
//! A block device is told with `BLKDISCARD` (linux/fs.h), whose range must be aligned to the
//! logical block size. Of a zoned one, a range of whole zones is reset (`BLKRESETZONE`), even if it
//! can discard, because a discard leaves the write pointers where they are. A file gets a hole:
//! `fallocate(2)` with `PUNCH_HOLE | KEEP_SIZE`, which the file system passes on to the device if
//! it is mounted with `discard`. Afterwards a trimmed range of a file reads as zeroes; on a device
//! the result depends on the device. Unsafe because the descriptor is a number that the runner
//! keeps open, and the ioctl reads a range by pointer.

use std::os::fd::RawFd;

use crate::file_calls::zones::reset_zones;
use crate::file_calls::{FileTarget, retry};

/// `_IO(0x12, 119)`: discard a range given as two u64, start and length in bytes (linux/fs.h).
const BLKDISCARD: libc::c_ulong = (0x12 << 8) | 119;

/// The mode of fallocate(2) that frees a range and keeps the file's size.
pub const PUNCH_HOLE: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

/// Discards `length` bytes from `offset`. 0 or a negative errno: `-EBADF` if not open for writing,
/// `-EOPNOTSUPP` if neither device nor file system supports it.
#[inline]
pub fn trim(target: FileTarget, offset: u64, length: u64) -> i32 {
    if !target.is_block_device {
        return punch_hole(target.fd, offset, length);
    }
    if target.is_zoned && reset_zones(target.fd, offset, length) == 0 {
        return 0;
    }
    discard(target.fd, offset, length)
}

/// Punches a hole of `length` bytes at `offset`, keeping the file's size. 0 or a negative errno.
pub fn punch_hole(fd: RawFd, offset: u64, length: u64) -> i32 {
    // SAFETY: takes numbers only; the kernel checks them.
    retry(|| unsafe { libc::fallocate(fd, PUNCH_HOLE, offset as libc::off_t, length as libc::off_t) } as isize)
}

/// Discards a range of a block device (`BLKDISCARD`). 0 or a negative errno.
pub fn discard(fd: RawFd, offset: u64, length: u64) -> i32 {
    let range: [u64; 2] = [offset, length];
    // SAFETY: BLKDISCARD reads two u64 from the address given, which is that of a live array of
    // two.
    retry(|| unsafe { libc::ioctl(fd, BLKDISCARD as _, range.as_ptr()) } as isize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn a_trimmed_range_of_a_file_is_a_hole_of_zeroes() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 65536], 0).unwrap();
        file.sync_all().unwrap();
        let before = file.metadata().unwrap();
        let target = FileTarget::new(file.as_raw_fd(), false);
        assert_eq!(trim(target, 16384, 32768), 0);
        let after = file.metadata().unwrap();
        assert_eq!(after.len(), before.len(), "the size is kept");
        assert!(after.blocks() < before.blocks(), "blocks were given back");
        let mut read = vec![1; 65536];
        file.read_exact_at(&mut read, 0).unwrap();
        assert!(read[16384..49152].iter().all(|&byte| byte == 0));
        assert!(read[..16384].iter().chain(&read[49152..]).all(|&byte| byte == 7));
    }

    #[test]
    fn impossible_trims_say_why() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let readonly = std::fs::File::open(file.path()).unwrap();
        let as_file = |fd| FileTarget::new(fd, false);
        assert_eq!(trim(as_file(readonly.as_raw_fd()), 0, 4096), -libc::EBADF);
        assert_eq!(trim(as_file(file.as_raw_fd()), 0, 0), -libc::EINVAL);
        let pretended = FileTarget::new(file.as_raw_fd(), true);
        assert_eq!(trim(pretended, 0, 4096), -libc::ENOTTY, "a file is no block device");
    }
}
