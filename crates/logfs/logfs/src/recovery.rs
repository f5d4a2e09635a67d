//! Reads a file system from its disk: bootstrap record, anchor, log. Writes nothing.

mod bootstrap;
mod reader;
mod search;
mod tail;
mod walk;
mod whole;

use std::collections::HashSet;
use std::rc::Rc;

use crate::anchor::{Anchor, Generation};
use crate::clusters::ClusterTable;
use crate::domains::Owners;
use crate::extents::Place;
use crate::log::LogEnd;
use crate::record::{InodeId, Stretch};
use crate::sums::Sums;
use crate::tree::Tree;
use crate::{Answered, Disk, Error, Layout};
pub(crate) use bootstrap::{read_anchor, read_layout, read_map};
use walk::{Doubtful, Walk};
pub(crate) use whole::{is_whole, is_whole_told};

/// The result of reading the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Frames whose changes took effect.
    pub frames: u64,
    /// Records in those frames.
    pub records: u64,
    /// Whether the file system had been closed.
    pub closed: bool,
    /// Frames at the end that were not durable before a crash and refer to content that is missing.
    pub dropped_frames: u64,
    /// Whether the newest checkpoint, or a part of the log, could not be read without any loss: an
    /// older checkpoint and the log since then held the same.
    pub by_older_checkpoint: bool,
}

impl Recovery {
    /// Adds the result of another domain.
    pub(crate) fn add(&mut self, other: &Recovery) {
        self.frames += other.frames;
        self.records += other.records;
        self.closed = other.closed && self.closed;
        self.dropped_frames += other.dropped_frames;
        self.by_older_checkpoint |= other.by_older_checkpoint;
    }
}

/// A file system in memory, and where its log continues.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) layout: Layout,
    pub(crate) owners: Rc<Owners>,
    pub(crate) anchor: Anchor,
    pub(crate) tree: Tree,
    pub(crate) sums: Sums,
    pub(crate) end: LogEnd,
    pub(crate) recovery: Recovery,
    /// Evidence that something durable is missing, when the caller chose to continue anyway.
    pub(crate) loss: Vec<String>,
    /// Inodes and clusters whose content was placed after a loss: where it overlaps other content,
    /// it is the younger.
    pub(crate) young: HashSet<(InodeId, u32)>,
    /// Why the previous checkpoint cannot be read, if that was checked.
    pub(crate) older_is_bad: Option<String>,
}

/// What to do about a log that has lost something durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnLoss {
    Refuse,
    /// Continue with what is there.
    Accept,
}

/// What to do about missing frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// The log ends at the first one.
    Strictly,
    /// The log continues after them; blocks that cannot be read are treated as empty.
    AcrossGaps,
    /// As `AcrossGaps`, and records that contradict others are skipped.
    Regardless,
}

/// Reads everything of one domain from the newest checkpoint on; if that or the log after it is
/// damaged, from the previous checkpoint too.
pub(crate) fn load(
    disk: &Disk,
    layout: Layout,
    owners: Rc<Owners>,
    domain: u32,
    on_loss: OnLoss,
) -> Answered<'_, Result<Loaded, Error>> {
    Box::pin(async move {
        let layout = layout.of_domain(domain, owners.of(domain).count() as u32);
        let anchor = match (read_anchor(disk, &layout).await, on_loss) {
            (Ok((anchor, _)), _) => anchor,
            (Err(refused), OnLoss::Refuse) => return Err(refused),
            (Err(refused), OnLoss::Accept) => search::anchor(disk, &layout, &owners).await?.ok_or(refused)?,
        };
        let attempt = async |generation, how| {
            let anchor = Anchor { newest: generation, ..anchor };
            let walk = walk(disk, layout, anchor, how).await?;
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
                // Which clusters are kept is known from the newest checkpoint only.
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
    })
}

async fn walk(disk: &Disk, layout: Layout, anchor: Anchor, how: How) -> Result<Walk<'_>, Error> {
    let mut walk = Walk::new(disk, layout, anchor, u64::MAX, how);
    walk.frames().await?;
    let frames = walk.doubtful.len();
    if let Some(last) = walk.settle_doubtful().await? {
        // Frames took effect that must not have: read everything again, up to the last one that
        // may.
        let first = walk.next.sequence - frames as u64;
        walk = Walk::new(disk, layout, anchor, last, how);
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

/// Whether the previous checkpoint, and the log from there to the newest, can be read.
pub(crate) async fn look_at_older(disk: &Disk, layout: &Layout, anchor: &Anchor) -> Option<String> {
    let generation = Generation { end: anchor.newest.end, ..anchor.before? };
    match is_whole(disk, layout, generation, anchor.epoch).await {
        Ok(true) => None,
        Ok(false) => Some(format!("the log from frame {} to frame {}", generation.start.sequence, generation.end)),
        Err(error) => Some(error.to_string()),
    }
}

/// Which clusters are in use, by the log and by content, and whether those that the previous
/// checkpoint needs are intact.
pub(crate) fn claim_clusters(loaded: &Loaded) -> Result<(ClusterTable, bool), Error> {
    let mut clusters = ClusterTable::new(&loaded.layout, &loaded.owners);
    for cluster in loaded.end.clusters() {
        if !clusters.claim_for_log(cluster) {
            return Err(Error::Corrupt(format!("the log uses cluster {cluster} twice, or must not use it")));
        }
    }
    for (inode, node) in loaded.tree.iter() {
        for (offset, extent) in node.file().into_iter().flat_map(|file| file.iter()) {
            let Place::Disk(place) = extent.place else { continue };
            let stretch = Stretch { offset, length: extent.length, place };
            if !clusters.claim_for_content(inode, stretch) {
                let what = format!("inode {} has content at byte {place}, which belongs to something else", inode.0);
                return Err(Error::Corrupt(what));
            }
        }
    }
    let kept_is_there = clusters.claim_all_for_log(&loaded.end.kept);
    clusters.settle();
    Ok((clusters, kept_is_there))
}
