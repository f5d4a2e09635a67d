//! Reads the clusters of the log one after the other, with read-ahead while they are adjacent on
//! the disk, as those of a checkpoint usually are.

use std::collections::VecDeque;
use std::rc::Rc;

use iolab_disk::Buffer;

use super::How;
use crate::disk::PiecewiseRead;
use crate::{Disk, Error, Layout};

/// Most clusters read ahead.
const AHEAD: u32 = 4;

/// Clusters that were requested, and those that may come next.
pub(super) struct Reader {
    disk: Disk,
    layout: Layout,
    kept: Option<(u32, Rc<Buffer>)>,
    ahead: VecDeque<(u32, PiecewiseRead)>,
    how: How,
    /// How many consecutive requests were for adjacent clusters.
    row: u32,
}

impl Reader {
    pub(super) fn new(disk: &Disk, layout: &Layout, how: How) -> Reader {
        Reader { disk: disk.clone(), layout: *layout, kept: None, ahead: VecDeque::new(), how, row: 0 }
    }

    /// The bytes of a cluster; the last one read is kept.
    pub(super) async fn read(&mut self, cluster: u32) -> Result<Rc<Buffer>, Error> {
        if let Some((_, bytes)) = self.kept.as_ref().filter(|(number, _)| *number == cluster) {
            return Ok(Rc::clone(bytes));
        }
        let follows = self.kept.as_ref().is_some_and(|(number, _)| number.checked_add(1) == Some(cluster));
        self.row = if follows { self.row + 1 } else { 0 };
        // Drop clusters that were read ahead in vain.
        while self.ahead.front().is_some_and(|(number, _)| *number != cluster) {
            self.ahead.pop_front();
        }
        let transfer = self.ahead.pop_front().map_or_else(|| self.start(cluster), |(_, transfer)| transfer);
        let next = self.ahead.back().map_or(cluster, |(number, _)| *number).saturating_add(1);
        for number in next..=cluster.saturating_add(AHEAD.min(self.row)) {
            if self.layout.is_usable(number) {
                let transfer = self.start(number);
                self.ahead.push_back((number, transfer));
            }
        }
        let bytes = match (transfer.done().await, self.how) {
            (Err(_), How::AcrossGaps | How::Regardless) => self.by_blocks(cluster).await,
            (result, _) => result?,
        };
        let bytes = Rc::new(bytes);
        self.kept = Some((cluster, Rc::clone(&bytes)));
        Ok(bytes)
    }

    /// All readable blocks of a cluster, with zeroes in place of the others.
    async fn by_blocks(&self, cluster: u32) -> Buffer {
        let block = self.layout.block_bytes as usize;
        let mut all = Buffer::zeroed(self.layout.cluster_bytes as usize);
        for at in (0..all.len()).step_by(block) {
            let start = self.layout.start_of(cluster) + at as u64;
            if let Ok(bytes) = self.disk.read(start, block).await {
                all[at..at + block].copy_from_slice(&bytes);
            }
        }
        all
    }

    fn start(&self, cluster: u32) -> PiecewiseRead {
        self.disk.read_in_pieces(self.layout.start_of(cluster), self.layout.cluster_bytes as usize)
    }
}
