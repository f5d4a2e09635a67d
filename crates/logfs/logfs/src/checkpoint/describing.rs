//! Encodes inodes as the records of a checkpoint, a bounded number of bytes at a time; a long inode
//! continues in the next group.
//!
//! What a group says of a range of names or offsets is true at the moment when the group is made.
//! Changes before and after it are in the log as records of their own; [`crate::tree`] describes
//! how a reader combines the two.

use crate::bytes::Put;
use crate::extents::{Extent, Place};
use crate::record::{InodeId, Record, Stretch, put_entry, put_stretch, with_head};
use crate::tree::{Content, ENTRIES, EXTENTS, Inode, Tree};

/// How far a record may exceed the requested length: a name and its entry.
const LAST_ENTRY_BYTES: usize = 280;
const STRETCH_BYTES: usize = 24;

/// Progress of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    /// The inode to describe or continue next; `None` after the last one.
    inode: Option<InodeId>,
    at: At,
    /// Number of inodes described.
    pub(super) inodes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum At {
    Start,
    /// Names up to this one are described.
    Name(Vec<u8>),
    /// Offsets below this one are described.
    Offset(u64),
}

impl Cursor {
    pub(super) fn new() -> Cursor {
        Cursor { inode: Some(InodeId(0)), at: At::Start, inodes: 0 }
    }

    /// Describes the next inodes, up to `highest`, in about `most_bytes`. Returns nothing when none
    /// is left.
    pub(super) fn describe(&mut self, tree: &Tree, highest: InodeId, most_bytes: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(most_bytes + most_bytes / 4);
        let Some(from) = self.inode.take() else { return out };
        for (inode, node) in tree.iter_from(from) {
            // All records of an inode created since the checkpoint began follow its beginning in
            // the log.
            if inode > highest {
                break;
            }
            // If another number comes, the inode to be continued has been deleted.
            let at = if inode == from { std::mem::replace(&mut self.at, At::Start) } else { At::Start };
            let is_first = at == At::Start;
            if is_first && out.len() >= most_bytes / 2 && node.cost_bytes() as usize > most_bytes / 2 {
                // A long inode begins a group of its own.
                (self.inode, self.at) = (Some(inode), At::Start);
                return out;
            }
            if is_first {
                Record::Node(node.node(inode)).encode(&mut out);
                // They need no splitting: the total size of an inode's attributes is limited.
                for (name, value) in node.extended.iter() {
                    Record::Extended { inode, name: name.to_vec(), value: value.to_vec() }.encode(&mut out);
                }
                self.inodes += 1;
            }
            if let Some(at) = content(inode, node, at, &mut out, most_bytes) {
                (self.inode, self.at) = (Some(inode), at);
                return out;
            }
            if out.len() >= most_bytes {
                (self.inode, self.at) = (inode.0.checked_add(1).map(InodeId), At::Start);
                return out;
            }
        }
        self.at = At::Start;
        out
    }
}

/// Describes content from `at` on; returns where to continue if there is more.
fn content(inode: InodeId, node: &Inode, at: At, out: &mut Vec<u8>, most_bytes: usize) -> Option<At> {
    match (&node.content, at) {
        (Content::Symlink(_) | Content::Special(_), _) => None,
        (Content::Directory(names), at) => {
            let after = if let At::Name(name) = at { name } else { Vec::new() };
            let mut rest = names.after(&after).peekable();
            rest.peek()?;
            let last = with_head(out, ENTRIES, |out| {
                out.put_u64(inode.0);
                let mut last = Vec::new();
                while let Some((name, named, kind)) = rest.next_if(|_| out.len() + LAST_ENTRY_BYTES < most_bytes) {
                    put_entry(out, (name, named, kind));
                    last.clear();
                    last.extend_from_slice(name);
                }
                last
            });
            let is_more = rest.peek().is_some();
            // Nothing fitted: continue at the same place in the next group.
            let last = if last.is_empty() { after.clone() } else { last };
            is_more.then_some(At::Name(last))
        }
        (Content::File(extents), at) => {
            let from = if let At::Offset(offset) = at { offset } else { 0 };
            let parts = extents.touching(from, u64::MAX).map(|part| clip(part, from));
            file(inode, parts, out, most_bytes)
        }
    }
}

/// The part of an extent from `from` on: its offset, its length, and how many bytes were skipped.
fn clip((offset, extent): (u64, &Extent), from: u64) -> (u64, u64, u64, &Place) {
    let skipped = from.saturating_sub(offset).min(extent.length);
    (offset + skipped, extent.length - skipped, skipped, &extent.place)
}

fn file<'a>(
    inode: InodeId,
    parts: impl Iterator<Item = (u64, u64, u64, &'a Place)>,
    out: &mut Vec<u8>,
    most_bytes: usize,
) -> Option<At> {
    let mut parts = parts.filter(|(_, length, ..)| *length > 0).peekable();
    while let Some((offset, length, skipped, place)) = parts.peek().copied() {
        let room = most_bytes.saturating_sub(out.len());
        if room < 2 * STRETCH_BYTES {
            return Some(At::Offset(offset));
        }
        match place {
            Place::Disk(_) => with_head(out, EXTENTS, |out| {
                out.put_u64(inode.0);
                let fits = |part: &(u64, u64, u64, &Place), out: &Vec<u8>| {
                    matches!(part.3, Place::Disk(_)) && out.len() + STRETCH_BYTES <= most_bytes
                };
                while let Some((offset, length, skipped, place)) = parts.next_if(|part| fits(part, out)) {
                    let Place::Disk(place) = place else { break };
                    put_stretch(out, &Stretch { offset, length, place: place + skipped });
                }
            }),
            Place::Inline(bytes) => {
                let bytes = &bytes[skipped as usize..];
                let fitting = bytes.len().min(room);
                let content = bytes[..fitting].to_vec();
                Record::Inline { inode, offset, content }.encode(out);
                if (fitting as u64) < length {
                    return Some(At::Offset(offset + fitting as u64));
                }
                parts.next();
            }
        }
    }
    None
}
