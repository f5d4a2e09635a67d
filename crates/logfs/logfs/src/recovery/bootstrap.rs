//! Reads what is needed before any log: the bootstrap record, the owner map and the anchors, each
//! from its copy if necessary.

use std::rc::Rc;

use crate::anchor::Anchor;
use crate::domains::{Owners, read_owners};
use crate::{Answered, Disk, Error, Layout};

/// Reads the bootstrap record, from its copy if necessary; also returns which of the two are valid.
pub(crate) async fn read_layout(disk: &Disk) -> Result<(Layout, [bool; 2]), Error> {
    let geometry = disk.geometry();
    // Read as much as the largest block, so that blocks of any size are found.
    let bytes = 4096_u64.next_multiple_of(u64::from(geometry.block_bytes)).min(geometry.size_bytes);
    let check = |layout: Layout| {
        let end = layout.start_of(layout.clusters);
        let fits = end <= geometry.size_bytes && layout.block_bytes.is_multiple_of(geometry.block_bytes);
        let why = || Error::Unusable(format!("made for {end} bytes in blocks of {}", layout.block_bytes));
        if fits { Ok(layout) } else { Err(why()) }
    };
    let first = disk.read(0, bytes as usize).await.map_err(Error::from);
    let first = first.and_then(|bytes| Layout::decode(&bytes)).and_then(check);
    if let Ok(layout) = first {
        let copy_at = layout.bootstrap_places()[1];
        let copy = disk.read(copy_at, layout.block_bytes as usize).await;
        // A crash may leave the copy at the previous generation; opening rewrites it. Only one of
        // the two may have the cleaning settings.
        let is_same = |copy: Layout| Layout { cleaning: layout.cleaning, ..copy.current() } == layout.current();
        let fits = |copy: Layout| is_same(copy) || copy.precedes(&layout);
        let copy_is_good = copy.is_ok_and(|bytes| Layout::decode(&bytes).is_ok_and(fits));
        return Ok((layout, [true, copy_is_good]));
    }
    // The copy's place depends on sizes that only the record contains: try every possible end of
    // the last cluster.
    for cluster_bits in 14..=24 {
        let end = geometry.size_bytes >> cluster_bits << cluster_bits;
        for block_bits in 9..=16 {
            let block = 1_u64 << block_bits;
            if end < block || !block.is_multiple_of(u64::from(geometry.block_bytes)) {
                continue;
            }
            let Ok(bytes) = disk.read(end - block, block as usize).await else { continue };
            let found = Layout::decode(&bytes).and_then(check);
            if let Ok(layout) = found.as_ref()
                && layout.bootstrap_places()[1] == end - block
            {
                return Ok((*layout, [false, true]));
            }
        }
    }
    first.map(|layout| (layout, [true, false]))
}

/// The anchor to use, and which of the two blocks hold valid ones.
pub(crate) async fn read_anchor(disk: &Disk, layout: &Layout) -> Result<(Anchor, [bool; 2]), Error> {
    let mut found = [None, None];
    for (place, found) in Anchor::places(layout).into_iter().zip(&mut found) {
        // A block that cannot be read counts as one without an anchor.
        let bytes = disk.read(place, layout.block_bytes as usize).await;
        *found = bytes.ok().and_then(|bytes| Anchor::decode(&bytes, layout));
    }
    let good = found.map(|anchor| anchor.is_some());
    let best = found.into_iter().flatten().max_by_key(|anchor| anchor.number);
    best.map(|anchor| (anchor, good)).ok_or_else(|| Error::Corrupt("neither anchor can be read".to_owned()))
}

/// Reads the bootstrap record and the owner map.
pub(crate) fn read_map(disk: &Disk) -> Answered<'_, Result<(Layout, Rc<Owners>), Error>> {
    Box::pin(async move {
        let (layout, _) = read_layout(disk).await?;
        let (owners, _) = read_owners(disk, &layout).await?;
        Ok((layout, Rc::new(owners)))
    })
}
