//! Frames that had been durable and are missing: where the log continues after them, and what is
//! lost.
//!
//! A frame contains the number of changes before it. If as many are known before the gap, nothing
//! is lost: the missing frames were part of a checkpoint that is not needed, because reading began
//! at an earlier one. Otherwise changes are lost, and what follows is applied as far as it makes
//! sense.

use std::collections::HashSet;

use super::{Found, How, Walk};
use crate::Error;
use crate::anchor::FramePlace;
use crate::frame::{Frame, Header, Search};
use crate::record::InodeId;
use crate::tree::Delta;

#[derive(Debug, Default)]
pub(in crate::recovery) struct Gaps {
    /// Descriptions of what is lost.
    pub(in crate::recovery) loss: Vec<String>,
    /// The first frame whose changes build on missing ones.
    lossy_from: Option<u64>,
    /// Inodes and clusters that got content since then.
    pub(in crate::recovery) young: HashSet<(InodeId, u32)>,
    /// Number of searches of the whole disk.
    searches: u32,
}

/// Most searches of the whole disk: damage that needs more was made on purpose.
const MOST_SEARCHES: u32 = 8;

impl Gaps {
    fn may_search(&mut self) -> bool {
        self.searches += 1;
        self.searches <= MOST_SEARCHES
    }
}

impl Walk<'_> {
    /// The next frame after a place where one is missing, and its place; `None` at the end of the
    /// log.
    pub(in crate::recovery) async fn behind_gap(
        &mut self,
        place: FramePlace,
        spare: u32,
        epoch: u64,
    ) -> Result<Option<(FramePlace, Found)>, Error> {
        if self.how == How::Strictly {
            return Ok(None);
        }
        let found = match self.later_in(place.cluster, place.offset, place.sequence, epoch).await? {
            None if self.layout.is_usable(spare) => self.later_in(spare, 0, place.sequence, epoch).await?,
            found => found,
        };
        let found = match found {
            None if place.sequence <= self.durable && self.gaps.may_search() => {
                self.later_anywhere(place.sequence, epoch).await?
            }
            found => found,
        };
        let Some((at, found)) = found else { return Ok(None) };
        if place.sequence > self.durable.max(found.header.flushed) {
            // A gap as left by a crash.
            return Ok(None);
        }
        self.durable = self.durable.max(found.header.flushed);
        self.take_durable()?;
        let (first, last) = (place.sequence, at.sequence - 1);
        let is_counted = self.changes.is_some_and(|changes| changes == found.header.changes);
        if first <= self.anchor.newest.end {
            self.lose(first, format!("frames {first} to {last} of the log, parts of a checkpoint"), at.sequence);
        } else if !is_counted {
            let count = self.changes.filter(|_| found.header.changes != 0);
            let count = count.map(|known| format!("{} changes", found.header.changes.wrapping_sub(known)));
            let count = count.unwrap_or_else(|| "an unknown number of changes".to_owned());
            self.lose(first, format!("frames {first} to {last} of the log, with {count}"), at.sequence);
        }
        Ok(Some((at, found)))
    }

    fn lose(&mut self, first: u64, what: String, behind: u64) {
        self.gaps.loss.push(what);
        self.gaps.lossy_from.get_or_insert(behind.max(first));
    }

    /// The first frame with at least this sequence, from an offset of a cluster on.
    async fn later_in(
        &mut self,
        cluster: u32,
        offset: u32,
        sequence: u64,
        epoch: u64,
    ) -> Result<Option<(FramePlace, Found)>, Error> {
        let bytes = self.reader.read(cluster).await?;
        let (layout, epochs) = (self.layout, epoch..=self.anchor.epoch);
        let is_later = |frame: &Frame<'_>| frame.header.sequence >= sequence && epochs.contains(&frame.header.epoch);
        let later = Search::new(&bytes, offset, &layout).find(|(_, frame)| is_later(frame));
        let Some((offset, Header { sequence, previous, .. })) = later.map(|(at, frame)| (at, frame.header)) else {
            return Ok(None);
        };
        let place = FramePlace { cluster, offset, sequence, previous };
        Ok(self.frame_at(place, epoch).await?.map(|found| (place, found)))
    }

    /// The frame with the lowest sequence from this one on, anywhere on the disk. Needed when a
    /// whole cluster of the log cannot be read, or not be found.
    async fn later_anywhere(&mut self, sequence: u64, epoch: u64) -> Result<Option<(FramePlace, Found)>, Error> {
        let mut best: Option<(FramePlace, Found)> = None;
        for cluster in 1..self.layout.clusters - 1 {
            let found = self.later_in(cluster, 0, sequence, epoch).await?;
            let is_better = |(place, _): &(FramePlace, Found)| {
                best.as_ref().is_none_or(|(known, _)| place.sequence < known.sequence)
            };
            if let Some(found) = found.filter(is_better) {
                best = Some(found);
            }
        }
        Ok(best)
    }

    /// From the first frame after a lossy gap on, records that contradict others are skipped.
    pub(in crate::recovery) fn cross_gap(&mut self, sequence: u64) {
        if self.gaps.lossy_from.is_some_and(|from| sequence >= from) {
            self.tree.tolerant = true;
        }
        if self.tree.loading && sequence > self.anchor.newest.end {
            // The end of the checkpoint is missing.
            self.tree.loading = false;
        }
    }

    /// Notes which inodes got content in which clusters after a lossy gap.
    pub(in crate::recovery) fn note_young(&mut self) {
        if !self.tree.tolerant {
            return;
        }
        for delta in &self.deltas {
            let Delta::Placed { inode, stretch } = delta else { continue };
            let last = self.layout.locate(stretch.place.saturating_add(stretch.length - 1)).0;
            // No stretch crosses a cluster boundary unless it was forged.
            let clusters = (self.layout.locate(stretch.place).0..=last).take(2);
            self.gaps.young.extend(clusters.map(|cluster| (*inode, cluster)));
        }
    }
}
