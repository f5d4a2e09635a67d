//! Invariants across domains. That no cluster has two owners needs no check here: the owner map
//! cannot express it, and each domain is checked to have its content in its own clusters.

use std::collections::BTreeMap;

use super::{Inconsistency, InconsistencyKind};
use crate::domains::{Double, part_of, unite};
use crate::record::{InodeId, Record, Rename, Spot};
use crate::recovery::Loaded;

/// Checks that every inode except the root has a number of its own domain.
pub(super) fn foreign_numbers(loaded: &mut Loaded) -> Vec<Inconsistency> {
    let domain = loaded.layout.domain;
    let is_own =
        |inode: InodeId| inode == InodeId::ROOT || (inode.domain() == domain && inode > InodeId::first(domain));
    let (own, foreign): (Vec<InodeId>, Vec<InodeId>) =
        loaded.tree.iter().map(|(inode, _)| inode).partition(|inode| is_own(*inode));
    let first = InodeId::first(domain).0;
    if InodeId(loaded.tree.serial).domain() != domain || !foreign.is_empty() {
        let highest = own.iter().map(|inode| inode.0).filter(|number| *number > first).max();
        loaded.tree.serial = highest.unwrap_or(first);
    }
    let mut numbers = BTreeMap::new();
    let mut faults = Vec::new();
    for inode in foreign {
        loaded.tree.serial += 1;
        numbers.insert(inode, InodeId(loaded.tree.serial));
        let what = format!("inode {} is in domain {domain}", inode.0);
        faults.push(Inconsistency { kind: InconsistencyKind::ForeignNumber, what });
    }
    if !numbers.is_empty() {
        loaded.tree.renumber(|inode| numbers.get(&inode).copied().unwrap_or(inode));
    }
    faults
}

/// Checks that each top-level name is in one domain only, with intents treated as carried out.
pub(super) fn double_names(domains: &mut [Loaded]) -> Vec<Inconsistency> {
    let parts: Vec<_> = domains.iter().map(|loaded| part_of(&loaded.tree)).collect();
    let (_, doubles) = unite(&parts);
    let mut faults = Vec::new();
    for Double { domain, name, another } in doubles {
        let tree = &mut domains[domain as usize].tree;
        let names = tree.get(InodeId::ROOT).and_then(|root| root.names());
        let Some((inode, kind)) = names.and_then(|names| names.get(&name)) else { continue };
        let what = format!("{} of domain {domain} is in another domain too", name.escape_ascii());
        faults.push(Inconsistency { kind: InconsistencyKind::DoubleName, what });
        let spot = |name| Spot { directory: InodeId::ROOT, name };
        let (from, to) = (spot(name), spot(another));
        let rename = Rename { from, to, inode, kind, replaced: InodeId(0), time: 0 };
        // This cannot fail: the old name was just found, and the new one is free in all domains.
        let _renamed = tree.apply(&Record::Rename(Box::new(rename)), &mut Vec::new());
    }
    faults
}
