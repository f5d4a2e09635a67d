//! The end of the log after a crash: which of the last frames may take effect, and whether something durable is missing.

use super::{Doubtful, Walk};
use crate::Error;
use crate::bytes::Take;
use crate::frame::{self, HEADER_BYTES};
use crate::record::{Record, Relocate};

impl Walk<'_> {
    /// Frames of which nothing proves that they were durable take effect as long as the content that they refer to is what it was.
    pub(super) async fn settle_doubtful(&mut self) -> Result<(), Error> {
        while let Some(frame) = self.doubtful.pop_front() {
            if !self.content_is_there(&frame).await? {
                self.recovery.dropped_frames = self.doubtful.len() as u64 + 1;
                self.doubtful.clear();
                return Ok(());
            }
            self.take_effect(frame)?;
        }
        Ok(())
    }

    async fn content_is_there(&self, frame: &Doubtful) -> Result<bool, Error> {
        let mut take = Take(frame.payload());
        while let Some(record) = Record::decode(&mut take) {
            let (place, length, checksum) = match record {
                Record::WriteExtent { stretch, checksum, .. } => (stretch.place, stretch.length, checksum),
                Record::Relocate(Relocate { to, length, checksum, .. }) => (to, length, checksum),
                _ => continue,
            };
            let fits = self.layout.holds(place, length) && length <= u64::from(self.layout.cluster_bytes);
            if !fits || self.checksum_of(place, length).await? != checksum {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn checksum_of(&self, place: u64, length: u64) -> Result<u32, Error> {
        let block = u64::from(self.layout.block_bytes);
        let start = place - place % block;
        let end = self.layout.blocks(place + length);
        let bytes = self.disk.read(start, (end - start) as usize).await?;
        let skipped = (place - start) as usize;
        Ok(crc32c::crc32c(&bytes[skipped..skipped + length as usize]))
    }

    /// Evidence that frames which had been durable are missing: the anchor's word, or a later frame.
    pub(super) async fn look_for_loss(&mut self) -> Result<Option<String>, Error> {
        let last = self.next.sequence - 1;
        if last < self.durable {
            return Ok(Some(format!("the log ends at frame {last}, and frame {} had been durable", self.durable)));
        }
        let spare = Some(self.spare).filter(|spare| self.layout.is_usable(*spare));
        let places = [Some((self.next.cluster, self.next.offset)), spare.map(|spare| (spare, 0))];
        let (layout, epoch, known) = (self.layout, self.epoch, self.anchor.epoch);
        for (cluster, offset) in places.into_iter().flatten() {
            let bytes = self.reader.read(cluster).await?;
            let mut at = offset as usize;
            while at + HEADER_BYTES <= bytes.len() {
                let later = frame::parse(&bytes[at..], &layout).map(|frame| frame.header).filter(|header| {
                    // An epoch begins with an anchor: one that the anchor does not know means that a later anchor is lost.
                    let is_later = header.sequence > last && header.epoch >= epoch;
                    is_later && (header.flushed > last || header.epoch > known)
                });
                if let Some(header) = later {
                    let what = format!("frame {} follows a gap after frame {last}", header.sequence);
                    return Ok(Some(format!("{what}, and saw frame {} flushed", header.flushed)));
                }
                at += layout.block_bytes as usize;
            }
        }
        Ok(None)
    }
}
