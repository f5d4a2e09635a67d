//! Changes the number of domains of a file system that is not open. Inodes and clusters change
//! their owners; content stays where it is.
//!
//! ```text
//!  load all domains ─▶ groups: what must stay together ─▶ shares: owners of clusters ─▶ trees of the new domains
//!        new logs, anchors and owner map into unused places ─▶ flush ─▶ bootstrap record ─▶ flush ─▶ its copy
//! ```
//!
//! Nothing of the old generation is touched until the one block with the bootstrap record names the
//! new one. After every single write, either the old or the new number of domains is valid, with
//! all files. If the change is impossible, nothing is written.

mod groups;
mod shares;
mod transplant;

use std::rc::Rc;

use iolab_disk::Buffer;

use super::owners::{read_owners, write_owners};
use super::part::part_of;
use super::reconcile::{Double, is_open, unite};
use crate::checkpoint::fresh::FreshPlace;
use crate::clusters::{ClusterTable, Role};
use crate::record::{InodeId, Record, Rename, Spot};
use crate::recovery::{Loaded, OnLoss, claim_clusters, load, read_layout};
use crate::sums::Sums;
use crate::tree::Tree;
use crate::{Disk, Error, Layout, checkpoint};
use groups::Groups;
use shares::Shares;

/// The result of changing the number of domains of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resized {
    /// Number of domains before.
    pub before: u32,
    /// Number of domains after.
    pub after: u32,
    /// Inodes, the root directory counted once.
    pub inodes: u64,
    /// Inodes that now belong to another domain, under a new number.
    pub moved_inodes: u64,
    /// Clusters that now belong to another domain.
    pub moved_clusters: u64,
}

/// Changes the number of domains; the file system must not be open. Moves top-level files and
/// directories, with everything below them, between domains to balance these. Those whose content
/// shares a cluster stay together, because nothing is copied.
///
/// # Errors
/// [`Error::Unusable`] for an impossible number, [`Error::NoSpace`] when there is no room for the
/// new logs or a domain's reserves, [`Error::Corrupt`] for a file system in which fsck finds
/// faults, [`Error::Device`]. The file system is then unchanged.
pub async fn resize_cores(disk: &Disk, domains: u32) -> Result<Resized, Error> {
    let (old, _) = read_layout(disk).await?;
    let (owners, _) = read_owners(disk, &old).await?;
    let owners = Rc::new(owners);
    finish(disk, &old).await?;
    let goal = Layout { domains, ..old };
    if let Some(objection) = goal.objection() {
        return Err(Error::Unusable(objection));
    }
    // From now on there is an owner map, even for one domain: the generation has to be recorded.
    if old.cluster_bytes / old.block_bytes < 8 {
        return Err(Error::Unusable("clusters of so few blocks have no room for an owner map".to_owned()));
    }
    let mut loaded = Vec::new();
    let mut tables = Vec::new();
    for domain in 0..old.domains {
        loaded.push(load(disk, old, Rc::clone(&owners), domain, OnLoss::Refuse).await?);
    }
    settle_names(&mut loaded)?;
    for domain in &loaded {
        tables.push(claim_clusters(domain)?.0);
    }
    let groups = Groups::find(&loaded, domains)?;
    let shares = Shares::plan(&old, domains, &tables, &owners, &groups)?;
    let mut sums = Sums::new(&old);
    for domain in &mut loaded {
        groups.clusters.keys().for_each(|cluster| sums.take_from(&mut domain.sums, *cluster));
    }
    let plan = transplant::transplant(loaded, &groups, domains);
    let new = Layout {
        domains,
        generation: old.generation + 1,
        map_runs: shares.owners.runs(),
        map_checksum: shares.owners.checksum(),
        owned: (old.clusters - 2) / domains,
        ..old.current()
    };
    write_domains(disk, &new, &shares, (&plan, sums)).await?;
    switch(disk, &new).await?;
    let moved = (1..old.clusters - 1).filter(|cluster| owners.owner(*cluster) != shares.owners.owner(*cluster));
    Ok(Resized {
        before: old.domains,
        after: domains,
        inodes: plan.trees.iter().map(|tree| tree.len() as u64 - 1).sum::<u64>() + 1,
        moved_inodes: plan.moved_inodes,
        moved_clusters: moved.count() as u64,
    })
}

/// Settles intents and duplicate names in memory, as opening does.
fn settle_names(loaded: &mut [Loaded]) -> Result<(), Error> {
    let parts: Vec<_> = loaded.iter().map(|domain| part_of(&domain.tree)).collect();
    let (_, doubles) = unite(&parts);
    for (part, domain) in parts.iter().zip(0_usize..) {
        for intent in &part.intents {
            if is_open(&parts, intent.inode, &intent.name) {
                unlink(&mut loaded[intent.inode.domain() as usize].tree, &intent.name)?;
            }
            unlink(&mut loaded[domain].tree, &intent.link)?;
        }
    }
    for Double { domain, name, another } in doubles {
        let tree = &mut loaded[domain as usize].tree;
        let Some((inode, kind)) = top(tree, &name) else { continue };
        let spot = |name| Spot { directory: InodeId::ROOT, name };
        let rename = Rename { from: spot(name), to: spot(another), inode, kind, replaced: InodeId(0), time: 0 };
        apply(tree, &Record::Rename(Box::new(rename)))?;
    }
    for domain in loaded {
        domain.tree.purge_nameless();
    }
    Ok(())
}

fn top(tree: &Tree, name: &[u8]) -> Option<(InodeId, crate::InodeKind)> {
    tree.get(InodeId::ROOT).and_then(|root| root.names()).and_then(|names| names.get(name))
}

fn unlink(tree: &mut Tree, name: &[u8]) -> Result<(), Error> {
    let Some((inode, kind)) = top(tree, name) else { return Ok(()) };
    let time = tree.get(InodeId::ROOT).map_or(0, |root| root.attributes.changed_ns);
    let spot = Spot { directory: InodeId::ROOT, name: name.to_vec() };
    apply(tree, &Record::Unlink { spot, inode, kind, time })
}

fn apply(tree: &mut Tree, record: &Record) -> Result<(), Error> {
    tree.apply(record, &mut Vec::new()).map_err(|contradiction| Error::Corrupt(contradiction.0))
}

/// Writes everything that the new generation needs, except the bootstrap record.
async fn write_domains(
    disk: &Disk,
    new: &Layout,
    shares: &Shares,
    (plan, mut sums): (&transplant::Plan, Sums),
) -> Result<(), Error> {
    for (tree, domain) in plan.trees.iter().zip(0..) {
        let layout = new.of_domain(domain, shares.owners.of(domain).count() as u32);
        let mut clusters = ClusterTable::new(&layout, &shares.for_logs);
        let (Some(first), Some(spare)) = (clusters.allocate(Role::Log), clusters.allocate(Role::Log)) else {
            return Err(Error::NoSpace);
        };
        let mut own = Sums::new(&layout);
        shares.owners.of(domain).for_each(|cluster| own.take_from(&mut sums, cluster));
        let place = FreshPlace { first, spare, epoch: plan.epoch };
        let anchor = checkpoint::fresh::write(disk, &layout, tree, &own, &mut clusters, place).await?;
        for place in anchor.places_in_turn(&layout) {
            disk.write(place, Buffer::padded(&anchor.encode(&layout), layout.block_bytes as usize)).await?;
        }
    }
    write_owners(disk, new, &shares.owners).await?;
    Ok(disk.flush().await.map(drop)?)
}

/// Makes the new generation valid, by writing its bootstrap record.
async fn switch(disk: &Disk, new: &Layout) -> Result<(), Error> {
    for place in new.bootstrap_places() {
        disk.write(place, Buffer::padded(&new.encode(), new.block_bytes as usize)).await?;
        disk.flush().await?;
    }
    Ok(())
}

/// Updates the copy of the bootstrap record if a crash left it at the previous generation. Must be
/// called before anything of this generation changes: the copy must never lead to overwritten data.
pub(crate) async fn finish(disk: &Disk, layout: &Layout) -> Result<(), Error> {
    let [_, copy] = layout.bootstrap_places();
    let block = layout.block_bytes as usize;
    if layout.generation == 0 {
        return Ok(());
    }
    let found = disk.read(copy, block).await?;
    if Layout::decode(&found).is_ok_and(|found| found.precedes(layout)) {
        disk.write(copy, Buffer::padded(&layout.of_domain(0, 0).encode(), block)).await?;
        disk.flush().await?;
    }
    Ok(())
}
