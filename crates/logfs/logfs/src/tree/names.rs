//! The effects of records on names and link counts.

use super::{Applied, Contradiction, Tree};
use crate::name_rules::{HIDDEN, check_name};
use crate::record::{InodeId, InodeKind, Record, Rename, Spot};

impl Tree {
    pub(super) fn apply_name(&mut self, record: &Record) -> Applied {
        match record {
            Record::Create { spot, node } => {
                if self.get(node.inode).is_some() && !self.tolerant {
                    return Err(Contradiction(format!("inode {} is created twice", node.inode.0)));
                }
                self.insert(node);
                self.add_entry(spot, node.inode, node.attributes.kind, node.attributes.changed_ns)?;
                if node.attributes.kind == InodeKind::Directory { self.count(spot.directory, 1) } else { Ok(()) }
            }
            Record::Link { spot, inode, kind, time } => {
                self.add_entry(spot, *inode, *kind, *time)?;
                self.edit(*inode, |node| {
                    node.attributes.links = node.attributes.links.saturating_add(1);
                    node.attributes.changed_ns = *time;
                })
            }
            Record::Unlink { spot, inode, kind, time } => {
                self.remove_entry(spot, *inode, *time)?;
                if *kind == InodeKind::Directory {
                    self.count(spot.directory, -1)?;
                }
                self.lose_name(*inode, *kind, *time)
            }
            Record::Rename(rename) => self.rename(rename),
            _ => Err(Contradiction("a record of content where one of names belongs".to_owned())),
        }
    }

    fn rename(&mut self, rename: &Rename) -> Applied {
        let Rename { from, to, inode, kind, replaced, time } = rename;
        self.remove_entry(from, *inode, *time)?;
        if replaced.0 != 0 {
            self.remove_entry(to, *replaced, *time)?;
            self.lose_name(*replaced, *kind, *time)?;
            if *kind == InodeKind::Directory {
                self.count(to.directory, -1)?;
            }
        }
        self.add_entry(to, *inode, *kind, *time)?;
        if *kind == InodeKind::Directory {
            self.count(from.directory, -1)?;
            self.count(to.directory, 1)?;
        }
        self.edit(*inode, |node| {
            node.attributes.changed_ns = *time;
            if *kind == InodeKind::Directory {
                node.parent = to.directory;
            }
        })
    }

    fn add_entry(&mut self, spot: &Spot, inode: InodeId, kind: InodeKind, time: u64) -> Applied {
        self.look_at_name((spot.directory, &spot.name), kind);
        let added = self.edit_with(spot.directory, |node| {
            node.modified(time);
            node.names_mut().is_some_and(|names| names.insert(&spot.name, inode, kind).is_none())
        })?;
        if added == Some(false) && !self.tolerant { Err(at(spot, "is taken")) } else { Ok(()) }
    }

    /// Notes an invalid name. What to do about it is decided once everything has been read.
    pub(super) fn look_at_name(&mut self, (directory, name): (InodeId, &[u8]), kind: InodeKind) {
        if self.bad_name.is_none() && !is_name(directory, name, kind) {
            self.bad_name = Some(format!("inode {} has an entry {}", directory.0, shown(name)));
        }
    }

    fn remove_entry(&mut self, spot: &Spot, inode: InodeId, time: u64) -> Applied {
        let removed = self.edit_with(spot.directory, |node| {
            node.modified(time);
            node.names_mut().and_then(|names| names.remove(&spot.name))
        })?;
        match removed {
            Some(Some((found, _))) if found == inode => Ok(()),
            // The rest of the directory being described already includes this change.
            Some(None) if self.is_incomplete(spot.directory) => Ok(()),
            None => Ok(()),
            Some(None) if self.tolerant => Ok(()),
            Some(Some((found, kind))) if self.tolerant => {
                // The name now belongs to another inode: it stays.
                self.edit_with(spot.directory, |node| {
                    node.names_mut().map(|names| names.insert(&spot.name, found, kind))
                })
                .map(drop)
            }
            _ => Err(at(spot, "is not what is removed")),
        }
    }

    fn lose_name(&mut self, inode: InodeId, kind: InodeKind, time: u64) -> Applied {
        self.edit(inode, |node| {
            let links = &mut node.attributes.links;
            *links = if kind == InodeKind::Directory { 0 } else { links.saturating_sub(1) };
            node.attributes.changed_ns = time;
        })
    }

    /// Adds to a directory's links, which count its subdirectories.
    fn count(&mut self, directory: InodeId, by: i32) -> Applied {
        self.edit(directory, |node| {
            node.attributes.links = node.attributes.links.saturating_add_signed(by);
        })
    }
}

/// Whether an entry is valid in a directory: a normal name, or in the root directory the hidden
/// name of an intent.
pub(crate) fn is_name(directory: InodeId, name: &[u8], kind: InodeKind) -> bool {
    let is_intent = || {
        let number = name.strip_prefix(&[HIDDEN]).filter(|number| !number.is_empty());
        let is_number = number.is_some_and(|number| number.iter().all(u8::is_ascii_digit));
        is_number && directory == InodeId::ROOT && kind == InodeKind::Symlink
    };
    check_name(name).is_ok() || is_intent()
}

/// A name as shown to people, the empty one included.
pub(crate) fn shown(name: &[u8]) -> String {
    format!("\"{}\"", name.escape_ascii())
}

fn at(spot: &Spot, what: &str) -> Contradiction {
    Contradiction(format!("inode {}: the name {} {what}", spot.directory.0, spot.name.escape_ascii()))
}
