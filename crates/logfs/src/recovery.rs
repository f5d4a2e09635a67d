//! Reading a file system from its disk: bootstrap record, anchor, log. Nothing is written.

mod gaps;
mod reader;
mod tail;
mod whole;

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use iolab_block::Buffer;

use crate::anchor::{Anchor, FramePlace, Generation};
use crate::bytes::Take;
use crate::domains::{Owners, read_owners};
use crate::frame::{self, Frame, HEADER_BYTES};
use crate::log::{LogEnd, count_on};
use crate::record::{InodeId, Record, split_head};
use crate::sums::Sums;
use crate::tree::{Contradiction, Delta, ENTRIES, EXTENTS, Tree};
use crate::{Disk, Error, Layout};
use gaps::Gaps;
use reader::Reader;
pub(crate) use whole::is_whole;

/// What opening found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Frames whose changes are in effect.
    pub frames: u64,
    /// Their records.
    pub records: u64,
    /// Whether it had been closed.
    pub closed: bool,
    /// Frames at the end that were not durable before a crash, and whose content was not there either.
    pub dropped_frames: u64,
    /// Whether the newest checkpoint, or a part of the log, could not be read, and nothing was lost by that: an older checkpoint and the log since said
    /// the same.
    pub by_older_checkpoint: bool,
}

impl Recovery {
    /// Adds what opening another domain found.
    pub(crate) fn add(&mut self, other: &Recovery) {
        self.frames += other.frames;
        self.records += other.records;
        self.closed = other.closed && self.closed;
        self.dropped_frames += other.dropped_frames;
        self.by_older_checkpoint |= other.by_older_checkpoint;
    }
}

/// A file system in memory, and where its log goes on.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) layout: Layout,
    pub(crate) owners: Rc<Owners>,
    pub(crate) anchor: Anchor,
    pub(crate) tree: Tree,
    pub(crate) sums: Sums,
    pub(crate) end: LogEnd,
    pub(crate) recovery: Recovery,
    /// Evidence that something durable is missing, when the caller asked to go on all the same.
    pub(crate) loss: Vec<String>,
    /// What was placed where after something was lost: where it lies over other content, it is the younger.
    pub(crate) young: HashSet<(InodeId, u32)>,
    /// Why the checkpoint before the newest cannot be read, if it was looked for.
    pub(crate) older_is_bad: Option<String>,
}

/// What to do about a log that has lost something durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnLoss {
    Refuse,
    /// Take what is there.
    Accept,
}

/// What to do about frames that should be there and are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// The log ends there.
    Strictly,
    /// It goes on behind them, and nothing is read that cannot be read.
    AcrossGaps,
    /// The same, and what contradicts the rest is passed over.
    Regardless,
}

/// Reads the bootstrap record, from its copy if need be; also says which of the two are good.
pub(crate) async fn read_layout(disk: &Disk) -> Result<(Layout, [bool; 2]), Error> {
    let geometry = disk.geometry();
    // The longest record, so that blocks of any size are seen.
    let bytes = 4096_u64.next_multiple_of(u64::from(geometry.block_bytes)).min(geometry.size_bytes);
    let check = |layout: Layout| {
        let end = layout.start_of(layout.clusters);
        let fits = end <= geometry.size_bytes && layout.block_bytes.is_multiple_of(geometry.block_bytes);
        let why = || Error::Unusable(format!("made for {end} bytes in blocks of {}", layout.block_bytes));
        if fits { Ok(layout) } else { Err(why()) }
    };
    let first = disk.read(0, bytes as usize).await.map_err(Error::from);
    let first = first.and_then(|bytes| Layout::decode(&bytes)).and_then(check);
    if let Ok(layout) = first {
        let copy_at = layout.bootstrap_places()[1];
        let copy = disk.read(copy_at, layout.block_bytes as usize).await;
        // A crash may leave the copy of the generation before: opening writes it anew.
        let fits = |copy: Layout| copy.current() == layout.current() || copy.precedes(&layout);
        let copy_is_good = copy.is_ok_and(|bytes| Layout::decode(&bytes).is_ok_and(fits));
        return Ok((layout, [true, copy_is_good]));
    }
    // The copy's place depends on sizes that only the record knows: every possible end of a last cluster is tried.
    for cluster_bits in 14..=24 {
        let end = geometry.size_bytes >> cluster_bits << cluster_bits;
        for block_bits in 9..=16 {
            let block = 1_u64 << block_bits;
            if end < block || !block.is_multiple_of(u64::from(geometry.block_bytes)) {
                continue;
            }
            let Ok(bytes) = disk.read(end - block, block as usize).await else { continue };
            let found = Layout::decode(&bytes).and_then(check);
            if let Ok(layout) = found.as_ref()
                && layout.bootstrap_places()[1] == end - block
            {
                return Ok((*layout, [false, true]));
            }
        }
    }
    first.map(|layout| (layout, [true, false]))
}

/// The anchor to go by, and which of the two blocks hold good ones.
pub(crate) async fn read_anchor(disk: &Disk, layout: &Layout) -> Result<(Anchor, [bool; 2]), Error> {
    let mut found = [None, None];
    for (place, found) in Anchor::places(layout).into_iter().zip(&mut found) {
        // A block that cannot be read is as good as one that holds nothing.
        let bytes = disk.read(place, layout.block_bytes as usize).await;
        *found = bytes.ok().and_then(|bytes| Anchor::decode(&bytes, layout));
    }
    let good = found.map(|anchor| anchor.is_some());
    let best = found.into_iter().flatten().max_by_key(|anchor| anchor.number);
    best.map(|anchor| (anchor, good)).ok_or_else(|| Error::Corrupt("neither anchor can be read".to_owned()))
}

/// A frame that nothing proves to have been durable yet.
pub(super) struct Doubtful {
    /// The cluster that it is in, and where in it its payload is.
    bytes: Rc<Buffer>,
    payload: Range<usize>,
    /// Where the log goes on behind it.
    after: FramePlace,
    next_cluster: u32,
    epoch: u64,
    /// As [`frame::Header::changes`].
    changes: u32,
}

impl Doubtful {
    fn payload(&self) -> &[u8] {
        &self.bytes[self.payload.clone()]
    }
}

/// A frame that is where it belongs.
struct Found {
    header: frame::Header,
    bytes: Rc<Buffer>,
    payload: Range<usize>,
    disk_bytes: u32,
    checksum: u32,
}

/// The walk along the log.
pub(super) struct Walk<'a> {
    disk: &'a Disk,
    layout: Layout,
    anchor: Anchor,
    /// The last frame that may take effect, by its sequence.
    last: u64,
    tree: Tree,
    sums: Sums,
    /// Behind the last frame whose changes are in effect.
    next: FramePlace,
    spare: u32,
    epoch: u64,
    chain: VecDeque<u32>,
    /// As [`LogEnd::kept`].
    kept: Vec<u32>,
    /// Changes in the frames that took effect; `None` when somebody did not count.
    changes: Option<u32>,
    doubtful: VecDeque<Doubtful>,
    gaps: Gaps,
    /// Highest sequence known to be durable.
    durable: u64,
    recovery: Recovery,
    /// Bytes of frames behind the checkpoint.
    tail_bytes: u64,
    /// What the frame that took effect last did to the disk.
    deltas: Vec<Delta>,
    reader: Reader,
    how: How,
}

/// Reads the bootstrap record and the owner map.
pub(crate) async fn read_map(disk: &Disk) -> Result<(Layout, Rc<Owners>), Error> {
    let (layout, _) = read_layout(disk).await?;
    let (owners, _) = read_owners(disk, &layout).await?;
    Ok((layout, Rc::new(owners)))
}

/// Reads everything of one domain: from the newest checkpoint; where that or the log behind it is damaged, from the one before too.
pub(crate) async fn load(
    disk: &Disk,
    (layout, owners): (Layout, Rc<Owners>),
    domain: u32,
    on_loss: OnLoss,
) -> Result<Loaded, Error> {
    let layout = layout.of_domain(domain, owners.of(domain).count() as u32);
    let (anchor, _) = read_anchor(disk, &layout).await?;
    let attempt = async |generation, how| {
        let anchor = Anchor { newest: generation, ..anchor };
        let walk = walk(disk, (layout, anchor), how).await?;
        walk.finish(Rc::clone(&owners), on_loss)
    };
    let refused = match attempt(anchor.newest, How::Strictly).await {
        Ok(loaded) if loaded.loss.is_empty() => return Ok(loaded),
        Ok(loaded) => Error::Corrupt(loaded.loss.join("; ")),
        Err(error @ Error::Unusable(_)) => return Err(error),
        Err(error) => error,
    };
    let mut best: Option<Loaded> = None;
    for generation in [Some(anchor.newest), anchor.before].into_iter().flatten() {
        let Ok(mut found) = attempt(generation, How::AcrossGaps).await else { continue };
        if generation != anchor.newest || found.anchor.before.is_none() {
            // What is kept is known from the newest checkpoint alone.
            (found.anchor.before, found.end.kept) = (None, Vec::new());
        }
        if found.loss.is_empty() {
            found.recovery.by_older_checkpoint = true;
            return Ok(found);
        }
        if best.as_ref().is_none_or(|best| best.tree.len() < found.tree.len()) {
            best = Some(found);
        }
    }
    if on_loss == OnLoss::Refuse {
        return Err(refused);
    }
    for generation in [Some(anchor.newest), anchor.before].into_iter().flatten() {
        if best.is_some() {
            break;
        }
        best = attempt(generation, How::Regardless).await.ok();
        if let Some(found) = &mut best {
            (found.anchor.before, found.end.kept) = (None, Vec::new());
            found.loss.push(refused.to_string());
        }
    }
    best.ok_or(refused)
}

async fn walk(disk: &Disk, (layout, anchor): (Layout, Anchor), how: How) -> Result<Walk<'_>, Error> {
    let mut walk = Walk::new(disk, layout, (anchor, u64::MAX), how);
    walk.frames().await?;
    let frames = walk.doubtful.len();
    if let Some(last) = walk.settle_doubtful().await? {
        // Frames took effect that must not: everything again, up to the last one that may.
        let first = walk.next.sequence - frames as u64;
        walk = Walk::new(disk, layout, (anchor, last), how);
        walk.frames().await?;
        while let Some(frame) = walk.doubtful.pop_front() {
            walk.take_effect(frame)?;
        }
        walk.recovery.dropped_frames = (first + frames as u64 - 1).saturating_sub(last);
    }
    let loss = walk.look_for_loss().await?;
    walk.gaps.loss.extend(loss);
    Ok(walk)
}

/// Whether the checkpoint before the newest can be read, with the log up to that.
pub(crate) async fn look_at_older(disk: &Disk, layout: &Layout, anchor: &Anchor) -> Option<String> {
    let generation = Generation { end: anchor.newest.end, ..anchor.before? };
    match is_whole(disk, layout, generation, anchor.epoch).await {
        Ok(true) => None,
        Ok(false) => Some(format!("the log from frame {} to frame {}", generation.start.sequence, generation.end)),
        Err(error) => Some(error.to_string()),
    }
}

impl<'a> Walk<'a> {
    /// At the newest checkpoint of the anchor, to go no further than the frame of this sequence.
    fn new(disk: &'a Disk, layout: Layout, (anchor, last): (Anchor, u64), how: How) -> Walk<'a> {
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
    /// Follows the frames as far as they go. Frames that are known to be durable take effect, the others wait.
    async fn frames(&mut self) -> Result<(), Error> {
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
                        None => match self.behind_gap((place, spare), epoch).await? {
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

    /// Lets those of the frames that wait take effect that are known to be durable.
    fn take_durable(&mut self) -> Result<(), Error> {
        while self.doubtful.front().is_some_and(|first| first.after.sequence - 1 <= self.durable) {
            let Some(first) = self.doubtful.pop_front() else { break };
            self.take_effect(first)?;
        }
        Ok(())
    }

    /// The frame that belongs at a place, if it is there.
    async fn frame_at(&mut self, place: FramePlace, epoch: u64) -> Result<Option<Found>, Error> {
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
                return Err(corrupt("a record that is none".to_owned()));
            };
            self.recovery.records += 1;
            changes += u32::from(!Record::is_checkpoint(code));
            if Record::is_checkpoint(code) && !self.tree.loading {
                // Part of a later checkpoint that no anchor names.
                continue;
            }
            let applied = match code {
                // There are very many of these, and they are read without being made.
                ENTRIES | EXTENTS => self.tree.load(code, body, &mut self.deltas),
                _ => Record::of(code, body).map(|record| {
                    self.sums.follow(&record);
                    if let Record::LogBefore { clusters } = &record {
                        self.kept.extend(clusters);
                    }
                    self.tree.apply(&record, &mut self.deltas)
                }),
            };
            let none = || Contradiction("a record that is none".to_owned());
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

    fn finish(mut self, owners: Rc<Owners>, on_loss: OnLoss) -> Result<Loaded, Error> {
        if let (Some(what), OnLoss::Refuse) = (&self.tree.bad_name, on_loss) {
            return Err(Error::Corrupt(format!("{what}, which is no name")));
        }
        let is_lossy = self.tree.tolerant;
        if std::mem::take(&mut self.tree.loading) && !is_lossy {
            return Err(Error::Corrupt("the log ends inside of the checkpoint that the anchor names".to_owned()));
        }
        let root_is_there = self.tree.get(InodeId::ROOT).is_some_and(|root| root.names().is_some());
        if !root_is_there && on_loss == OnLoss::Refuse {
            return Err(Error::Corrupt("there is no root directory".to_owned()));
        }
        if is_lossy {
            // Whether somebody had deleted what has no name is not known.
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
