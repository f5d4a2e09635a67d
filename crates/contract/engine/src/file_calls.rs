//! The calls on a file that every engine on descriptors makes in the same way: trim and the three
//! syncs.
//!
//! Results are as a [`Completion`](crate::Completion) wants them: 0 or a count, or a negative
//! errno. Interrupted calls (`EINTR`) are made again. Nothing here allocates except
//! [`reopen_for_writing`], which is cold. It moves no data: engines differ in how they move it.
#![allow(
    unsafe_code,
    reason = "island: fsync, fallocate, sync_file_range, posix_fadvise and ioctl on descriptors the runner owns"
)]

mod cached;
mod reopen;
mod retry;
mod sync;
mod trim;
mod waiting;

pub use cached::drop_cached;
pub use reopen::{is_writable, reopen_for_writing};
pub use retry::retry;
pub use sync::{fdatasync, fsync, sync_file_range, sync_range_flags};
pub use trim::{PUNCH_HOLE, discard, punch_hole, trim};
pub use waiting::always_waits;

use std::os::fd::RawFd;

use crate::{Op, OpKind, TargetFile};

/// A file as these calls need it: the part of a [`TargetFile`] that the hot half of an engine
/// keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileTarget {
    /// The descriptor; a bad one makes every call answer `-EBADF`.
    pub fd: RawFd,
    /// Whether trims are discards of a block device rather than holes in a file.
    pub is_block_device: bool,
}

impl From<&TargetFile> for FileTarget {
    fn from(file: &TargetFile) -> FileTarget {
        FileTarget { fd: file.fd, is_block_device: file.is_block_device }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn each_kind_reaches_its_call_and_data_is_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let good = FileTarget { fd: file.as_raw_fd(), is_block_device: false };
        let bad = FileTarget { fd: -1, is_block_device: false };
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
}
