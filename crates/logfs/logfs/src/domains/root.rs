//! The root directory of several domains: a core's copy of it, and the parts that it is made of.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use crate::names::DirectoryEntry;
use crate::record::{InodeId, InodeKind};

/// All top-level names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RootCopy(BTreeMap<Vec<u8>, (InodeId, InodeKind)>);

/// A change of a top-level name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// The name now leads to this inode, whether or not it existed.
    Leads(Vec<u8>, InodeId, InodeKind),
    Gone(Vec<u8>),
}

impl RootCopy {
    pub(super) fn apply(&mut self, changes: Vec<Change>) {
        for change in changes {
            match change {
                Change::Leads(name, inode, kind) => drop(self.0.insert(name, (inode, kind))),
                Change::Gone(name) => drop(self.0.remove(&name)),
            }
        }
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<(InodeId, InodeKind)> {
        self.0.get(name).copied()
    }

    /// Up to `most` entries after a name.
    pub(super) fn after(&self, name: &[u8], most: usize) -> Vec<DirectoryEntry> {
        let behind = self.0.range::<[u8], _>((Excluded(name), Unbounded)).take(most);
        behind.map(|(name, (inode, kind))| DirectoryEntry { name: name.clone(), inode: *inode, kind: *kind }).collect()
    }

    /// Adds a name of a part; returns false when another part has it.
    pub(super) fn claim(&mut self, name: &[u8], inode: InodeId, kind: InodeKind) -> bool {
        let is_free = !self.0.contains_key(name);
        if is_free {
            self.0.insert(name.to_vec(), (inode, kind));
        }
        is_free
    }

    /// Makes an unused name from one that is taken: appends a suffix, and cuts the name if it
    /// becomes too long.
    pub(super) fn another(&self, name: &[u8], is_free: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let endings = (1_u64..).map(|number| format!(".~{number}"));
        let mut names = endings.map(|ending| {
            let kept = name.len().min(crate::name_rules::NAME_BYTES - ending.len());
            [&name[..kept], ending.as_bytes()].concat()
        });
        names.find(|name| !self.0.contains_key(name) && is_free(name)).unwrap_or_default()
    }
}

/// One domain's record that a name of another domain has to go (docs/logfs/format.md, "The root
/// directory of several domains").
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Intent {
    /// The hidden symbolic link that stores the intent.
    pub(crate) link: Vec<u8>,
    /// The inode that loses the name.
    pub(crate) inode: InodeId,
    pub(crate) name: Vec<u8>,
}

impl Intent {
    pub(crate) fn encode(&self) -> Vec<u8> {
        [&self.inode.0.to_le_bytes()[..], &self.name].concat()
    }

    pub(crate) fn decode(link: &[u8], target: &[u8]) -> Option<Intent> {
        let (inode, name) = target.split_at_checked(8)?;
        let inode = InodeId(u64::from_le_bytes(inode.try_into().ok()?));
        Some(Intent { link: link.to_vec(), inode, name: name.to_vec() })
    }
}

/// A domain's part of the root directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) names: Vec<DirectoryEntry>,
    pub(crate) intents: Vec<Intent>,
}
