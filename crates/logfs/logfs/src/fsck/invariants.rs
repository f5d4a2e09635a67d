//! The invariants of a loaded file system. Each step finds violations of one and repairs them in
//! memory.

use std::collections::{BTreeMap, BTreeSet};

use super::{Inconsistency, InconsistencyKind};
use crate::clusters::ClusterTable;
use crate::extents::Place;
use crate::name_rules::NAME_BYTES;
use crate::record::{InodeId, InodeKind, Node, Record, Spot, Stretch};
use crate::recovery::Loaded;
use crate::tree::{Tree, is_name, shown};

/// The directory for inodes without a name.
const LOST_AND_FOUND: &[u8] = b"lost+found";

/// Repairs everything in memory and returns the faults found.
pub(super) fn mend(loaded: &mut Loaded) -> Vec<Inconsistency> {
    let mut faults = root(&mut loaded.tree);
    faults.extend(impossible_names(&mut loaded.tree));
    faults.extend(bad_names(&mut loaded.tree));
    faults.extend(nameless(&mut loaded.tree));
    faults.extend(parents(&mut loaded.tree));
    faults.extend(link_counts(&mut loaded.tree));
    faults.extend(beyond_end(&mut loaded.tree));
    faults.extend(overlaps(loaded));
    faults
}

fn fault(kind: InconsistencyKind, what: String) -> Inconsistency {
    Inconsistency { kind, what }
}

/// There is a root, and it is a directory. All other checks start there.
fn root(tree: &mut Tree) -> Vec<Inconsistency> {
    let found = tree.get(InodeId::ROOT).map(|node| node.attributes.kind);
    if found == Some(InodeKind::Directory) {
        return Vec::new();
    }
    // This cannot fail: a node replaces whatever the inode was before.
    let _made = tree.apply(&Record::Node(Tree::root(0o755, 0)), &mut Vec::new());
    let was = found.map_or_else(|| "is missing".to_owned(), |_| "is not a directory".to_owned());
    vec![fault(InconsistencyKind::Root, format!("inode {}, the root directory, {was}", InodeId::ROOT.0))]
}

/// Names are valid: a reader of this disk may pass them to a system to which `..` and `/` mean
/// something else.
fn impossible_names(tree: &mut Tree) -> Vec<Inconsistency> {
    let mut bad: Vec<(InodeId, Vec<u8>)> = Vec::new();
    for (directory, node) in tree.iter() {
        let names = node.names().into_iter().flat_map(|names| names.iter());
        let is_bad = |(name, _, kind): &(&[u8], InodeId, InodeKind)| !is_name(directory, name, *kind);
        bad.extend(names.filter(is_bad).map(|(name, ..)| (directory, name.to_vec())));
    }
    let rename = |(directory, name): (InodeId, Vec<u8>)| {
        let mut new: Vec<u8> =
            name.iter().map(|byte| if matches!(byte, 0 | b'/' | b'.') { b'_' } else { *byte }).collect();
        tree.repair(directory, |node| {
            let names = node.names_mut()?;
            let (inode, kind) = names.remove(&name)?;
            new.truncate(NAME_BYTES / 2);
            while new.is_empty() || names.get(&new).is_some() {
                new.push(b'_');
            }
            names.insert(&new, inode, kind)
        });
        let what = format!("inode {} has the entry {}, which is not a valid name", directory.0, shown(&name));
        fault(InconsistencyKind::ImpossibleName, what)
    };
    bad.into_iter().map(rename).collect()
}

/// Names lead to inodes of their kind, and each directory has only one name. Walks from the root,
/// so that the first name found is kept.
fn bad_names(tree: &mut Tree) -> Vec<Inconsistency> {
    let mut bad: Vec<(InodeId, Vec<u8>)> = Vec::new();
    let mut named = BTreeSet::from([InodeId::ROOT]);
    let everything: Vec<InodeId> = tree.iter().map(|(inode, _)| inode).collect();
    let mut visited = BTreeSet::new();
    for start in [InodeId::ROOT].into_iter().chain(everything) {
        let mut open = vec![start];
        while let Some(directory) = open.pop() {
            if !visited.insert(directory) {
                continue;
            }
            let names = tree.get(directory).and_then(|node| node.names());
            for (name, inode, kind) in names.into_iter().flat_map(|names| names.iter()) {
                let found = tree.get(inode).map(|node| node.attributes.kind);
                let is_second = kind == InodeKind::Directory && !named.insert(inode);
                if found != Some(kind) || is_second {
                    bad.push((directory, name.to_vec()));
                } else if kind == InodeKind::Directory {
                    open.push(inode);
                }
            }
        }
    }
    let remove = |(directory, name): (InodeId, Vec<u8>)| {
        tree.repair(directory, |node| node.names_mut().and_then(|names| names.remove(&name)));
        fault(
            InconsistencyKind::BadName,
            format!("inode {}: the name {} leads to a wrong inode", directory.0, name.escape_ascii()),
        )
    };
    bad.into_iter().map(remove).collect()
}

/// Every inode can be reached from the root.
fn nameless(tree: &mut Tree) -> Vec<Inconsistency> {
    let mut faults = Vec::new();
    loop {
        let mut reached = BTreeSet::from([InodeId::ROOT]);
        let mut open = vec![InodeId::ROOT];
        while let Some(directory) = open.pop() {
            let names = tree.get(directory).and_then(|node| node.names());
            for (_, inode, kind) in names.into_iter().flat_map(|names| names.iter()) {
                if reached.insert(inode) && kind == InodeKind::Directory {
                    open.push(inode);
                }
            }
        }
        // Directories first: what is in them becomes reachable with them.
        let lost = tree.iter().filter(|(inode, _)| !reached.contains(inode));
        let lost = lost.max_by_key(|(inode, node)| (node.names().is_some(), std::cmp::Reverse(*inode)));
        let Some((inode, node)) = lost else { return faults };
        let kind = node.attributes.kind;
        faults.push(fault(InconsistencyKind::NoName, format!("no directory entry refers to inode {}", inode.0)));
        // In a cycle of directories, the one that is moved out loses its name within the cycle.
        let holders: Vec<(InodeId, Vec<u8>)> = names_of(tree, inode);
        for (directory, name) in holders {
            tree.repair(directory, |node| node.names_mut().and_then(|names| names.remove(&name)));
        }
        let shelter = lost_and_found(tree);
        let name = format!("#{}", inode.0).into_bytes();
        tree.repair(shelter, |node| node.names_mut().and_then(|names| names.insert(&name, inode, kind)));
    }
}

fn names_of(tree: &Tree, wanted: InodeId) -> Vec<(InodeId, Vec<u8>)> {
    let mut found = Vec::new();
    for (directory, node) in tree.iter() {
        let names = node.names().into_iter().flat_map(|names| names.iter());
        found.extend(names.filter(|(_, inode, _)| *inode == wanted).map(|(name, ..)| (directory, name.to_vec())));
    }
    found
}

/// Returns the directory for what has no name, and creates it if necessary.
fn lost_and_found(tree: &mut Tree) -> InodeId {
    let found = |tree: &Tree, name: &[u8]| tree.get(InodeId::ROOT)?.names()?.get(name);
    let mut name = LOST_AND_FOUND.to_vec();
    loop {
        match found(tree, &name) {
            Some((inode, InodeKind::Directory)) => return inode,
            // Another inode has the name.
            Some(_) => name.push(b'+'),
            None => break,
        }
    }
    // The next number, or a free one if a forged number has used them up.
    let numbers = std::iter::successors(Some(tree.serial), |number| Some(number.wrapping_add(1))).skip(1);
    let inode = numbers.map(InodeId).find(|inode| inode.0 > InodeId::ROOT.0 && tree.get(*inode).is_none());
    let inode = inode.unwrap_or(InodeId::ROOT);
    let node = Node { inode, ..Tree::root(0o700, 0) };
    let spot = Spot { directory: InodeId::ROOT, name };
    // This cannot fail: the number is new and the name is free.
    let _made = tree.apply(&Record::Create { spot, node }, &mut Vec::new());
    inode
}

/// Every directory records the directory it is in.
fn parents(tree: &mut Tree) -> Vec<Inconsistency> {
    let mut right = BTreeMap::from([(InodeId::ROOT, InodeId::ROOT)]);
    for (directory, node) in tree.iter() {
        let names = node.names().into_iter().flat_map(|names| names.iter());
        right
            .extend(names.filter(|(_, _, kind)| *kind == InodeKind::Directory).map(|(_, inode, _)| (inode, directory)));
    }
    let mut faults = Vec::new();
    for (inode, parent) in right {
        if tree.get(inode).is_some_and(|node| node.parent != parent) {
            faults.push(fault(InconsistencyKind::Parent, format!("inode {} is in directory {}", inode.0, parent.0)));
            tree.repair(inode, |node| node.parent = parent);
        }
    }
    faults
}

/// Link counts equal the number of names.
fn link_counts(tree: &mut Tree) -> Vec<Inconsistency> {
    let mut right: BTreeMap<InodeId, u32> = BTreeMap::new();
    for (inode, node) in tree.iter() {
        let Some(names) = node.names() else { continue };
        *right.entry(inode).or_default() += 2;
        for (_, named, kind) in names.iter() {
            let counted = if kind == InodeKind::Directory { inode } else { named };
            *right.entry(counted).or_default() += 1;
        }
    }
    let mut faults = Vec::new();
    for (inode, links) in right {
        let found = tree.get(inode).map(|node| node.attributes.links);
        if let Some(found) = found.filter(|found| *found != links) {
            faults
                .push(fault(InconsistencyKind::LinkCount, format!("inode {}: links {found}, names {links}", inode.0)));
            tree.repair(inode, |node| node.attributes.links = links);
        }
    }
    faults
}

/// Content ends where the file ends.
fn beyond_end(tree: &mut Tree) -> Vec<Inconsistency> {
    let too_long = |(inode, node): (InodeId, &crate::tree::Inode)| {
        let end = node.file().map_or(0, crate::extents::ExtentMap::end);
        (end > node.attributes.size).then_some((inode, node.attributes.size))
    };
    let found: Vec<(InodeId, u64)> = tree.iter().filter_map(too_long).collect();
    let mut faults = Vec::new();
    for (inode, size) in found {
        faults.push(fault(
            InconsistencyKind::BeyondEnd,
            format!("inode {} has content beyond its {size} bytes", inode.0),
        ));
        tree.repair(inode, |node| node.file_mut().map(|file| file.clear(size, u64::MAX)));
    }
    faults
}

/// Every byte of the disk belongs to one stretch of one file, or to the log.
fn overlaps(loaded: &mut Loaded) -> Vec<Inconsistency> {
    let mut clusters = ClusterTable::new(&loaded.layout, &loaded.owners);
    for cluster in loaded.end.clusters() {
        // A log that uses a cluster twice is refused when the file system is started.
        let _claimed = clusters.claim_for_log(cluster);
    }
    let mut bad: Vec<(InodeId, Stretch)> = Vec::new();
    let mut claim = |is_young: bool| {
        for (inode, node) in loaded.tree.iter() {
            for (offset, extent) in node.file().into_iter().flat_map(|file| file.iter()) {
                let Place::Disk(place) = extent.place else { continue };
                let stretch = Stretch { offset, length: extent.length, place };
                let cluster = loaded.layout.locate(place).0;
                if loaded.young.contains(&(inode, cluster)) == is_young && !clusters.claim_for_content(inode, stretch) {
                    bad.push((inode, stretch));
                }
            }
        }
    };
    // A cluster is reallocated only when nothing in it is live. If changes are missing, the later
    // content is therefore the right one.
    claim(true);
    claim(false);
    let mut faults = Vec::new();
    for (inode, stretch) in bad {
        let Stretch { offset, length, place } = stretch;
        let what = format!(
            "inode {}: {length} bytes at {offset} are stored at byte {place}, which belongs to \
            something else",
            inode.0
        );
        faults.push(fault(InconsistencyKind::Overlap, what));
        loaded.tree.repair(inode, |node| node.file_mut().map(|file| file.clear(offset, offset + length)));
    }
    faults
}
