//! Inodes by number, sorted, in pages. Numbers are assigned consecutively and never reused, so that
//! pages are dense.

use std::collections::BTreeMap;

use super::Inode;
use crate::record::InodeId;

/// Numbers that share a page.
const PAGE: u64 = 32;

#[derive(Debug)]
struct Page {
    nodes: [Option<Inode>; PAGE as usize],
    used: u32,
}

/// A map from numbers to inodes.
#[derive(Debug, Default)]
pub(super) struct Table {
    pages: BTreeMap<u64, Box<Page>>,
    len: usize,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, inode: InodeId) -> Option<&Inode> {
        self.pages.get(&(inode.0 / PAGE))?.nodes[(inode.0 % PAGE) as usize].as_ref()
    }

    pub(super) fn get_mut(&mut self, inode: InodeId) -> Option<&mut Inode> {
        self.pages.get_mut(&(inode.0 / PAGE))?.nodes[(inode.0 % PAGE) as usize].as_mut()
    }

    /// Inserts an inode, replacing any that is there.
    pub(super) fn insert(&mut self, inode: InodeId, node: Inode) {
        let empty = || Box::new(Page { nodes: [const { None }; PAGE as usize], used: 0 });
        let page = self.pages.entry(inode.0 / PAGE).or_insert_with(empty);
        if page.nodes[(inode.0 % PAGE) as usize].replace(node).is_none() {
            page.used += 1;
            self.len += 1;
        }
    }

    pub(super) fn remove(&mut self, inode: InodeId) -> Option<Inode> {
        let number = inode.0 / PAGE;
        let page = self.pages.get_mut(&number)?;
        let removed = page.nodes[(inode.0 % PAGE) as usize].take()?;
        page.used -= 1;
        self.len -= 1;
        if page.used == 0 {
            self.pages.remove(&number);
        }
        Some(removed)
    }

    /// All inodes, in order.
    pub(super) fn into_nodes(self) -> impl Iterator<Item = (InodeId, Inode)> {
        self.pages.into_iter().flat_map(|(number, page)| {
            let numbered = page.nodes.into_iter().enumerate();
            numbered.filter_map(move |(at, node)| node.map(|node| (InodeId(number * PAGE + at as u64), node)))
        })
    }

    /// The inodes from `first` on.
    pub(super) fn from(&self, first: InodeId) -> impl Iterator<Item = (InodeId, &Inode)> {
        let all = self.pages.range(first.0 / PAGE..).flat_map(|(number, page)| {
            let numbered = page.nodes.iter().enumerate();
            numbered.filter_map(move |(at, node)| node.as_ref().map(|node| (InodeId(number * PAGE + at as u64), node)))
        });
        all.skip_while(move |(inode, _)| *inode < first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    #[test]
    fn a_table_agrees_with_a_map() {
        let mut seed = 5_u64;
        let mut random = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % limit
        };
        let (mut table, mut map) = (Table::default(), BTreeMap::new());
        for round in 0..6_000_u64 {
            let inode = InodeId(if random(20) == 0 { u64::MAX - random(40) } else { random(300) });
            match random(2) {
                0 => {
                    table.insert(inode, Inode::new(&Tree::root(0, round)));
                    map.insert(inode, round);
                }
                _ => {
                    let removed = table.remove(inode).map(|node| node.attributes.born_ns);
                    assert_eq!(removed, map.remove(&inode), "round {round}");
                }
            }
            let first = InodeId(random(310));
            let found: Vec<(InodeId, u64)> =
                table.from(first).map(|(inode, node)| (inode, node.attributes.born_ns)).collect();
            let expected: Vec<(InodeId, u64)> = map.range(first..).map(|(inode, round)| (*inode, *round)).collect();
            assert_eq!(found, expected, "round {round}");
            assert_eq!(table.len(), map.len());
            assert_eq!(table.get(inode).is_some(), map.contains_key(&inode));
        }
    }
}
