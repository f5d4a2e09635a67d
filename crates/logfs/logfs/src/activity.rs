//! Counters of the background work of an open file system.

/// Background work since opening.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Activity {
    /// Checkpoints finished.
    pub checkpoints: u64,
    /// Cleaning passes that moved something.
    pub cleaning_passes: u64,
    /// Bytes of live content that cleaning moved.
    pub moved_bytes: u64,
    /// Cleaning passes that ran because space had run out; part of `cleaning_passes`.
    pub urgent_passes: u64,
    /// Bytes that the urgent passes moved.
    pub urgent_bytes: u64,
    /// Bytes of small content moved from memory to the disk.
    pub demoted_bytes: u64,
    /// Bytes that automatic defragmentation moved.
    pub defragmented_bytes: u64,
    /// Clusters discarded on the device.
    pub discarded_clusters: u64,
    /// Clusters that became free.
    pub freed_clusters: u64,
    /// Frames written to the metadata log.
    pub frames: u64,
    /// Device flushes for syncs.
    pub syncs: u64,
    /// Checkpoints that could not be read back.
    pub bad_checkpoints: u64,
    /// Reads whose content did not match its checksum.
    pub content_errors: u64,
}

impl Activity {
    /// The sum of the work of two domains.
    #[must_use]
    pub fn and(&self, other: &Activity) -> Activity {
        Activity {
            checkpoints: self.checkpoints + other.checkpoints,
            cleaning_passes: self.cleaning_passes + other.cleaning_passes,
            moved_bytes: self.moved_bytes + other.moved_bytes,
            urgent_passes: self.urgent_passes + other.urgent_passes,
            urgent_bytes: self.urgent_bytes + other.urgent_bytes,
            demoted_bytes: self.demoted_bytes + other.demoted_bytes,
            defragmented_bytes: self.defragmented_bytes + other.defragmented_bytes,
            discarded_clusters: self.discarded_clusters + other.discarded_clusters,
            freed_clusters: self.freed_clusters + other.freed_clusters,
            frames: self.frames + other.frames,
            syncs: self.syncs + other.syncs,
            bad_checkpoints: self.bad_checkpoints + other.bad_checkpoints,
            content_errors: self.content_errors + other.content_errors,
        }
    }
}
