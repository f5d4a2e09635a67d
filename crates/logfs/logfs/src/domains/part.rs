//! A domain's part of the root directory, and those changes of it that need an intent.

use super::root::{Intent, Part};
use crate::name_rules::HIDDEN;
use crate::names::Occupied;
use crate::record::{InodeId, InodeKind, Node, Record, Spot};
use crate::space::Need;
use crate::tree::{Content, Tree};
use crate::{Error, LogFs};

/// The part of a domain, taken from its tree.
pub(crate) fn part_of(tree: &Tree) -> Part {
    let mut part = Part::default();
    let names = tree.get(InodeId::ROOT).and_then(|root| root.names());
    for (name, inode, kind) in names.into_iter().flat_map(|names| names.iter()) {
        if name.first() != Some(&HIDDEN) {
            part.names.push(crate::names::DirectoryEntry { name: name.to_vec(), inode, kind });
            continue;
        }
        let Some(Content::Symlink(target)) = tree.get(inode).map(|node| &node.content) else { continue };
        part.intents.extend(Intent::decode(name, target));
    }
    part
}

impl LogFs {
    pub(super) fn part(&self) -> Part {
        part_of(&self.0.state.borrow().tree)
    }

    /// Renames `from` to the top-level name of an inode of another domain. This is one group,
    /// durable on return, which holds the intent to remove the other name. Returns the intent and
    /// the inode that has the name now.
    pub(super) async fn rename_over(
        &self,
        from: (InodeId, &[u8]),
        name: &[u8],
        replaced: InodeId,
    ) -> Result<(Intent, InodeId, InodeKind), Error> {
        let spots = [from, (InodeId::ROOT, name)];
        let _held = self.lock_names(&spots).await;
        self.0.admit(|_| Need::Clusters(0)).await?;
        let entry = self.lookup(from.0, from.1)?;
        if entry.kind == InodeKind::Directory {
            return Err(Error::CrossDomain);
        }
        let (intent, ticket) = {
            let Some(mut records) = self.plan_rename(from, spots[1], Occupied::Refuse)? else {
                return Err(Error::Invalid("a rename over another domain's name that is no rename"));
            };
            let mut state = self.0.state.borrow_mut();
            state.tree.serial += 1;
            let serial = state.tree.serial;
            drop(state);
            let link = format!("{}{serial}", char::from(HIDDEN)).into_bytes();
            let intent = Intent { link: link.clone(), inode: replaced, name: name.to_vec() };
            let fresh = Tree::root(0o600, self.0.now());
            let attributes = crate::Attributes { kind: InodeKind::Symlink, links: 1, ..fresh.attributes };
            let node = Node { inode: InodeId(serial), attributes, parent: InodeId(0), target: intent.encode() };
            records.push(Record::Create { spot: Spot { directory: InodeId::ROOT, name: link }, node });
            (intent, self.0.commit(&records)?)
        };
        self.0.sync_to(ticket).await?;
        Ok((intent, entry.inode, entry.kind))
    }

    /// Takes the name from an inode; does nothing if the inode does not have it.
    pub(super) async fn lose_name(&self, name: &[u8], inode: InodeId) -> Result<(), Error> {
        match self.lookup(InodeId::ROOT, name) {
            Ok(entry) if entry.inode == inode && entry.kind != InodeKind::Directory => {
                self.unlink(InodeId::ROOT, name).await
            }
            _ => Ok(()),
        }
    }
}
