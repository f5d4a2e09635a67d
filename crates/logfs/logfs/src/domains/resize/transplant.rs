//! Builds the trees of the new domains from those of the old ones.

use std::collections::BTreeMap;

use super::groups::Groups;
use crate::record::InodeId;
use crate::recovery::Loaded;
use crate::tree::Tree;

pub(super) struct Plan {
    pub(super) trees: Vec<Tree>,
    pub(super) moved_inodes: u64,
    /// Higher than the epoch of any frame of the old generation.
    pub(super) epoch: u64,
}

/// Takes the old trees apart. Inodes that stay in their domain keep their numbers; the others get
/// numbers that no domain has ever used.
pub(super) fn transplant(loaded: Vec<Loaded>, groups: &Groups, domains: u32) -> Plan {
    let serial = |domain: &Loaded| domain.tree.serial - (InodeId::first(domain.layout.domain).0 - 1);
    let highest = loaded.iter().map(serial).max().unwrap_or(1);
    let epoch = loaded.iter().map(|domain| domain.anchor.epoch).max().unwrap_or(0) + 1;
    let cluster_bytes = loaded.first().map_or(0, |domain| domain.layout.cluster_bytes);
    let mut trees: Vec<Tree> = (0..domains)
        .map(|domain| {
            let mut tree = Tree::new(cluster_bytes);
            tree.serial = InodeId::first(domain).0 - 1 + highest;
            tree
        })
        .collect();
    let mut numbers = BTreeMap::new();
    let mut tops = vec![Vec::new(); domains as usize];
    let mut root = None;
    for mut old in loaded {
        let all: Vec<InodeId> = old.tree.iter().map(|(inode, _)| inode).collect();
        for inode in all {
            let Some(node) = old.tree.take(inode) else { continue };
            if inode == InodeId::ROOT {
                for (name, top, kind) in node.names().into_iter().flat_map(|names| names.iter()) {
                    tops[groups.goal_of(top) as usize].push((name.to_vec(), top, kind));
                }
                let latest = root.get_or_insert(node.node(inode));
                latest.attributes.modified_ns = latest.attributes.modified_ns.max(node.attributes.modified_ns);
                latest.attributes.changed_ns = latest.attributes.changed_ns.max(node.attributes.changed_ns);
                continue;
            }
            let goal = groups.goal_of(inode);
            let tree = &mut trees[goal as usize];
            if inode.domain() != goal {
                tree.serial += 1;
                numbers.insert(inode, InodeId(tree.serial));
            }
            tree.plant(inode, node);
        }
    }
    let root = root.unwrap_or_else(|| Tree::root(0o755, 0));
    for (tree, names) in trees.iter_mut().zip(tops) {
        tree.plant_root(&root, names);
        tree.renumber(|inode| numbers.get(&inode).copied().unwrap_or(inode));
    }
    Plan { trees, moved_inodes: numbers.len() as u64, epoch }
}
