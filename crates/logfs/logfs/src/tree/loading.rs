//! Applies the records of checkpoints. An inode is described in parts, and changes of it may lie
//! between them: a part says what its range of names or offsets holds at that point of the log,
//! whatever earlier changes did.

use super::names::is_name;
use super::{Applied, Contradiction, Delta, Tree};
use crate::bytes::Take;
use crate::extents::Extent;
use crate::record::{InodeId, InodeKind, take_entry, take_inode, take_stretch};

/// Codes of the checkpoint records that are applied without being decoded into a `Record`: all
/// except nodes.
pub(crate) const ENTRIES: u8 = 0x04;
pub(crate) const EXTENTS: u8 = 0x05;

impl Tree {
    /// Whether more parts of an inode may follow.
    pub(super) fn is_incomplete(&self, inode: InodeId) -> bool {
        self.loading && self.incomplete == Some(inode)
    }

    /// Applies the encoded body of a record of entries or extents; returns `None` when it is
    /// invalid.
    pub(crate) fn load(&mut self, code: u8, body: &[u8], deltas: &mut Vec<Delta>) -> Option<Applied> {
        let mut take = Take(body);
        let inode = take_inode(&mut take)?;
        match code {
            ENTRIES => {
                let mut check = take;
                while !check.0.is_empty() {
                    take_entry(&mut check)?;
                }
                Some(self.load_entries(inode, std::iter::from_fn(|| take_entry(&mut take))))
            }
            _ => {
                while !take.0.is_empty() {
                    let stretch = take_stretch(&mut take)?;
                    let extent = Extent::disk(stretch.length, stretch.place);
                    if let Err(contradiction) = self.put(inode, stretch.offset, extent, deltas) {
                        return Some(Err(contradiction));
                    }
                }
                Some(Ok(()))
            }
        }
    }

    /// Adds entries of a directory; some may already be known from earlier changes.
    pub(super) fn load_entries<'a>(
        &mut self,
        directory: InodeId,
        entries: impl Iterator<Item = (&'a [u8], InodeId, InodeKind)>,
    ) -> Applied {
        let mut bad = None;
        let mut entries = entries.inspect(|(name, _, kind)| {
            if bad.is_none() && !is_name(directory, name, *kind) {
                bad = Some((name.to_vec(), *kind));
            }
        });
        let loaded = self.edit_with(directory, |node| {
            let names = node.names_mut()?;
            if names.is_empty() {
                return Some(names.fill(&mut entries));
            }
            Some(entries.all(|(name, inode, kind)| {
                let before = names.insert(name, inode, kind);
                before.is_none_or(|before| before == (inode, kind))
            }))
        })?;
        if let Some((name, kind)) = bad {
            self.look_at_name((directory, &name), kind);
        }
        match loaded {
            None | Some(Some(true)) => Ok(()),
            Some(_) => Err(Contradiction(format!("inode {}: an impossible entry", directory.0))),
        }
    }
}
