//! The end of the log after a crash: which of the last frames may take effect, and whether
//! something durable is missing.

use iolab_checksum::crc32c;

use super::{Doubtful, How, Walk};
use crate::Error;
use crate::bytes::Take;
use crate::frame::Search;
use crate::record::{Proof, Record, Relocate};
use crate::sums::sums_of;
use crate::tree::Delta;

/// Missing content that a doubtful frame refers to.
#[derive(Debug, Clone, Copy)]
struct Missing {
    place: u64,
    length: u64,
    /// The frame, counted from 1.
    frame: usize,
    /// How much of it belongs to files after the frames so far.
    live_bytes: u64,
    /// The frame after which no file held it any more.
    dead_at: Option<usize>,
}

impl Missing {
    fn overlap(&self, place: u64, length: u64) -> u64 {
        let end = self.place.saturating_add(self.length).min(place.saturating_add(length));
        end.saturating_sub(self.place.max(place))
    }

    /// Follows the changes of a frame on the disk.
    fn follow(&mut self, delta: &Delta, frame: usize) {
        match delta {
            // A placement by a later frame is other content, written there once this was dead.
            Delta::Placed { stretch, .. } if frame == self.frame => {
                self.live_bytes += self.overlap(stretch.place, stretch.length);
            }
            Delta::Placed { .. } => {}
            Delta::Released { place, length, .. } => {
                self.live_bytes = self.live_bytes.saturating_sub(self.overlap(*place, *length));
            }
        }
    }

    /// Whether a state after this number of frames does not need the content.
    fn allows(&self, frames: usize) -> bool {
        frames < self.frame || self.dead_at.is_some_and(|dead| dead <= frames)
    }
}

impl Walk<'_> {
    /// Decides about the frames that are not proven to have been durable: as many take effect as
    /// possible without a file that refers to missing content. Content that one frame refers to and
    /// a later one releases may be missing: once the later frame was durable, its cluster could be
    /// reused. Returns the sequence of the last frame that may take effect, if not all may.
    pub(super) async fn settle_doubtful(&mut self) -> Result<Option<u64>, Error> {
        let mut missing: Vec<Missing> = Vec::new();
        let (mut frames, before) = (0, self.next.sequence - 1);
        self.tree.graveyard.clear();
        while let Some(frame) = self.doubtful.pop_front() {
            frames += 1;
            for (place, length) in self.content_not_there(&frame).await? {
                missing.push(Missing { place, length, frame: frames, live_bytes: 0, dead_at: None });
            }
            self.take_effect(frame)?;
            let deleted = self.tree.released_by_deletion();
            for one in missing.iter_mut().filter(|one| one.dead_at.is_none()) {
                self.deltas.iter().chain(&deleted).for_each(|delta| one.follow(delta, frames));
                one.dead_at = (one.live_bytes == 0).then_some(frames);
            }
        }
        let allowed = |count: &usize| missing.iter().all(|one| one.allows(*count));
        let count = (0..=frames).rev().find(allowed).unwrap_or(0);
        Ok((count < frames).then_some(before + count as u64))
    }

    /// The content that a frame refers to and that does not match its checksum.
    async fn content_not_there(&self, frame: &Doubtful) -> Result<Vec<(u64, u64)>, Error> {
        let mut missing = Vec::new();
        let mut take = Take(frame.payload());
        while let Some(record) = Record::decode(&mut take) {
            let (place, length, proof) = match record {
                Record::WriteExtent { stretch, proof, .. } => (stretch.place, stretch.length, proof),
                Record::Relocate(Relocate { to, length, checksum, .. }) => (to, length, Proof::Whole(checksum)),
                _ => continue,
            };
            let fits = self.layout.holds(place, length) && length <= u64::from(self.layout.cluster_bytes);
            if !fits || !self.is_there(place, length, &proof).await? {
                missing.push((place, length));
            }
        }
        Ok(missing)
    }

    /// Whether the disk holds the content of a record.
    async fn is_there(&self, place: u64, length: u64, proof: &Proof) -> Result<bool, Error> {
        let block = u64::from(self.layout.block_bytes);
        let start = place - place % block;
        let end = self.layout.blocks(place + length);
        let bytes = self.disk.read(start, (end - start) as usize).await?;
        let skipped = (place - start) as usize;
        Ok(match proof {
            Proof::Whole(checksum) => crc32c(&bytes[skipped..skipped + length as usize]) == *checksum,
            Proof::Blocks(sums) => sums_of(&bytes, block as usize) == *sums,
        })
    }

    /// Evidence that frames that had been durable are missing, from the anchor or from a later
    /// frame.
    pub(super) async fn look_for_loss(&mut self) -> Result<Option<String>, Error> {
        let last = self.next.sequence - 1;
        // All changes are there and the checkpoint is whole: what is missing is a part of a later
        // checkpoint.
        let is_all = self.how != How::Strictly
            && self.changes.is_some_and(|changes| changes == self.anchor.changes)
            && last >= self.anchor.newest.end;
        if last < self.durable && !is_all {
            return Ok(Some(format!("the log ends at frame {last}, and frame {} had been durable", self.durable)));
        }
        let spare = Some(self.spare).filter(|spare| self.layout.is_usable(*spare));
        let places = [Some((self.next.cluster, self.next.offset)), spare.map(|spare| (spare, 0))];
        let (layout, epoch, known) = (self.layout, self.epoch, self.anchor.epoch);
        for (cluster, offset) in places.into_iter().flatten() {
            let bytes = self.reader.read(cluster).await?;
            let later = Search::new(&bytes, offset, &layout).map(|(_, frame)| frame.header).find(|header| {
                // An epoch begins with an anchor. One higher than the anchor's means that a later
                // anchor is lost.
                let is_later = header.sequence > last && header.epoch >= epoch;
                is_later && (header.flushed > last || header.epoch > known)
            });
            if let Some(header) = later {
                let what = format!("frame {} follows a gap after frame {last}", header.sequence);
                return Ok(Some(format!("{what}, and saw frame {} flushed", header.flushed)));
            }
        }
        Ok(None)
    }
}
