//! Merges the domains' parts of the root directory when all domains are opened.

use std::collections::BTreeSet;
use std::rc::Rc;

use iolab_order::Gather;

use super::root::{Part, RootCopy};
use super::worker::Worker;
use crate::names::Occupied;
use crate::record::InodeId;
use crate::{Error, LogFs};

/// A name that two domains have: the domain whose inode is renamed, and the new name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Double {
    pub(crate) domain: u32,
    pub(crate) name: Vec<u8>,
    pub(crate) another: Vec<u8>,
}

/// Whether an intent refers to a name that still exists.
pub(crate) fn is_open(parts: &[Part], inode: InodeId, name: &[u8]) -> bool {
    let part = parts.get(inode.domain() as usize);
    part.is_some_and(|part| part.names.iter().any(|entry| entry.name == name && entry.inode == inode))
}

/// The root directory merged from the parts, and what has to be renamed for that. Intents are
/// treated as carried out.
pub(crate) fn unite(parts: &[Part]) -> (RootCopy, Vec<Double>) {
    let gone: BTreeSet<(InodeId, &[u8])> =
        parts.iter().flat_map(|part| &part.intents).map(|intent| (intent.inode, &intent.name[..])).gather();
    let all: BTreeSet<&[u8]> = parts.iter().flat_map(|part| &part.names).map(|entry| &entry.name[..]).gather();
    let (mut root, mut doubles) = (RootCopy::default(), Vec::new());
    for (part, domain) in parts.iter().zip(0..) {
        let left = |entry: &&crate::DirectoryEntry| !gone.contains(&(entry.inode, &entry.name[..]));
        for entry in part.names.iter().filter(left) {
            if root.claim(&entry.name, entry.inode, entry.kind) {
                continue;
            }
            let another = root.another(&entry.name, |name| !all.contains(name));
            root.claim(&another, entry.inode, entry.kind);
            doubles.push(Double { domain, name: entry.name.clone(), another });
        }
    }
    (root, doubles)
}

impl Worker {
    /// On the first core, when all domains are open: carries out what a crash, or opening a domain
    /// alone, has left undone, and returns the root directory.
    pub(super) async fn reconcile(self: &Rc<Self>) -> Result<RootCopy, Error> {
        let mut parts = Vec::new();
        for part in self.in_every_domain(async |fs: LogFs| Ok(fs.part())).await {
            parts.push(part?);
        }
        let (root, doubles) = unite(&parts);
        for (part, domain) in parts.iter().zip(0..) {
            for intent in &part.intents {
                let (inode, name) = (intent.inode, intent.name.clone());
                if is_open(&parts, inode, &name) {
                    let lose = async move |fs: LogFs| {
                        fs.lose_name(&name, inode).await?;
                        fs.sync().await
                    };
                    self.in_domain(inode.domain(), lose).await?;
                }
                let link = intent.link.clone();
                self.in_domain(domain, async move |fs: LogFs| fs.unlink(InodeId::ROOT, &link).await).await?;
            }
        }
        for Double { domain, name, another } in doubles {
            let rename = async move |fs: LogFs| {
                let spots = [(InodeId::ROOT, &name[..]), (InodeId::ROOT, &another[..])];
                fs.rename(spots[0], spots[1], Occupied::Refuse).await
            };
            self.in_domain(domain, rename).await?;
        }
        Ok(root)
    }
}
