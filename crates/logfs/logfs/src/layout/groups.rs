//! How much one write may be: its records are one group in the log, which is applied as a whole.

use super::Layout;

/// Upper estimate of the bytes of a record of an extent, without its checksums.
const EXTENT_RECORD_BYTES: u64 = 44;
/// Upper estimate of the bytes before the checksums of a cluster.
const SUMS_HEAD_BYTES: u64 = 16;

impl Layout {
    /// Longest write that is one group of records.
    pub fn atomic_write_bytes(&self) -> u64 {
        // A write that starts within a cluster needs one more record.
        let records = self.group_bytes() / (EXTENT_RECORD_BYTES + self.sum_bytes());
        (records - 1).max(1) * u64::from(self.cluster_bytes)
    }

    /// Whether a write of this length goes to the disk as it is: whole blocks, too long for the
    /// log, and not longer than one change.
    pub(crate) fn goes_whole(&self, length: u64) -> bool {
        length.is_multiple_of(u64::from(self.block_bytes))
            && length > u64::from(self.small_max_bytes)
            && length <= self.atomic_write_bytes()
    }

    /// Whether one group can have this number of records of extents, with the checksums of this
    /// number of blocks in total.
    pub(crate) fn fits_group(&self, records: usize, blocks: u64) -> bool {
        records as u64 * (EXTENT_RECORD_BYTES + SUMS_HEAD_BYTES) + blocks * 4 <= self.group_bytes()
    }

    /// Most bytes of the records of one write.
    fn group_bytes(&self) -> u64 {
        u64::from(self.cluster_bytes) / 4
    }

    /// Bytes that the checksums of a cluster's blocks take in the log, with a record header.
    pub(crate) fn sum_bytes(&self) -> u64 {
        self.blocks_of_cluster() as u64 * 4 + SUMS_HEAD_BYTES
    }
}
