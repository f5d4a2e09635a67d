//! Syncs and trims by plain system calls, for what a ring cannot do: anything but reads and writes on a
//! polled ring, and discards on kernels before 6.12.
//!
//! Each blocks until the kernel is done and returns 0 or a negative errno, as a completion does.
//! Unsafe because these are C calls on descriptors that the runner keeps open.

use iolab_engine::OpKind;

use crate::ring::last_errno;

/// What sync_file_range(2) is asked for: start and await write-out of the range.
pub(crate) const SYNC_RANGE_FLAGS: u32 =
    libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
/// How fallocate(2) frees a range of a file.
pub(crate) const PUNCH_HOLE: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
/// `BLKDISCARD` (`include/uapi/linux/fs.h`): `_IO(0x12, 119)`.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// Performs a sync or a trim of a file or device.
pub(crate) fn perform(kind: OpKind, fd: i32, offset: u64, length: u64, is_block_device: bool) -> i32 {
    let (from, count) = (offset as i64, length as i64);
    // SAFETY: these calls take a descriptor and numbers; the kernel checks them.
    let result = unsafe {
        match kind {
            OpKind::Sync => libc::fsync(fd),
            OpKind::DataSync => libc::fdatasync(fd),
            OpKind::SyncFileRange => libc::sync_file_range(fd, from, count, SYNC_RANGE_FLAGS),
            OpKind::Trim if is_block_device => return discard(fd, offset, length),
            OpKind::Trim => libc::fallocate(fd, PUNCH_HOLE, from, count),
            OpKind::Read | OpKind::Write => return -libc::EINVAL,
        }
    };
    if result < 0 { -last_errno() } else { 0 }
}

/// Discards a range of a block device.
pub(crate) fn discard(fd: i32, offset: u64, length: u64) -> i32 {
    let range = [offset, length];
    // SAFETY: the kernel reads two numbers, which live through the call.
    let result = unsafe { libc::ioctl(fd, BLKDISCARD, range.as_ptr()) };
    if result < 0 { -last_errno() } else { 0 }
}
