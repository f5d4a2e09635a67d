//! Walks along the log, frame after frame from a checkpoint on. Each frame takes effect when it is
//! known to have been durable.

mod gaps;

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use iolab_disk::Buffer;

use gaps::Gaps;

use super::reader::Reader;
use super::{How, Loaded, OnLoss, Recovery};
use crate::anchor::{Anchor, FramePlace};
use crate::bytes::Take;
use crate::domains::Owners;
use crate::frame::{self, Frame, HEADER_BYTES};
use crate::log::{LogEnd, count_on};
use crate::record::{InodeId, Record, split_head};
use crate::sums::Sums;
use crate::tree::{Contradiction, Delta, ENTRIES, EXTENTS, Tree};
use crate::{Disk, Error, Layout};

/// A frame that is not yet proven to have been durable.
pub(super) struct Doubtful {
    /// The cluster that contains it, and the range of its payload.
    pub(super) bytes: Rc<Buffer>,
    pub(super) payload: Range<usize>,
    /// Where the log continues after it.
    pub(super) after: FramePlace,
    pub(super) next_cluster: u32,
    pub(super) epoch: u64,
    /// As [`frame::Header::changes`].
    pub(super) changes: u32,
}

impl Doubtful {
    pub(super) fn payload(&self) -> &[u8] {
        &self.bytes[self.payload.clone()]
    }
}

/// A frame found at its expected place.
pub(super) struct Found {
    pub(super) header: frame::Header,
    pub(super) bytes: Rc<Buffer>,
    pub(super) payload: Range<usize>,
    pub(super) disk_bytes: u32,
    pub(super) checksum: u32,
}

/// The state of a walk along the log.
pub(super) struct Walk<'a> {
    pub(super) disk: &'a Disk,
    pub(super) layout: Layout,
    pub(super) anchor: Anchor,
    /// The last frame that may take effect, by its sequence.
    pub(super) last: u64,
    pub(super) tree: Tree,
    pub(super) sums: Sums,
    /// The place after the last frame that took effect.
    pub(super) next: FramePlace,
    pub(super) spare: u32,
    pub(super) epoch: u64,
    pub(super) chain: VecDeque<u32>,
    /// As [`LogEnd::kept`].
    pub(super) kept: Vec<u32>,
    /// Changes in the frames that took effect; `None` when a frame has no count.
    pub(super) changes: Option<u32>,
    pub(super) doubtful: VecDeque<Doubtful>,
    pub(super) gaps: Gaps,
    /// Highest sequence known to be durable.
    pub(super) durable: u64,
    pub(super) recovery: Recovery,
    /// Bytes of frames after the checkpoint.
    pub(super) tail_bytes: u64,
    /// What the last frame that took effect did to the disk.
    pub(super) deltas: Vec<Delta>,
    pub(super) reader: Reader,
    pub(super) how: How,
}

impl<'a> Walk<'a> {
    /// Starts at the newest checkpoint of the anchor and ends at the frame of sequence `last`.
    pub(super) fn new(disk: &'a Disk, layout: Layout, anchor: Anchor, last: u64, how: How) -> Walk<'a> {
        let mut tree = Tree::new(layout.cluster_bytes);
        tree.loading = true;
        tree.tolerant = how == How::Regardless;
        tree.serial = anchor.serial.max(InodeId::ROOT.0);
        let start = anchor.newest.start;
        Walk {
            disk,
            layout,
            anchor,
            last,
            tree,
            sums: Sums::new(&layout),
            next: start,
            spare: 0,
            epoch: 0,
            chain: VecDeque::from([start.cluster]),
            kept: Vec::new(),
            changes: None,
            doubtful: VecDeque::new(),
            gaps: Gaps::default(),
            durable: anchor.flushed.max(anchor.newest.end),
            recovery: Recovery { closed: anchor.closed, ..Recovery::default() },
            tail_bytes: 0,
            deltas: Vec::new(),
            reader: Reader::new(disk, &layout, how),
            how,
        }
    }
}

impl Walk<'_> {
    /// Follows the frames to the end. Frames that are known to be durable take effect, the others
    /// wait.
    pub(super) async fn frames(&mut self) -> Result<(), Error> {
        let (mut place, mut spare, mut epoch) = (self.next, 0, 0);
        while place.sequence <= self.last {
            let here = self.frame_at(place, epoch).await?;
            let (at, frame) = match here {
                Some(frame) => (place, frame),
                None => {
                    let moved = FramePlace { cluster: spare, offset: 0, ..place };
                    let there = match self.layout.is_usable(spare) {
                        true => self.frame_at(moved, epoch).await?,
                        false => None,
                    };
                    match there {
                        Some(frame) => (moved, frame),
                        None => match self.behind_gap(place, spare, epoch).await? {
                            Some(found) => found,
                            None => return Ok(()),
                        },
                    }
                }
            };
            let Found { header, bytes, payload, disk_bytes, checksum } = frame;
            (spare, epoch) = (header.next_cluster, header.epoch);
            place = FramePlace {
                cluster: at.cluster,
                offset: at.offset + disk_bytes,
                sequence: at.sequence + 1,
                previous: checksum,
            };
            self.durable = self.durable.max(header.flushed);
            let changes = header.changes;
            self.doubtful.push_back(Doubtful { bytes, payload, after: place, next_cluster: spare, epoch, changes });
            self.take_durable()?;
        }
        Ok(())
    }

    /// Applies those of the waiting frames that are known to be durable.
    pub(super) fn take_durable(&mut self) -> Result<(), Error> {
        while self.doubtful.front().is_some_and(|first| first.after.sequence - 1 <= self.durable) {
            let Some(first) = self.doubtful.pop_front() else { break };
            self.take_effect(first)?;
        }
        Ok(())
    }

    /// The frame expected at a place, if it is there.
    pub(super) async fn frame_at(&mut self, place: FramePlace, epoch: u64) -> Result<Option<Found>, Error> {
        if u64::from(place.offset) + HEADER_BYTES as u64 > u64::from(self.layout.cluster_bytes) {
            return Ok(None);
        }
        let (layout, epochs) = (self.layout, epoch..=self.anchor.epoch);
        let bytes = self.reader.read(place.cluster).await?;
        let found = frame::parse(&bytes[place.offset as usize..], &layout);
        let belongs = |found: &Frame<'_>| frame::belongs(&found.header, &place, epochs.clone());
        Ok(found.filter(belongs).map(|found| {
            let start = place.offset as usize + HEADER_BYTES;
            let payload = start..start + found.payload.len();
            let (header, disk_bytes, checksum) = (found.header, found.disk_bytes(&layout), found.checksum);
            Found { header, payload, disk_bytes, checksum, bytes: Rc::clone(&bytes) }
        }))
    }

    /// Applies the records of a frame.
    pub(super) fn take_effect(&mut self, frame: Doubtful) -> Result<(), Error> {
        let sequence = frame.after.sequence - 1;
        let corrupt = |why: String| Error::Corrupt(format!("frame {sequence} of the log: {why}"));
        self.cross_gap(sequence);
        let mut take = Take(frame.payload());
        let mut changes = 0;
        self.deltas.clear();
        self.tail_bytes += if self.tree.loading { 0 } else { take.0.len() as u64 };
        while !take.0.is_empty() {
            let Some((code, body)) = split_head(&mut take) else {
                if self.tree.tolerant {
                    break;
                }
                return Err(corrupt("an invalid record".to_owned()));
            };
            self.recovery.records += 1;
            changes += u32::from(!Record::is_checkpoint(code));
            if Record::is_checkpoint(code) && !self.tree.loading {
                // A part of a later checkpoint that no anchor names.
                continue;
            }
            let applied = match code {
                // There are very many of these: they are applied without being decoded into a
                // `Record`.
                ENTRIES | EXTENTS => self.tree.load(code, body, &mut self.deltas),
                _ => Record::of(code, body).map(|record| {
                    self.sums.follow(&record);
                    if let Record::LogBefore { clusters } = &record {
                        self.kept.extend(clusters);
                    }
                    self.tree.apply(&record, &mut self.deltas)
                }),
            };
            let none = || Contradiction("an invalid record".to_owned());
            let applied = applied.unwrap_or_else(|| Err(none()));
            if let Err(contradiction) = applied
                && !self.tree.tolerant
            {
                return Err(corrupt(contradiction.0));
            }
            if code == Record::CHECKPOINT_END && sequence == self.anchor.newest.end {
                self.tree.loading = false;
                self.tree.graveyard.clear();
            }
        }
        self.recovery.frames += 1;
        self.changes = (frame.changes != 0).then(|| count_on(frame.changes, changes));
        self.note_young();
        if self.chain.back() != Some(&frame.after.cluster) {
            self.chain.push_back(frame.after.cluster);
        }
        (self.next, self.spare, self.epoch) = (frame.after, frame.next_cluster, frame.epoch);
        Ok(())
    }

    pub(super) fn finish(mut self, owners: Rc<Owners>, on_loss: OnLoss) -> Result<Loaded, Error> {
        if let (Some(what), OnLoss::Refuse) = (&self.tree.bad_name, on_loss) {
            return Err(Error::Corrupt(format!("{what}, which is not a valid name")));
        }
        let is_lossy = self.tree.tolerant;
        if std::mem::take(&mut self.tree.loading) && !is_lossy {
            return Err(Error::Corrupt("the log ends inside the checkpoint that the anchor points to".to_owned()));
        }
        let root_is_there = self.tree.get(InodeId::ROOT).is_some_and(|root| root.names().is_some());
        if !root_is_there && on_loss == OnLoss::Refuse {
            return Err(Error::Corrupt("there is no root directory".to_owned()));
        }
        if is_lossy {
            // It is not known whether an inode without a name had been deleted.
            self.tree.graveyard.clear();
        } else {
            self.tree.purge_nameless();
        }
        self.tree.tolerant = false;
        let kept = if self.anchor.before.is_some() { self.kept } else { Vec::new() };
        let kept = kept.into_iter().filter(|cluster| *cluster != self.anchor.newest.start.cluster).collect();
        Ok(Loaded {
            layout: self.layout,
            owners,
            anchor: self.anchor,
            tree: self.tree,
            sums: self.sums,
            end: LogEnd {
                next: self.next,
                spare: self.spare,
                chain: self.chain,
                kept,
                changes: self.changes.unwrap_or(1),
                tail_bytes: self.tail_bytes,
            },
            recovery: self.recovery,
            loss: self.gaps.loss,
            young: self.gaps.young,
            older_is_bad: None,
        })
    }
}
