//! The lane: operations queued with the C library, and operations finished at once.
//!
//! `Wait::timeout_ns` limits each wait for a next completion. Engines read no clock, so when
//! several completions are awaited, the limit starts again after each. A request is already queued
//! when `submit` returns; `flush` has nothing to do.
//!
//! Unsafe: it vouches to [`ControlBlocks::queue`] for slot addresses.

use iolab_engine::file_calls::{FileTarget, perform};
use iolab_engine::{
    Completion, CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpKind, PoolView, Submission, Wait,
};

use crate::posixaio::control_blocks::{ControlBlocks, Request};

/// The lane of [`crate::posixaio::PosixAio`].
#[derive(Debug)]
pub struct PosixAioLane {
    queued: ControlBlocks,
    finished: CompletionRow,
    depth: usize,
    files: Box<[FileTarget]>,
    buffers: PoolView,
}

impl PosixAioLane {
    pub(crate) fn open(request: &LaneRequest<'_>) -> PosixAioLane {
        let depth = request.depth.max(1);
        PosixAioLane {
            queued: ControlBlocks::for_slots(depth),
            finished: CompletionRow::with_depth(depth),
            depth,
            files: request.files.iter().map(FileTarget::from).collect(),
            buffers: request.buffers,
        }
    }

    /// Checks the file, slot and range of `op`. `Err` is the errno to refuse it with.
    #[inline]
    fn request_of(&self, op: &Op, target: FileTarget) -> Result<Request, i32> {
        let mut request = Request { kind: op.kind, fd: target.fd, address: std::ptr::null_mut(), length: 0, offset: 0 };
        if op.kind.moves_data() {
            let (slot, offset, length) = (usize::from(op.slot), op.buffer_offset as usize, op.length as usize);
            request.address = self.buffers.range_ptr(slot, offset, length).ok_or(libc::EINVAL)?;
            request.length = length;
            request.offset = i64::try_from(op.offset).map_err(|_| libc::EINVAL)? as u64;
        }
        Ok(request)
    }

    /// Queues or performs `op`; `Err` is the answer if it is not accepted.
    #[inline]
    fn take(&mut self, op: &Op) -> Result<(), Submission> {
        let target = *self.files.get(op.file as usize).ok_or(Submission::Refused(libc::EBADF))?;
        if !self.queued.is_idle(op.slot) {
            // Either not a slot of this lane, or one that it still owns.
            return Err(Submission::Refused(libc::EINVAL));
        }
        if matches!(op.kind, OpKind::Trim | OpKind::SyncFileRange) {
            self.finish(op, perform(target, op));
            return Ok(());
        }
        let request = self.request_of(op, target).map_err(Submission::Refused)?;
        // SAFETY: the slot is idle, and its bytes are the lane's until reaped; request_of found
        // them within it.
        match unsafe { self.queued.queue(op.slot, &request) } {
            Ok(()) => Ok(()),
            Err(libc::EAGAIN) if self.queued.in_flight() > 0 => Err(Submission::Full),
            Err(errno) => {
                self.finish(op, -errno);
                Ok(())
            }
        }
    }

    #[inline]
    fn finish(&mut self, op: &Op, result: i32) {
        self.finished.push(Completion { slot: u32::from(op.slot), result });
    }
}

impl Lane for PosixAioLane {
    const SYNCHRONOUS: bool = false;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        if self.queued.in_flight() + self.finished.len() >= self.depth {
            return Submission::Full;
        }
        match self.take(op) {
            Ok(()) => Submission::Accepted,
            Err(answer) => answer,
        }
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    #[inline]
    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        let before = out.as_slice().len();
        loop {
            self.finished.drain_into(out);
            self.queued.collect_into(out);
            let collected = out.as_slice().len();
            if collected >= wait.at_least || out.room_left() == 0 || self.queued.in_flight() == 0 {
                return Ok(collected - before);
            }
            match self.queued.wait(wait.timeout_ns) {
                Ok(true) => {}
                Ok(false) => {
                    self.queued.collect_into(out);
                    return Ok(out.as_slice().len() - before);
                }
                Err(errno) => return Err(LaneError { call: "aio_suspend", errno }),
            }
        }
    }
}
