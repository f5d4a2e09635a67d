//! `vsync`: adjacent operations are combined in one `readv(2)` or `writev(2)`.
//!
//! An operation that continues the preceding run (same file, same direction, next offset) joins the
//! run; any other ends it. A run is performed when it ends or at `flush`, by one call. Its bytes
//! are then distributed to its operations in order, so a short transfer is short in the operation
//! in which it ended. Until then the operations are truly in flight: the queue depth makes runs
//! possible. Trims and syncs end the run and are performed at once.
//!
//! Unsafe: the kernel gets addresses of slot buffers.

use std::os::fd::RawFd;

use iolab_engine::file_calls::{FileTarget, perform, retry};
use iolab_engine::{
    Completion, CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView, Submission,
    Wait,
};

use crate::read_write::lane::{Stretch, stretch_of};
use crate::read_write::seeking::Positions;

/// The most elements that `readv(2)` takes (`UIO_MAXIOV`).
const MOST_ELEMENTS: usize = 1024;

/// The lane of [`crate::read_write::Vsync`].
#[derive(Debug)]
pub struct VsyncLane {
    run: Run,
    depth: usize,
    positions: Positions,
    files: Box<[FileTarget]>,
    buffers: PoolView,
    finished: CompletionRow,
}

/// Adjacent operations collected for one call; `vectors` and `slots` have the same order.
#[derive(Debug)]
struct Run {
    file: usize,
    fd: RawFd,
    writes: bool,
    start: u64,
    end: u64,
    vectors: Vec<libc::iovec>,
    slots: Vec<u16>,
}

// SAFETY: the pointers in `vectors` are addresses in the runner's slots, which PoolView lets travel
// between threads too; the lane dereferences none of them itself.
unsafe impl Send for Run {}

impl Run {
    fn with_room(room: usize) -> Run {
        let (vectors, slots) = (Vec::with_capacity(room), Vec::with_capacity(room));
        Run { file: 0, fd: -1, writes: false, start: 0, end: 0, vectors, slots }
    }

    /// Whether `stretch` may join: it continues the run, and there is room.
    #[inline]
    fn takes(&self, stretch: &Stretch, writes: bool) -> bool {
        let continues = self.end == stretch.offset && self.file == stretch.file && self.writes == writes;
        self.slots.is_empty() || (continues && self.slots.len() < self.slots.capacity().min(MOST_ELEMENTS))
    }

    #[inline]
    fn add(&mut self, stretch: &Stretch, writes: bool, slot: u16) {
        if self.slots.is_empty() {
            (self.file, self.fd, self.writes) = (stretch.file, stretch.fd, writes);
            self.start = stretch.offset;
        }
        self.end = stretch.offset.wrapping_add(stretch.length as u64);
        self.vectors.push(stretch.as_iovec());
        self.slots.push(slot);
    }

    /// Makes the call: bytes moved or a negative errno.
    fn transfer(&self, positions: &mut Positions) -> i32 {
        let sought = positions.seek(self.file, self.fd, self.start);
        if sought < 0 {
            return sought;
        }
        let (first, count) = (self.vectors.as_ptr(), self.vectors.len() as libc::c_int);
        let result = if self.writes {
            // SAFETY: `count` elements, each within a slot that is the lane's since `submit`
            // accepted it.
            retry(|| unsafe { libc::writev(self.fd, first, count) })
        } else {
            // SAFETY: as for writev; nothing else touches the slots until they are reaped.
            retry(|| unsafe { libc::readv(self.fd, first, count) })
        };
        positions.moved(self.file, self.start, result);
        result
    }
}

impl VsyncLane {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<VsyncLane, OpenError> {
        let depth = request.depth.max(1);
        Ok(VsyncLane {
            run: Run::with_room(depth),
            depth,
            positions: Positions::of(request.files.len()),
            files: request.files.iter().map(FileTarget::from).collect(),
            buffers: request.buffers,
            finished: CompletionRow::with_depth(depth),
        })
    }

    /// Performs the run, if there is one, and distributes its bytes.
    fn perform_run(&mut self) {
        if self.run.slots.is_empty() {
            return;
        }
        let moved = self.run.transfer(&mut self.positions);
        let mut left = moved.max(0) as usize;
        for (vector, &slot) in self.run.vectors.iter().zip(&self.run.slots) {
            let share = left.min(vector.iov_len);
            left -= share;
            let result = if moved < 0 { moved } else { share as i32 };
            self.finished.push(Completion { slot: u32::from(slot), result });
        }
        self.run.vectors.clear();
        self.run.slots.clear();
    }

    #[inline]
    fn queue(&mut self, op: &Op) -> Result<(), i32> {
        let stretch = stretch_of(op, &self.files, &self.buffers)?;
        let writes = op.kind == OpKind::Write;
        if !self.run.takes(&stretch, writes) {
            self.perform_run();
        }
        self.run.add(&stretch, writes, op.slot);
        Ok(())
    }

    fn perform_now(&mut self, op: &Op) -> Result<(), i32> {
        let target = *self.files.get(op.file as usize).ok_or(libc::EBADF)?;
        self.perform_run();
        self.finished.push(Completion { slot: u32::from(op.slot), result: perform(target, op) });
        Ok(())
    }
}

impl Lane for VsyncLane {
    const SYNCHRONOUS: bool = false;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        if self.finished.len() + self.run.slots.len() >= self.depth {
            return Submission::Full;
        }
        let done = match op.kind {
            OpKind::Read | OpKind::Write => self.queue(op),
            _ => self.perform_now(op),
        };
        match done {
            Ok(()) => Submission::Accepted,
            Err(errno) => Submission::Refused(errno),
        }
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        self.perform_run();
        Ok(())
    }

    #[inline]
    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        let reaped = self.finished.drain_into(out);
        // A loop that waits without a flush would wait forever: the collected run is performed now.
        if out.as_slice().len() < wait.at_least && !self.run.slots.is_empty() {
            self.perform_run();
            return Ok(reaped + self.finished.drain_into(out));
        }
        Ok(reaped)
    }
}
