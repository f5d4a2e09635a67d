//! All inodes in memory. Applying a record is the only way to change them.
//!
//! The running file system and recovery apply the same records with the same code, so that recovery
//! restores the same state. While a checkpoint is being read ([`Tree::loading`]), changes of
//! unknown inodes are skipped: those inodes come later, with the change included. What a change
//! does to the disk's clusters is reported as [`Delta`]s; this module knows no clusters, time or
//! locks.

mod extended;
mod inode;
mod loading;
mod names;
mod table;

use std::collections::VecDeque;

pub(crate) use extended::cost_bytes;
pub(crate) use inode::{Content, Inode, Names};
pub(crate) use loading::{ENTRIES, EXTENTS};
pub(crate) use names::{is_name, shown};

use crate::extents::{Extent, ExtentMap, Place};
use crate::record::{INLINE, InodeId, InodeKind, Node, Record, Relocate, Stretch};
use table::Table;

/// A stretch of the disk that came into use or was released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delta {
    Placed { inode: InodeId, stretch: Stretch },
    Released { inode: InodeId, place: u64, length: u64 },
}

/// A record that cannot be applied because it contradicts what is known. On a disk that is
/// corruption, otherwise a bug.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contradiction(pub(crate) String);

type Applied = Result<(), Contradiction>;

/// The end of a file or disk is at most this.
const MOST_BYTES: u64 = i64::MAX as u64;

#[derive(Debug)]
pub(crate) struct Tree {
    inodes: Table,
    /// Extents of deleted files, still to be released step by step.
    pub(crate) graveyard: VecDeque<(InodeId, ExtentMap)>,
    /// Whether a checkpoint is being read.
    pub(crate) loading: bool,
    /// Whether changes that others build on may be missing: then changes of unknown inodes are
    /// skipped too.
    pub(crate) tolerant: bool,
    /// While loading: the inode being described, not all of whose names and extents may be known
    /// yet.
    incomplete: Option<InodeId>,
    /// Highest inode number assigned.
    pub(crate) serial: u64,
    /// A description of the first invalid name that was read.
    pub(crate) bad_name: Option<String>,
    /// Estimated bytes of a checkpoint.
    cost_bytes: u64,
    inline_bytes: u64,
    cluster_bytes: u32,
}

impl Tree {
    pub(crate) fn new(cluster_bytes: u32) -> Tree {
        Tree {
            inodes: Table::default(),
            graveyard: VecDeque::new(),
            loading: false,
            tolerant: false,
            incomplete: None,
            serial: InodeId::ROOT.0,
            bad_name: None,
            cost_bytes: 0,
            inline_bytes: 0,
            cluster_bytes,
        }
    }

    pub(crate) fn get(&self, inode: InodeId) -> Option<&Inode> {
        self.inodes.get(inode)
    }

    /// For holders and tickets only. Content changes through records.
    pub(crate) fn get_mut(&mut self, inode: InodeId) -> Option<&mut Inode> {
        self.inodes.get_mut(inode)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (InodeId, &Inode)> {
        self.inodes.from(InodeId(0))
    }

    /// The inodes from `first` on.
    pub(crate) fn iter_from(&self, first: InodeId) -> impl Iterator<Item = (InodeId, &Inode)> {
        self.inodes.from(first)
    }

    /// The files with content in memory, as the queue for moving it to the disk.
    pub(crate) fn queue_inline(&mut self) -> VecDeque<(u64, InodeId)> {
        let has_some = |(inode, node): (InodeId, &Inode)| (node.inline_bytes() > 0).then_some((0, inode));
        let queue: VecDeque<_> = self.iter().filter_map(has_some).collect();
        for (_, inode) in &queue {
            self.get_mut(*inode).into_iter().for_each(|node| node.in_queue = true);
        }
        queue
    }

    pub(crate) fn len(&self) -> usize {
        self.inodes.len()
    }

    pub(crate) fn cost_bytes(&self) -> u64 {
        self.cost_bytes
    }

    pub(crate) fn inline_bytes(&self) -> u64 {
        self.inline_bytes
    }

    /// Applies one record and appends its effects on the disk.
    pub(crate) fn apply(&mut self, record: &Record, deltas: &mut Vec<Delta>) -> Applied {
        match record {
            Record::CheckpointBegin { serial } => {
                self.serial = self.serial.max(*serial);
                Ok(())
            }
            Record::CheckpointEnd { .. } | Record::LogBefore { .. } | Record::Sums { .. } => Ok(()),
            Record::Node(node) => {
                self.insert(node);
                self.incomplete = self.loading.then_some(node.inode);
                Ok(())
            }
            Record::Entries { directory, entries } => {
                let entries = entries.iter().map(|(inode, kind, name)| (&name[..], *inode, *kind));
                self.load_entries(*directory, entries)
            }
            Record::Extents { inode, stretches } => stretches.iter().try_for_each(|stretch| {
                self.put(*inode, stretch.offset, Extent::disk(stretch.length, stretch.place), deltas)
            }),
            Record::Inline { inode, offset, content } => {
                self.put(*inode, *offset, Extent::inline(content.clone()), deltas)
            }
            Record::Create { .. } | Record::Link { .. } | Record::Unlink { .. } | Record::Rename(_) => {
                self.apply_name(record)
            }
            Record::Delete { inode } => self.delete(*inode),
            _ => self.apply_content(record, deltas),
        }
    }

    fn apply_content(&mut self, record: &Record, deltas: &mut Vec<Delta>) -> Applied {
        match record {
            Record::WriteInline { inode, offset, time, content } => {
                self.put(*inode, *offset, Extent::inline(content.clone()), deltas)?;
                self.written(*inode, offset.saturating_add(content.len() as u64), *time)
            }
            Record::WriteExtent { inode, stretch, time, .. } => {
                self.put(*inode, stretch.offset, Extent::disk(stretch.length, stretch.place), deltas)?;
                self.written(*inode, stretch.offset.saturating_add(stretch.length), *time)
            }
            Record::Truncate { inode, size, time } => {
                self.clear(*inode, *size, u64::MAX, deltas)?;
                self.edit(*inode, |node| {
                    node.attributes.size = *size;
                    node.modified(*time);
                })
            }
            Record::Punch { inode, offset, length, time } => {
                self.clear(*inode, *offset, offset.saturating_add(*length), deltas)?;
                self.edit(*inode, |node| node.modified(*time))
            }
            Record::Attributes { inode, attributes } => self.edit(*inode, |node| {
                let own = &mut node.attributes;
                (own.mode, own.uid, own.gid) = (attributes.mode, attributes.uid, attributes.gid);
                own.accessed_ns = attributes.accessed_ns;
                (own.modified_ns, own.changed_ns) = (attributes.modified_ns, attributes.changed_ns);
            }),
            Record::Relocate(relocate) => self.relocate(relocate, deltas),
            Record::Extended { inode, name, value } => self.edit(*inode, |node| node.extended.set(name, value)),
            Record::SetExtended { inode, name, time, value } => self.edit(*inode, |node| {
                node.extended.set(name, value);
                node.attributes.changed_ns = *time;
            }),
            Record::RemoveExtended { inode, name, time } => self.edit(*inode, |node| {
                node.extended.remove(name);
                node.attributes.changed_ns = *time;
            }),
            _ => Err(Contradiction("a record of names where one of content belongs".to_owned())),
        }
    }

    fn written(&mut self, inode: InodeId, end: u64, time: u64) -> Applied {
        self.edit(inode, |node| {
            node.attributes.size = node.attributes.size.max(end);
            node.modified(time);
        })
    }

    /// Changes an inode and updates the totals; skips an inode that is not known yet.
    fn edit<T>(&mut self, inode: InodeId, change: impl FnOnce(&mut Inode) -> T) -> Result<(), Contradiction> {
        self.edit_with(inode, change).map(drop)
    }

    fn edit_with<T>(
        &mut self,
        inode: InodeId,
        change: impl FnOnce(&mut Inode) -> T,
    ) -> Result<Option<T>, Contradiction> {
        let Some(node) = self.inodes.get_mut(inode) else {
            return if self.loading || self.tolerant {
                Ok(None)
            } else {
                Err(Contradiction(format!("inode {} is unknown", inode.0)))
            };
        };
        let (cost, inline) = (node.cost_bytes(), node.inline_bytes());
        let answer = change(node);
        self.cost_bytes = self.cost_bytes + node.cost_bytes() - cost;
        self.inline_bytes = self.inline_bytes + node.inline_bytes() - inline;
        Ok(Some(answer))
    }

    fn insert(&mut self, node: &Node) {
        self.serial = self.serial.max(node.inode.0);
        self.remove(node.inode);
        let inode = Inode::new(node);
        self.cost_bytes += inode.cost_bytes();
        self.inodes.insert(node.inode, inode);
    }

    fn remove(&mut self, inode: InodeId) -> Option<Inode> {
        let node = self.inodes.remove(inode)?;
        self.cost_bytes -= node.cost_bytes();
        self.inline_bytes -= node.inline_bytes();
        Some(node)
    }

    fn delete(&mut self, inode: InodeId) -> Applied {
        match self.remove(inode) {
            None if !self.loading && !self.tolerant => {
                Err(Contradiction(format!("inode {} is deleted and unknown", inode.0)))
            }
            Some(Inode { content: Content::File(extents), .. }) if extents.len() > 0 => {
                self.graveyard.push_back((inode, extents));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn put(&mut self, inode: InodeId, offset: u64, extent: Extent, deltas: &mut Vec<Delta>) -> Applied {
        let length = extent.length;
        let on_disk = if let Place::Disk(place) = extent.place { place } else { 0 };
        // No valid offset or place is beyond this limit, so that sums cannot overflow.
        let is_within = |start: u64| start.checked_add(length).is_some_and(|end| end <= MOST_BYTES);
        if length == 0 || !is_within(offset) || !is_within(on_disk) {
            return Err(Contradiction(format!("inode {}: {length} bytes at {offset}", inode.0)));
        }
        self.clear(inode, offset, offset + length, deltas)?;
        let cluster_bytes = self.cluster_bytes;
        let place = if let Place::Disk(place) = extent.place { Some(place) } else { None };
        let put = self.edit_with(inode, |node| node.file_mut().map(|file| file.put(offset, extent, cluster_bytes)))?;
        match (put, place) {
            (Some(None), _) => Err(Contradiction(format!("inode {} has content but is not a file", inode.0))),
            (Some(Some(())), Some(place)) => {
                deltas.push(Delta::Placed { inode, stretch: Stretch { offset, length, place } });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn clear(&mut self, inode: InodeId, from: u64, to: u64, deltas: &mut Vec<Delta>) -> Applied {
        let gone = self.edit_with(inode, |node| node.file_mut().map(|file| file.clear(from, to)))?;
        for (_, extent) in gone.flatten().unwrap_or_default() {
            if let Place::Disk(place) = extent.place {
                deltas.push(Delta::Released { inode, place, length: extent.length });
            }
        }
        Ok(())
    }

    /// Moves what still lies at the record's old place to the new one; the rest of the range has
    /// changed meanwhile and stays.
    fn relocate(&mut self, relocate: &Relocate, deltas: &mut Vec<Delta>) -> Applied {
        let Relocate { inode, offset, length, from, to, .. } = *relocate;
        let Some(end) =
            offset.checked_add(length).filter(|_| to.checked_add(length).is_some_and(|end| end <= MOST_BYTES))
        else {
            return Err(Contradiction(format!("inode {}: {length} bytes moved from {offset}", inode.0)));
        };
        let Some(Content::File(file)) = self.inodes.get(inode).map(|node| &node.content) else {
            // Deleted while its content was being moved, or not known yet.
            return Ok(());
        };
        let still_there = |(at, extent): (u64, &Extent)| {
            let (start, stop) = (at.max(offset), (at + extent.length).min(end));
            let is_it = match extent.place {
                Place::Disk(place) => from != INLINE && from.checked_add(start - offset) == Some(place + (start - at)),
                Place::Inline(_) => from == INLINE,
            };
            is_it.then_some((start, stop))
        };
        let moved: Vec<(u64, u64)> = file.touching(offset, end).filter_map(still_there).collect();
        for (start, stop) in moved {
            self.put(inode, start, Extent::disk(stop - start, to + (start - offset)), deltas)?;
        }
        Ok(())
    }

    /// Drops the content of deleted inodes, and returns what that did to the disk.
    pub(crate) fn released_by_deletion(&mut self) -> Vec<Delta> {
        let mut deltas = Vec::new();
        for (inode, extents) in self.graveyard.drain(..) {
            for (_, extent) in extents.iter() {
                if let Place::Disk(place) = extent.place {
                    deltas.push(Delta::Released { inode, place, length: extent.length });
                }
            }
        }
        deltas
    }

    /// Deletes inodes that have no name and cannot be held any more, as after a crash.
    pub(crate) fn purge_nameless(&mut self) {
        let nameless: Vec<InodeId> =
            self.iter().filter(|(_, node)| node.attributes.links == 0).map(|(inode, _)| inode).collect();
        for inode in nameless {
            self.remove(inode);
        }
        self.graveyard.clear();
    }

    /// Whether `inode` is `directory` or one of its ancestors.
    pub(crate) fn is_above(&self, inode: InodeId, mut directory: InodeId) -> bool {
        for _ in 0..=self.inodes.len() {
            if directory == inode {
                return true;
            }
            match self.inodes.get(directory) {
                Some(node) if directory != InodeId::ROOT => directory = node.parent,
                _ => return false,
            }
        }
        // More levels than there are inodes: a cycle, which only a damaged disk can have.
        true
    }

    /// Changes an inode directly, for repairs.
    pub(crate) fn repair<T>(&mut self, inode: InodeId, change: impl FnOnce(&mut Inode) -> T) {
        let loading = std::mem::replace(&mut self.loading, true);
        let _unknown = self.edit(inode, change);
        self.loading = loading;
    }

    /// Removes an inode, to put it into another tree.
    pub(crate) fn take(&mut self, inode: InodeId) -> Option<Inode> {
        self.remove(inode)
    }

    /// Inserts an inode of another tree.
    pub(crate) fn plant(&mut self, inode: InodeId, node: Inode) {
        self.remove(inode);
        self.cost_bytes += node.cost_bytes();
        self.inline_bytes += node.inline_bytes();
        self.inodes.insert(inode, node);
    }

    /// Inserts a root directory with these names.
    pub(crate) fn plant_root(&mut self, root: &Node, names: Vec<(Vec<u8>, InodeId, InodeKind)>) {
        let mut node = Inode::new(root);
        node.attributes.links = 2 + names.iter().filter(|(_, _, kind)| *kind == InodeKind::Directory).count() as u32;
        if let Some(own) = node.names_mut() {
            own.fill(names.iter().map(|(name, inode, kind)| (&name[..], *inode, *kind)));
        }
        self.plant(InodeId::ROOT, node);
    }

    /// Gives inodes new numbers, which must be unique.
    pub(crate) fn renumber(&mut self, new: impl Fn(InodeId) -> InodeId) {
        for (inode, mut node) in std::mem::take(&mut self.inodes).into_nodes() {
            node.parent = new(node.parent);
            if let Some(names) = node.names_mut() {
                names.renumber(&new);
            }
            self.inodes.insert(new(inode), node);
        }
    }

    /// The root directory of a new file system.
    pub(crate) fn root(mode: u16, time: u64) -> Node {
        let attributes = inode::fresh(InodeKind::Directory, mode, time);
        Node { inode: InodeId::ROOT, attributes, parent: InodeId::ROOT, target: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
