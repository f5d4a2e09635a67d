//! Where content goes: the open data clusters, one for what users write and one for what cleaning
//! moves.

use smallvec::SmallVec;

use crate::Layout;
use crate::clusters::{ClusterTable, Role};

/// Selects one of the open clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Written = 0,
    Moved = 1,
}

#[derive(Debug, Clone, Copy)]
struct Head {
    cluster: u32,
    offset: u32,
}

/// The open cluster of each stream.
#[derive(Debug, Default)]
pub(crate) struct Heads([Option<Head>; 2]);

/// A place on the disk, and the number of content bytes stored there.
pub(crate) type Slot = (u64, u64);

/// Slots of one write; most writes need one.
pub(crate) type Slots = SmallVec<[Slot; 1]>;

impl Heads {
    /// Bytes left in an open cluster.
    pub(crate) fn room(&self, stream: Stream, layout: &Layout) -> u64 {
        self.0[stream as usize].map_or(0, |head| u64::from(layout.cluster_bytes - head.offset))
    }

    /// How many free clusters are needed to store this number of bytes.
    pub(crate) fn clusters_for(&self, stream: Stream, bytes: u64, layout: &Layout) -> u32 {
        let cluster = u64::from(layout.cluster_bytes);
        let rest = bytes % cluster;
        let more = u64::from(layout.blocks(rest) > self.room(stream, layout));
        u32::try_from(bytes / cluster + more).unwrap_or(u32::MAX)
    }

    /// Reserves room for this number of bytes and pins its clusters. Returns `None`, and reserves
    /// nothing, when there are too few clusters.
    pub(crate) fn take(
        &mut self,
        stream: Stream,
        bytes: u64,
        clusters: &mut ClusterTable,
        layout: &Layout,
        ticket: u64,
    ) -> Option<Slots> {
        if self.clusters_for(stream, bytes, layout) > clusters.free_count() {
            return None;
        }
        let cluster_bytes = u64::from(layout.cluster_bytes);
        let mut slots = Slots::new();
        let mut left = bytes;
        while left > 0 {
            let slot = if left >= cluster_bytes {
                // Content that fills whole clusters gets clusters of its own; the open cluster
                // stays open.
                let number = clusters.allocate(Role::Full)?;
                (layout.start_of(number), cluster_bytes)
            } else {
                self.take_part(stream, left, clusters, layout, ticket)?
            };
            clusters.pin(slot.0, slot.1);
            left -= slot.1;
            slots.push(slot);
        }
        Some(slots)
    }

    fn take_part(
        &mut self,
        stream: Stream,
        bytes: u64,
        clusters: &mut ClusterTable,
        layout: &Layout,
        ticket: u64,
    ) -> Option<Slot> {
        if self.room(stream, layout) == 0 {
            let cluster = clusters.allocate(Role::Open)?;
            if let Some(full) = self.0[stream as usize].replace(Head { cluster, offset: 0 }) {
                clusters.seal(full.cluster, ticket);
            }
        }
        let head = self.0[stream as usize].as_mut()?;
        let length = bytes.min(u64::from(layout.cluster_bytes - head.offset));
        let place = layout.start_of(head.cluster) + u64::from(head.offset);
        head.offset += layout.blocks(length) as u32;
        Some((place, length))
    }
}
