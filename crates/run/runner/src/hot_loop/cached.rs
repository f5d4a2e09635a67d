//! The page cache between two passes over a file.
//!
//! A job that goes through a file twice would find the data of its first pass in memory. As in fio,
//! a worker with `invalidate` drops a file's pages whenever a pass over it begins again, even while
//! operations of the previous pass are in flight. Files whose offsets never end (`norandommap`,
//! skewed distributions) never begin again, and keep their pages. Dirty pages stay: nothing is
//! written back.

use std::os::fd::RawFd;

use iolab_engine::TargetFile;
use iolab_engine::file_calls::drop_cached;
use iolab_plan::WorkerPlan;

/// The files whose pages are dropped when they begin again, by their number; empty when none are.
#[derive(Debug, Default)]
pub(crate) struct CachedFiles {
    ranges: Vec<(RawFd, u64, u64)>,
}

impl CachedFiles {
    /// The files of a worker, if its data goes through the page cache and the plan says
    /// `invalidate`. Files that are made again between passes have nothing to drop.
    pub(crate) fn of(plan: &WorkerPlan, targets: &[TargetFile]) -> CachedFiles {
        let layout = &plan.layout;
        let is_cached = plan.engine.traits().is_buffered(layout.direct);
        if !layout.invalidate || !is_cached || layout.unlink_each_loop {
            return CachedFiles::default();
        }
        let range =
            |(target, file): (&TargetFile, &iolab_plan::FilePlan)| (target.fd, file.start_bytes, file.length_bytes);
        CachedFiles { ranges: targets.iter().zip(&plan.files).map(range).collect() }
    }

    /// Drops the pages of these files. This is advice: errors of the file system are ignored.
    pub(crate) fn drop_pages(&self, files: &[u32]) {
        for file in files {
            if let Some((fd, start_bytes, length_bytes)) = self.ranges.get(*file as usize) {
                drop_cached(*fd, *start_bytes, *length_bytes);
            }
        }
    }
}
