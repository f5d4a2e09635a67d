//! Checksums of the blocks that hold content, by their places on the disk.
//!
//! A block is written once in the life of its cluster, and every read is of whole blocks. The
//! checksum of a block, padding included, therefore verifies every read of it, however the files'
//! extents have changed since. Checksums from an earlier life of a cluster are never used: they are
//! dropped when the cluster becomes free, and content is recorded together with the checksums of
//! its blocks.

use iolab_checksum::{FOUR, crc32c, crc32c_of_four, crc32c_of_more};
use smallvec::SmallVec;

use crate::Layout;
use crate::record::{Proof, Record, SUMS, SumList, put_sums, with_head};

/// Stands for the checksum of a block that has no known one.
const UNKNOWN: u32 = 0;
/// Bytes of a record without its checksums.
const HEAD_BYTES: usize = 12;

/// The checksums of the blocks that content is written to, the last one padded with zeroes; none is
/// [`UNKNOWN`].
pub(crate) fn sums_of(content: &[u8], block_bytes: usize) -> SumList {
    let mut sums = SumList::with_capacity(content.len().div_ceil(block_bytes));
    add_sums_of(content, block_bytes, &mut sums);
    sums
}

/// As [`sums_of`], behind checksums of blocks before.
pub(crate) fn add_sums_of(content: &[u8], block_bytes: usize, sums: &mut SumList) {
    for group in content.chunks(FOUR * block_bytes) {
        sums.extend(of_group(group, block_bytes));
    }
}

/// The checksum of a message that has the checksum `sum` so far and ends with `count` zeroes.
fn with_zeroes(mut sum: u32, mut count: usize) -> u32 {
    static ZEROES: [u8; 4096] = [0; 4096];
    while count > 0 {
        let now = count.min(ZEROES.len());
        sum = crc32c_of_more(sum, &ZEROES[..now]);
        count -= now;
    }
    sum
}

/// The checksums of up to four blocks.
fn of_group(group: &[u8], block_bytes: usize) -> SmallVec<[u32; FOUR]> {
    let mut parts = group.chunks(block_bytes);
    let mut sums: SmallVec<[u32; FOUR]> = if group.len() == FOUR * block_bytes {
        crc32c_of_four(std::array::from_fn(|_| parts.next().unwrap_or_default())).into()
    } else {
        parts.map(|part| with_zeroes(crc32c(part), block_bytes - part.len())).collect()
    };
    sums.iter_mut().for_each(|sum| *sum = (*sum).max(1));
    sums
}

/// The checksums of one domain.
#[derive(Debug)]
pub(crate) struct Sums {
    layout: Layout,
    /// By cluster number; as long as the highest cluster with a known checksum needs.
    clusters: Vec<Option<Box<[u32]>>>,
    /// Number of clusters with known checksums.
    known: u32,
}

/// Progress of a checkpoint: a cluster, and a block in it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SumCursor(usize, usize);

impl Sums {
    pub(crate) fn new(layout: &Layout) -> Sums {
        Sums { layout: *layout, clusters: Vec::new(), known: 0 }
    }

    /// The cluster of a block, and the block's number in it.
    fn locate(&self, place: u64) -> (usize, usize) {
        let (cluster, offset) = self.layout.locate(place);
        (cluster as usize, (offset / self.layout.block_bytes) as usize)
    }

    /// Notes the checksums of blocks from `place` on, within a cluster. Invalid places are ignored:
    /// nothing on a sound disk refers to them.
    pub(crate) fn set(&mut self, place: u64, sums: &[u32]) {
        let ((cluster, block), blocks) = (self.locate(place), self.layout.blocks_of_cluster());
        if !self.layout.is_usable(cluster as u32) || block + sums.len() > blocks || sums.is_empty() {
            return;
        }
        if self.clusters.len() <= cluster {
            self.clusters.resize_with(cluster + 1, || None);
        }
        let slot = &mut self.clusters[cluster];
        self.known += u32::from(slot.is_none());
        let all = slot.get_or_insert_with(|| vec![UNKNOWN; blocks].into_boxed_slice());
        all[block..block + sums.len()].copy_from_slice(sums);
    }

    /// Notes the checksums in a record.
    pub(crate) fn follow(&mut self, record: &Record) {
        match record {
            Record::WriteExtent { stretch, proof: Proof::Blocks(sums), .. } => self.set(stretch.place, sums),
            Record::Sums { place, sums } => self.set(*place, sums),
            _ => {}
        }
    }

    /// Drops the checksums of a cluster.
    pub(crate) fn forget(&mut self, cluster: u32) {
        if let Some(slot) = self.clusters.get_mut(cluster as usize) {
            self.known -= u32::from(slot.take().is_some());
        }
    }

    /// Drops the checksums of all clusters except those that `keep` accepts.
    pub(crate) fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        for cluster in 0..self.clusters.len() as u32 {
            if !keep(cluster) {
                self.forget(cluster);
            }
        }
    }

    /// Takes over the checksums of a cluster from another table.
    pub(crate) fn take_from(&mut self, other: &mut Sums, cluster: u32) {
        if let Some(sums) = other.clusters.get_mut(cluster as usize).and_then(Option::take) {
            other.known -= 1;
            self.set(self.layout.start_of(cluster), &sums);
        }
    }

    /// Whether the checksum of the block at `place` is known.
    pub(crate) fn is_known(&self, place: u64) -> bool {
        let (cluster, block) = self.locate(place);
        self.of_cluster(cluster).is_some_and(|sums| sums[block] != UNKNOWN)
    }

    fn of_cluster(&self, cluster: usize) -> Option<&[u32]> {
        self.clusters.get(cluster)?.as_deref()
    }

    /// The place of the first block that does not match its checksum; `bytes` are whole blocks from
    /// `place` on. A block without a known checksum is accepted.
    pub(crate) fn mismatch(&self, place: u64, bytes: &[u8]) -> Option<u64> {
        let block_bytes = self.layout.block_bytes as usize;
        let (mut cluster, mut block) = self.locate(place);
        let mut sums = self.of_cluster(cluster);
        let found = bytes.chunks(FOUR * block_bytes).flat_map(|group| of_group(group, block_bytes));
        for (at, found) in (place..).step_by(block_bytes).zip(found) {
            if block == self.layout.blocks_of_cluster() {
                (cluster, block) = (cluster + 1, 0);
                sums = self.of_cluster(cluster);
            }
            let expected = sums.map_or(UNKNOWN, |sums| sums[block]);
            if expected != UNKNOWN && found != expected {
                return Some(at);
            }
            block += 1;
        }
        None
    }

    /// Upper estimate of the bytes that the checksums take in a checkpoint.
    pub(crate) fn cost_bytes(&self) -> u64 {
        u64::from(self.known) * self.layout.sum_bytes()
    }

    /// Encodes the next checksums, in about `most_bytes`; returns nothing when none are left.
    pub(crate) fn describe(&self, cursor: &mut SumCursor, most_bytes: usize) -> Vec<u8> {
        let mut out = Vec::new();
        while let Some(slot) = self.clusters.get(cursor.0) {
            let rest = slot.as_deref().map_or(&[][..], |sums| &sums[cursor.1.min(sums.len())..]);
            let skipped = rest.iter().take_while(|sum| **sum == UNKNOWN).count();
            let run: &[u32] = rest[skipped..].split(|sum| *sum == UNKNOWN).next().unwrap_or_default();
            if run.is_empty() {
                *cursor = SumCursor(cursor.0 + 1, 0);
                continue;
            }
            let room = most_bytes.saturating_sub(out.len() + HEAD_BYTES + 4) / 4;
            if room == 0 {
                break;
            }
            let (first, run) = (cursor.1 + skipped, &run[..run.len().min(room)]);
            let place = self.layout.start_of(cursor.0 as u32) + first as u64 * u64::from(self.layout.block_bytes);
            with_head(&mut out, SUMS, |out| put_sums(out, place, run));
            cursor.1 = first + run.len();
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::Take;

    fn layout() -> Layout {
        let disk = iolab_disk::RamDisk::new(20 * 16 * 1024, 512);
        disk.with(|bytes| bytes.copy_from_slice(&crate::hostile::sample()[..20 * 16 * 1024]));
        disk.with(|bytes| Layout::decode(bytes)).expect("a sample has a bootstrap record")
    }

    #[test]
    fn what_a_checkpoint_describes_is_what_is_known() {
        let layout = layout();
        let mut sums = Sums::new(&layout);
        let start = layout.start_of(3);
        sums.set(start + 512, &[7, 8, 9]);
        sums.set(start + 10 * 512, &[5; 22]);
        sums.set(layout.start_of(9), &[6]);
        // Across the end of a cluster, and outside of the disk.
        sums.set(start + 31 * 512, &[1, 1]);
        sums.set(u64::MAX - 5, &[1]);
        let (mut cursor, mut read) = (SumCursor::default(), Sums::new(&layout));
        loop {
            let group = sums.describe(&mut cursor, 40);
            let mut take = Take(&group);
            if group.is_empty() {
                break;
            }
            assert!(group.len() <= 40);
            while !take.0.is_empty() {
                read.follow(&Record::decode(&mut take).unwrap());
            }
        }
        assert_eq!(read.clusters, sums.clusters);
        assert_eq!((read.known, read.cost_bytes() > 0), (2, true));
        read.forget(3);
        read.forget(3);
        assert_eq!(read.known, 1);
    }

    #[test]
    fn a_block_that_changed_is_found_and_an_unknown_one_is_not() {
        let layout = layout();
        let mut sums = Sums::new(&layout);
        let place = layout.start_of(4) - 1024;
        let content: Vec<u8> = (0..1700_u32).map(|number| number as u8).collect();
        let mut written = content.clone();
        written.resize(2048, 0);
        let all = sums_of(&content, 512);
        sums.set(place, &all[..2]);
        sums.set(place + 1024, &all[2..]);
        assert_eq!(sums.mismatch(place, &written), None);
        for at in [0, 511, 512, 1699, 1700, 2047] {
            written[at] ^= 4;
            assert_eq!(sums.mismatch(place, &written), Some(place + at as u64 / 512 * 512));
            written[at] ^= 4;
        }
        assert_eq!(sums.mismatch(layout.start_of(5), &written), None);
        assert!(sums.is_known(place) && !sums.is_known(layout.start_of(5)));
    }
}
