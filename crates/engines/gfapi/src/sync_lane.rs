//! The lane of `gfapi`: one call for each operation.
//!
//! Unsafe code: calls of the library with slots, which it uses until it returns.

use std::io;

use iolab_engine::{
    CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView, Submission, Wait,
};

use crate::volume::Opened;

/// A lane on files of a volume.
#[derive(Debug)]
pub struct GfapiLane {
    opened: Opened,
    view: PoolView,
    done: CompletionRow,
}

impl GfapiLane {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<GfapiLane, OpenError> {
        let done = CompletionRow::with_depth(request.depth);
        Ok(GfapiLane { opened: Opened::of(request)?, view: request.buffers, done })
    }

    fn execute(&self, op: &Op) -> Result<isize, i32> {
        let file = *self.opened.handles.get(op.file as usize).ok_or(libc::EBADF)?;
        let moves = op.kind.moves_data();
        let length = if moves { op.length as usize } else { 0 };
        let slot = self.view.range_ptr(usize::from(op.slot), op.buffer_offset as usize, length).ok_or(libc::EFAULT)?;
        let (functions, none) = (self.opened.volume.functions, std::ptr::null_mut());
        let offset = i64::try_from(op.offset).map_err(|_| libc::EINVAL)?;
        // SAFETY: an open file; the bytes lie in the slot (`range_ptr`), which is the lane's. Null
        // stands for facts that nobody wants.
        let value = unsafe {
            match op.kind {
                OpKind::Read => (functions.glfs_pread)(file, slot.cast(), length, offset, 0, none),
                OpKind::Write => (functions.glfs_pwrite)(file, slot.cast(), length, offset, 0, none, none),
                OpKind::Trim => (functions.glfs_discard)(file, offset, op.length as usize) as isize,
                OpKind::DataSync => (functions.glfs_fdatasync)(file, none, none) as isize,
                OpKind::Sync | OpKind::SyncFileRange => (functions.glfs_fsync)(file, none, none) as isize,
            }
        };
        match value {
            ..0 => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO).clamp(1, 4095)),
            moved => Ok(moved.min(length as isize)),
        }
    }
}

impl Lane for GfapiLane {
    const SYNCHRONOUS: bool = true;

    fn submit(&mut self, op: &Op) -> Submission {
        if self.done.is_full() {
            return Submission::Full;
        }
        if self.opened.handles.get(op.file as usize).is_none() {
            return Submission::Refused(libc::EBADF);
        }
        let result = self.execute(op);
        self.done.take(op.slot, Ok(result.map_or_else(|errno| -errno, |moved| moved as i32)))
    }

    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    fn reap(&mut self, _wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        Ok(self.done.drain_into(out))
    }

    fn notes(&self) -> &[String] {
        &self.opened.notes
    }
}
