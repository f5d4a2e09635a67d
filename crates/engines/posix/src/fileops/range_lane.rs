//! The lane of the engines that change a range or the size of an open file: one call, inside
//! `submit`.
//!
//! `fallocate(2)` and `ftruncate(2)` need a writable descriptor. For a job that only reads, the
//! runner opens none, so the file is opened a second time when the lane opens. Syncs are real; they
//! reach the file's metadata.
//!
//! Unsafe: the calls take raw descriptors.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};

use iolab_engine::file_calls::{FileTarget, is_writable, perform, reopen_for_writing, retry};
use iolab_engine::{
    Completion, CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, Submission,
    TargetFile, Wait,
};

/// A call on an open file: the difference between the engines of this lane.
pub trait RangeCall {
    /// Makes the call for a read, write or trim: 0 or a negative errno, `None` if the engine does
    /// not support it.
    fn call(fd: RawFd, op: &Op) -> Option<i32>;
}

/// `fallocate(2)`: a read preallocates and keeps the size, a write preallocates and extends, a trim
/// punches a hole.
#[derive(Debug)]
pub struct Allocate;

impl RangeCall for Allocate {
    #[inline]
    fn call(fd: RawFd, op: &Op) -> Option<i32> {
        let mode = match op.kind {
            OpKind::Read => libc::FALLOC_FL_KEEP_SIZE,
            OpKind::Write => 0,
            _ => libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE,
        };
        let (offset, length) = (op.offset as libc::off_t, libc::off_t::from(op.length));
        // SAFETY: takes numbers only; the kernel checks them.
        Some(retry(|| unsafe { libc::fallocate(fd, mode, offset, length) } as isize))
    }
}

/// `ftruncate(2)` to the operation's offset; writes only.
#[derive(Debug)]
pub struct Truncate;

impl RangeCall for Truncate {
    #[inline]
    fn call(fd: RawFd, op: &Op) -> Option<i32> {
        if op.kind != OpKind::Write {
            return None;
        }
        // SAFETY: takes numbers only; the kernel checks them.
        Some(retry(|| unsafe { libc::ftruncate(fd, op.offset as libc::off_t) } as isize))
    }
}

/// A synchronous lane over one call.
#[derive(Debug)]
pub struct RangeLane<C> {
    files: Box<[OpenFile]>,
    finished: CompletionRow,
    call: std::marker::PhantomData<C>,
}

#[derive(Debug)]
struct OpenFile {
    target: FileTarget,
    /// Keeps the descriptor in `target` open if the runner's own is read-only.
    _reopened: Option<File>,
}

impl OpenFile {
    fn of(file: &TargetFile) -> Result<OpenFile, OpenError> {
        let reopen = || if is_writable(file.fd)? { Ok(None) } else { reopen_for_writing(file.fd) };
        let reopened = reopen().map_err(|error: std::io::Error| OpenError {
            message: format!("cannot open {} for writing: {error}", file.path.display()),
            errno: error.raw_os_error(),
        })?;
        let fd = reopened.as_ref().map_or(file.fd, AsRawFd::as_raw_fd);
        Ok(OpenFile { target: FileTarget::new(fd, file.is_block_device), _reopened: reopened })
    }
}

impl<C: RangeCall> RangeLane<C> {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<RangeLane<C>, OpenError> {
        Ok(RangeLane {
            files: request.files.iter().map(OpenFile::of).collect::<Result<_, _>>()?,
            finished: CompletionRow::with_depth(request.depth),
            call: std::marker::PhantomData,
        })
    }
}

impl<C: RangeCall> Lane for RangeLane<C> {
    const SYNCHRONOUS: bool = true;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        if self.finished.is_full() {
            return Submission::Full;
        }
        let Some(file) = self.files.get(op.file as usize) else { return Submission::Refused(libc::EBADF) };
        let answer = if op.kind.is_sync() { Some(perform(file.target, op)) } else { C::call(file.target.fd, op) };
        let result = match answer {
            Some(0) if op.kind.moves_data() => op.length as i32,
            Some(answer) => answer,
            None => return Submission::Refused(libc::EOPNOTSUPP),
        };
        self.finished.push(Completion { slot: u32::from(op.slot), result });
        Submission::Accepted
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
