//! The lane: operations on mapped files, each done inside `submit`.
//!
//! It allocates only when opened. Unsafe: it vouches to [`MappedFile::copy`] for slot addresses.

use iolab_engine::file_calls::perform;
use iolab_engine::{
    CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView, Submission, Wait,
};

use crate::mmap::mapped_file::{MappedFile, MappingPlan, Way, page_bytes};

/// The lane of [`crate::mmap::Mmap`].
#[derive(Debug)]
pub struct MmapLane {
    files: Box<[MappedFile]>,
    buffers: PoolView,
    finished: CompletionRow,
    /// `direct=1`: leave nothing of an operation in the page cache.
    uncached: bool,
}

impl MmapLane {
    pub(crate) fn open(request: &LaneRequest<'_>, window_bytes: u64) -> Result<MmapLane, OpenError> {
        let huge_pages = request.options.flag("thp").unwrap_or(false);
        let plan = MappingPlan { window_bytes, huge_pages, page_bytes: page_bytes() };
        let map = |file| {
            MappedFile::open(file, plan).map_err(|error| OpenError {
                message: format!("mapping {}: {error}{}", file.path.display(), advice(plan)),
                errno: error.raw_os_error(),
            })
        };
        Ok(MmapLane {
            files: request.files.iter().map(map).collect::<Result<_, _>>()?,
            buffers: request.buffers,
            finished: CompletionRow::with_depth(request.depth),
            uncached: request.direct,
        })
    }

    #[inline]
    fn transfer(&mut self, op: &Op) -> Result<i32, i32> {
        let file = self.files.get_mut(op.file as usize).ok_or(libc::EBADF)?;
        let (slot, length) = (usize::from(op.slot), op.length as usize);
        let address = self.buffers.range_ptr(slot, op.buffer_offset as usize, length).ok_or(libc::EINVAL)?;
        let way = if op.kind == OpKind::Write { Way::SlotToFile } else { Way::FileToSlot };
        // SAFETY: range_ptr found the bytes within the slot, which is the lane's while it submits.
        let moved = unsafe { file.copy(way, address, length, op.offset) };
        if self.uncached && moved > 0 {
            let left = file.leave_no_pages(way, op.offset, moved as usize);
            return Ok(if left < 0 { left } else { moved });
        }
        Ok(moved)
    }

    fn perform_without_data(&self, op: &Op) -> Result<i32, i32> {
        let file = self.files.get(op.file as usize).ok_or(libc::EBADF)?;
        Ok(match op.kind {
            OpKind::Sync => file.sync(false),
            OpKind::DataSync => file.sync(true),
            _ => perform(file.target(), op),
        })
    }
}

fn advice(plan: MappingPlan) -> &'static str {
    if plan.huge_pages { " (with thp=1; try without)" } else { "" }
}

impl Lane for MmapLane {
    const SYNCHRONOUS: bool = true;
    const PERFORMS: bool = true;

    #[inline]
    fn perform(&mut self, op: &Op) -> Result<i32, i32> {
        match op.kind {
            OpKind::Read | OpKind::Write => self.transfer(op),
            _ => self.perform_without_data(op),
        }
    }

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        if self.finished.is_full() {
            return Submission::Full;
        }
        let outcome = self.perform(op);
        self.finished.take(op.slot, outcome)
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
