//! Syncs and trims by plain system calls, for what a ring cannot do: anything but reads and writes on a
//! polled ring, and discards on kernels before 6.12.
//!
//! Each blocks until the kernel is done and returns 0 or a negative errno, as a completion does.
//!
//! Unsafe: system calls that take a descriptor and numbers.

use iolab_engine::{Op, OpKind};

use crate::ring::last_errno;

/// What sync_file_range(2) is asked for: the operation's own bits, or all three.
pub(crate) fn sync_range_flags(op: &Op) -> u32 {
    const ALL: u32 = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    if op.buffer_offset == 0 { ALL } else { op.buffer_offset }
}

/// How fallocate(2) frees a range of a file.
pub(crate) const PUNCH_HOLE: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
/// `BLKDISCARD` (`include/uapi/linux/fs.h`): `_IO(0x12, 119)`.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// Performs a sync or a trim of a file or device.
pub(crate) fn perform(op: &Op, fd: i32, is_block_device: bool) -> i32 {
    let (from, count) = (op.offset as i64, i64::from(op.length));
    // SAFETY: these calls take a descriptor and numbers; the kernel checks them.
    let result = unsafe {
        match op.kind {
            OpKind::Sync => libc::fsync(fd),
            OpKind::DataSync => libc::fdatasync(fd),
            OpKind::SyncFileRange => libc::sync_file_range(fd, from, count, sync_range_flags(op)),
            OpKind::Trim if is_block_device => return discard(fd, op.offset, u64::from(op.length)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sync_file_range_takes_the_bits_of_the_operation() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
        let op = |bits| Op {
            offset: 0,
            length: 4096,
            buffer_offset: bits,
            file: 0,
            slot: 0,
            kind: OpKind::SyncFileRange,
            priority: 0,
        };
        for (bits, flags) in [(0, 7), (2, 2), (3, 3)] {
            assert_eq!(sync_range_flags(&op(bits)), flags);
        }
        // Bits that do not exist reach the kernel, which refuses them before it looks at the file.
        assert_eq!(perform(&op(0x100), fd, false), -libc::EINVAL);
    }
}
