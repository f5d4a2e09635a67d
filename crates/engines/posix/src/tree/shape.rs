//! Where the items of a tree are: arithmetic only.
//!
//! ```text
//! branch 2, depth 2         nodes, numbered level by level
//!         root (0)
//!        /        \         an item is in node (item / items) mod nodes;
//!      d1          d2       with leaves only, the nodes of the last level count
//!     /  \        /  \
//!   d3    d4    d5    d6    path of an item in node 4: ROOT/d1/d4/file.17
//! ```

use std::io::Write;

/// The form of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    branch: u64,
    nodes: u64,
    /// The first node that holds items.
    first: u64,
    /// Items that follow one another in a node.
    items: u64,
}

/// Most directories of a tree.
const MOST_NODES: u64 = 1 << 32;

impl Shape {
    /// A tree in which every node but those of level `depth` has `branch` nodes below it; `None` if
    /// that is too many.
    pub(super) fn new(branch: u64, depth: u32, items: u64, leaves_only: bool) -> Option<Shape> {
        let (mut nodes, mut level) = (1u64, 1u64);
        for _ in 0..depth {
            level = level.checked_mul(branch)?;
            nodes = nodes.checked_add(level).filter(|nodes| *nodes <= MOST_NODES)?;
        }
        let first = if leaves_only { nodes - level } else { 0 };
        Some(Shape { branch: branch.max(1), nodes, first, items: items.max(1) })
    }

    /// How many directories the tree has, with its root.
    pub(super) fn nodes(&self) -> u64 {
        self.nodes
    }

    /// The node that holds an item.
    #[inline]
    pub(super) fn node_of(&self, item: u64) -> u64 {
        self.first + item / self.items % (self.nodes - self.first)
    }

    /// Appends the path of a node below the root: nothing for the root.
    #[inline]
    pub(super) fn push_node(&self, node: u64, path: &mut Vec<u8>) {
        if node == 0 {
            return;
        }
        self.push_node((node - 1) / self.branch, path);
        // Writing to memory cannot fail.
        let _ = write!(path, "/d{node}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(shape: &Shape, node: u64) -> String {
        let mut path = Vec::new();
        shape.push_node(node, &mut path);
        String::from_utf8(path).unwrap()
    }

    #[test]
    fn nodes_are_numbered_level_by_level() {
        for (branch, depth, nodes) in [(1, 0, 1), (1, 3, 4), (2, 2, 7), (10, 3, 1111)] {
            assert_eq!(Shape::new(branch, depth, 1, false).unwrap().nodes(), nodes, "{branch} {depth}");
        }
        assert_eq!(Shape::new(1000, 4, 1, false), None);
        let shape = Shape::new(2, 2, 1, false).unwrap();
        let paths: Vec<_> = (0..7).map(|node| path(&shape, node)).collect();
        assert_eq!(paths, ["", "/d1", "/d2", "/d1/d3", "/d1/d4", "/d2/d5", "/d2/d6"]);
    }

    #[test]
    fn items_go_round_in_runs() {
        for (items, leaves_only, expected) in [
            (1, false, [0, 1, 2, 3, 4, 5, 6, 0, 1]),
            (2, false, [0, 0, 1, 1, 2, 2, 3, 3, 4]),
            (1, true, [3, 4, 5, 6, 3, 4, 5, 6, 3]),
        ] {
            let shape = Shape::new(2, 2, items, leaves_only).unwrap();
            let nodes: Vec<u64> = (0..9).map(|item| shape.node_of(item)).collect();
            assert_eq!(nodes, expected, "{items} {leaves_only}");
        }
    }
}
