//! What Linux AIO has no operation for, by plain system calls: trims, sync_file_range, and fsync where the
//! kernel or the file cannot do it asynchronously.
//!
//! Each blocks until the kernel is done and returns 0 or a negative errno, as a completion does.

use iolab_engine::OpKind;

use crate::context::last_errno;

/// What sync_file_range(2) is asked for: start and await write-out of the range.
const SYNC_RANGE_FLAGS: u32 =
    libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
/// How fallocate(2) frees a range of a file.
const PUNCH_HOLE: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
/// `BLKDISCARD` (`include/uapi/linux/fs.h`): `_IO(0x12, 119)`.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// Performs a sync or a trim of a file or device.
pub(crate) fn perform(kind: OpKind, fd: i32, offset: u64, length: u64, is_block_device: bool) -> i32 {
    let (from, count, range) = (offset as i64, length as i64, [offset, length]);
    // SAFETY: these calls take a descriptor and numbers, or two numbers that live through the call.
    let result = unsafe {
        match kind {
            OpKind::Sync => libc::fsync(fd),
            OpKind::DataSync => libc::fdatasync(fd),
            OpKind::SyncFileRange => libc::sync_file_range(fd, from, count, SYNC_RANGE_FLAGS),
            OpKind::Trim if is_block_device => libc::ioctl(fd, BLKDISCARD, range.as_ptr()),
            OpKind::Trim => libc::fallocate(fd, PUNCH_HOLE, from, count),
            OpKind::Read | OpKind::Write => return -libc::EINVAL,
        }
    };
    if result < 0 { -last_errno() } else { 0 }
}
