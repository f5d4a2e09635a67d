//! Records that no sound disk contains are contradictions, and sums do not overflow.

use super::*;
use crate::record::{Proof, SumList};

#[test]
fn content_beyond_any_file_or_disk_is_a_contradiction() {
    const FILE: InodeId = InodeId(2);
    let attributes = inode::fresh(InodeKind::File, 0o644, 1);
    let node = Node { inode: FILE, attributes, parent: InodeId(0), target: Vec::new() };
    let (most, mut deltas) = (MOST_BYTES, Vec::new());
    for (offset, length, place, is_possible) in [
        (0, 512, 512, true),
        (most - 512, 512, most - 512, true),
        (0, 0, 512, false),
        (0, 512, u64::MAX - 100, false),
        (0, 512, most - 511, false),
        (most - 511, 512, 512, false),
        (u64::MAX, 512, 512, false),
        (0, u64::MAX, 0, false),
        (512, u64::MAX - 512, u64::MAX - 512, false),
    ] {
        let mut tree = Tree::new(16 << 10);
        tree.loading = true;
        tree.apply(&Record::Node(node.clone()), &mut deltas).unwrap();
        let stretch = Stretch { offset, length, place };
        let write = Record::WriteExtent { inode: FILE, stretch, proof: Proof::Blocks(SumList::new()), time: 1 };
        let listed = Record::Extents { inode: FILE, stretches: vec![stretch] };
        for record in [write, listed] {
            let applied = tree.apply(&record, &mut deltas);
            assert_eq!(applied.is_ok(), is_possible, "{record:?}: {applied:?}");
        }
        let moved = Relocate { inode: FILE, offset, length, from: 0, to: place, checksum: 0 };
        let is_refused = tree.apply(&Record::Relocate(moved), &mut deltas).is_err();
        let is_beyond = place.checked_add(length).is_none_or(|end| end > most) || offset.checked_add(length).is_none();
        assert_eq!(is_refused, is_beyond, "{moved:?}");
    }
}
