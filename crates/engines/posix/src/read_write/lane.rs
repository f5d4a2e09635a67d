//! The lane that `sync`, `psync`, `pvsync` and `pvsync2` share: one operation, one call, inside
//! `submit`.
//!
//! It owns nothing but numbers: descriptors and buffers belong to the runner. It allocates only
//! when opened. Unsafe is left to the [`Transfer`]s; what they may rely on is the promise of
//! [`Stretch`].

use std::os::fd::RawFd;

use iolab_engine::file_calls::{FileTarget, perform};
use iolab_engine::{
    CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView, Submission, Wait,
};

/// Where the bytes of one read or write are, in the file and in memory.
///
/// Only this crate makes one, and only after checking that `length` bytes from `address` lie within
/// one slot.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    pub(crate) file: usize,
    pub(crate) fd: RawFd,
    pub(crate) address: *mut u8,
    pub(crate) length: usize,
    pub(crate) offset: u64,
}

impl Stretch {
    /// The stretch as the only element of a vectored call.
    #[inline]
    pub(crate) fn as_iovec(&self) -> libc::iovec {
        libc::iovec { iov_base: self.address.cast(), iov_len: self.length }
    }
}

/// How bytes move between a file and a slot: the difference between the engines of this crate.
///
/// Both functions return the bytes moved, possibly fewer than requested, or a negative errno.
pub trait Transfer: Sized {
    /// Reads the options and allocates what the functions need.
    fn open(request: &LaneRequest<'_>) -> Result<Self, OpenError>;

    /// File to slot.
    fn read(&mut self, stretch: &Stretch) -> i32;

    /// Slot to file.
    fn write(&mut self, stretch: &Stretch) -> i32;
}

/// A synchronous lane over one kind of transfer.
#[derive(Debug)]
pub struct PosixLane<T> {
    transfer: T,
    files: Box<[FileTarget]>,
    buffers: PoolView,
    finished: CompletionRow,
}

impl<T: Transfer> PosixLane<T> {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<PosixLane<T>, OpenError> {
        Ok(PosixLane {
            transfer: T::open(request)?,
            files: request.files.iter().map(FileTarget::from).collect(),
            buffers: request.buffers,
            finished: CompletionRow::with_depth(request.depth),
        })
    }

    /// A sync or a trim.
    #[cold]
    fn perform_without_data(&self, op: &Op) -> Result<i32, i32> {
        let target = self.files.get(op.file as usize).ok_or(libc::EBADF)?;
        Ok(perform(*target, op))
    }
}

/// Checks the file and range of `op`. `Err` is the errno to refuse it with: `EBADF` for a file that
/// the job does not have, `EINVAL` for bytes outside its slot or an offset that is negative for the
/// kernel (-1 means the current position to `preadv2(2)`, so it must not get there).
#[inline]
pub(crate) fn stretch_of(op: &Op, files: &[FileTarget], buffers: &PoolView) -> Result<Stretch, i32> {
    let file = op.file as usize;
    let fd = files.get(file).ok_or(libc::EBADF)?.fd;
    let length = op.length as usize;
    if i64::try_from(op.offset).is_err() {
        return Err(libc::EINVAL);
    }
    let address = buffers.range_ptr(usize::from(op.slot), op.buffer_offset as usize, length).ok_or(libc::EINVAL)?;
    Ok(Stretch { file, fd, address, length, offset: op.offset })
}

impl<T: Transfer> Lane for PosixLane<T> {
    const SYNCHRONOUS: bool = true;
    const PERFORMS: bool = true;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        if self.finished.is_full() {
            return Submission::Full;
        }
        let outcome = self.perform(op);
        self.finished.take(op.slot, outcome)
    }

    #[inline]
    fn perform(&mut self, op: &Op) -> Result<i32, i32> {
        if op.kind as u8 > OpKind::Write as u8 {
            return self.perform_without_data(op);
        }
        let stretch = stretch_of(op, &self.files, &self.buffers)?;
        Ok(if op.kind == OpKind::Read { self.transfer.read(&stretch) } else { self.transfer.write(&stretch) })
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        Ok(self.finished.drain_into(out))
    }
}
