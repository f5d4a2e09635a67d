//! One inode in memory.

use std::collections::BTreeMap;

use super::extended::Extended;
use crate::extents::ExtentMap;
use crate::record::{Attributes, InodeId, InodeKind, Node};

/// Most bytes of a node in a checkpoint, without its target.
const NODE_BYTES: u64 = 96;
/// Bytes of an extent in a checkpoint, with its share of the record around it.
const EXTENT_BYTES: u64 = 32;

#[derive(Debug)]
pub(crate) struct Inode {
    pub(crate) attributes: Attributes,
    pub(crate) parent: InodeId,
    pub(crate) content: Content,
    pub(crate) extended: Extended,
    /// Open handles.
    pub(crate) holders: u32,
    /// Whether it was made without a name, and may still get its first one (`O_TMPFILE`).
    pub(crate) may_be_named: bool,
    /// Whether it is in the queue of files whose small content may be moved to the disk.
    pub(crate) in_queue: bool,
    /// Offset where that continues next.
    pub(crate) queue_from: u64,
    /// Ticket of the last change that `fsync` waits for.
    pub(crate) changed_at: u64,
    /// Ticket of the last change that `fdatasync` waits for.
    pub(crate) content_at: u64,
}

#[derive(Debug)]
pub(crate) enum Content {
    File(ExtentMap),
    Directory(Names),
    Symlink(Vec<u8>),
    /// The number of a device; 0 for pipes and sockets.
    Special(u32),
}

/// The entries of a directory, in byte order.
#[derive(Debug, Default)]
pub(crate) struct Names {
    map: BTreeMap<Box<[u8]>, (InodeId, InodeKind)>,
    bytes: u64,
}

impl Names {
    pub(crate) fn get(&self, name: &[u8]) -> Option<(InodeId, InodeKind)> {
        self.map.get(name).copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], InodeId, InodeKind)> {
        self.map.iter().map(|(name, (inode, kind))| (&name[..], *inode, *kind))
    }

    /// The entries after `name`; all for the empty name.
    pub(crate) fn after(&self, name: &[u8]) -> impl Iterator<Item = (&[u8], InodeId, InodeKind)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let range = self.map.range::<[u8], _>((Excluded(name), Unbounded));
        range.map(|(name, (inode, kind))| (&name[..], *inode, *kind))
    }

    pub(crate) fn insert(&mut self, name: &[u8], inode: InodeId, kind: InodeKind) -> Option<(InodeId, InodeKind)> {
        let replaced = self.map.insert(name.into(), (inode, kind));
        if replaced.is_none() {
            self.bytes += 10 + name.len() as u64;
        }
        replaced
    }

    /// Fills an empty directory at once; quick when the names are sorted. Returns false when a name
    /// occurs twice.
    pub(crate) fn fill<'a>(&mut self, entries: impl Iterator<Item = (&'a [u8], InodeId, InodeKind)>) -> bool {
        let mut count = 0;
        let counted = entries.inspect(|_| count += 1);
        self.map = counted.map(|(name, inode, kind)| (name.into(), (inode, kind))).collect();
        self.bytes = self.map.keys().map(|name| 10 + name.len() as u64).sum();
        self.map.len() == count
    }

    pub(crate) fn remove(&mut self, name: &[u8]) -> Option<(InodeId, InodeKind)> {
        let removed = self.map.remove(name)?;
        self.bytes -= 10 + name.len() as u64;
        Some(removed)
    }
}

impl Names {
    pub(super) fn renumber(&mut self, new: impl Fn(InodeId) -> InodeId) {
        self.map.values_mut().for_each(|(inode, _)| *inode = new(*inode));
    }
}

/// Attributes of a new inode that belongs to root.
pub(crate) fn fresh(kind: InodeKind, mode: u16, time: u64) -> Attributes {
    Attributes {
        kind,
        mode,
        uid: 0,
        gid: 0,
        links: if kind == InodeKind::Directory { 2 } else { 1 },
        size: 0,
        accessed_ns: time,
        modified_ns: time,
        changed_ns: time,
        born_ns: time,
    }
}

impl Inode {
    pub(crate) fn new(node: &Node) -> Inode {
        let content = match node.attributes.kind {
            InodeKind::File => Content::File(ExtentMap::default()),
            InodeKind::Directory => Content::Directory(Names::default()),
            InodeKind::Symlink => Content::Symlink(node.target.clone()),
            _ => Content::Special(node.target.first_chunk().map_or(0, |number| u32::from_le_bytes(*number))),
        };
        Inode {
            attributes: node.attributes,
            parent: node.parent,
            content,
            extended: Extended::default(),
            holders: 0,
            may_be_named: false,
            in_queue: false,
            queue_from: 0,
            changed_at: 0,
            content_at: 0,
        }
    }

    pub(crate) fn node(&self, inode: InodeId) -> Node {
        let target = match &self.content {
            Content::Symlink(target) => target.clone(),
            Content::Special(number) => number.to_le_bytes().to_vec(),
            _ => Vec::new(),
        };
        Node { inode, attributes: self.attributes, parent: self.parent, target }
    }

    /// As `stat` shows them.
    pub(crate) fn shown(&self) -> Attributes {
        let size = match &self.content {
            Content::File(_) => self.attributes.size,
            Content::Directory(names) => names.len() as u64,
            Content::Symlink(target) => target.len() as u64,
            Content::Special(_) => 0,
        };
        Attributes { size, ..self.attributes }
    }

    pub(crate) fn file(&self) -> Option<&ExtentMap> {
        if let Content::File(extents) = &self.content { Some(extents) } else { None }
    }

    pub(crate) fn file_mut(&mut self) -> Option<&mut ExtentMap> {
        if let Content::File(extents) = &mut self.content { Some(extents) } else { None }
    }

    pub(crate) fn names(&self) -> Option<&Names> {
        if let Content::Directory(names) = &self.content { Some(names) } else { None }
    }

    pub(crate) fn names_mut(&mut self) -> Option<&mut Names> {
        if let Content::Directory(names) = &mut self.content { Some(names) } else { None }
    }

    pub(crate) fn modified(&mut self, time: u64) {
        self.attributes.modified_ns = time;
        self.attributes.changed_ns = time;
    }

    pub(crate) fn inline_bytes(&self) -> u64 {
        self.file().map_or(0, ExtentMap::inline_bytes)
    }

    /// Upper estimate of its bytes in a checkpoint.
    pub(crate) fn cost_bytes(&self) -> u64 {
        NODE_BYTES
            + self.extended.cost_bytes()
            + match &self.content {
                Content::File(extents) => extents.len() as u64 * EXTENT_BYTES + extents.inline_bytes(),
                Content::Directory(names) => names.bytes + names.bytes / 256,
                Content::Symlink(target) => target.len() as u64,
                Content::Special(_) => 4,
            }
    }
}
