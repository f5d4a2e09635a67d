//! The layout of the disk, and the bootstrap record that describes it (docs/logfs/format.md).

mod defaults;
mod groups;

use iolab_checksum::crc32c;

use crate::Error;
use crate::bytes::{Put, Take};
use crate::cleaning::CleaningDefaults;

const MAGIC: &[u8; 8] = b"IOLABLFS";
/// The version that is written. Version 1 is read, and upgraded when the file system is opened for
/// writing.
pub(crate) const VERSION: u32 = 2;
/// Offset of the set of compatible features in the record.
const COMPATIBLE_AT: usize = 68;
/// Offset of the only domain's share in the record.
const SHARE_AT: usize = 128;
/// Most clusters: opening a file system allocates memory for each.
const MOST_CLUSTERS: u32 = 1 << 24;
/// The incompatible feature: several domains, or one that several were merged into. The owner map
/// then holds the owners.
const MAPPED: u32 = 1;

/// The compatible feature: the record has the default cleaning settings.
const CLEANING: u32 = 1;

/// Sizes and numbers of a file system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    /// Unit of every write, bytes.
    pub block_bytes: u32,
    /// Bytes of a cluster.
    pub cluster_bytes: u32,
    /// Whole clusters on the disk.
    pub clusters: u32,
    /// Longest write that goes into the metadata log, bytes.
    pub small_max_bytes: u32,
    /// Distinguishes file systems.
    pub id: [u8; 16],
    /// Time of creation, ns since 1970.
    pub made_ns: u64,
    /// Domains that share the disk.
    pub domains: u32,
    /// The domain that this layout describes.
    pub domain: u32,
    /// Clusters of that domain.
    pub owned: u32,
    /// Incremented whenever clusters and inodes change their owners.
    pub generation: u32,
    /// Runs of the owner map; 0 when everything has always belonged to one domain.
    pub map_runs: u32,
    /// CRC32C of the owner map.
    pub map_checksum: u32,
    /// Version of the format.
    pub version: u32,
    /// How the file system is cleaned if the caller that opens it does not say.
    pub cleaning: CleaningDefaults,
}

/// Most slack of the log in large clusters.
const MOST_SLACK_BYTES: u32 = 32 << 20;

impl Layout {
    /// Why these numbers are invalid.
    pub(crate) fn objection(&self) -> Option<String> {
        let Layout { block_bytes, cluster_bytes, clusters, small_max_bytes, .. } = *self;
        if !block_bytes.is_power_of_two() || !(512..=65_536).contains(&block_bytes) {
            return Some(format!("block size {block_bytes}: expected a power of two from 512 to 65536"));
        }
        let in_range = (16 << 10..=1 << 24).contains(&cluster_bytes);
        if !cluster_bytes.is_power_of_two() || !in_range || cluster_bytes / block_bytes < 4 {
            return Some(format!(
                "cluster size {cluster_bytes}: expected a power of two from 16 KiB to 16 MiB, and at least 4 blocks"
            ));
        }
        if small_max_bytes > cluster_bytes / 8 {
            return Some(format!("small writes of up to {small_max_bytes} bytes: the limit is an eighth of a cluster"));
        }
        let most = Layout::most_domains(block_bytes, cluster_bytes);
        if self.domains == 0 || self.domains > most {
            let domains = self.domains;
            return Some(format!(
                "{domains} domains: expected 1 to {most} with this block and cluster size; larger clusters allow more"
            ));
        }
        let least = self.least_clusters().saturating_mul(self.domains).saturating_add(2);
        if clusters > MOST_CLUSTERS {
            return Some(format!("{clusters} clusters: the limit is {MOST_CLUSTERS}; use larger clusters"));
        }
        if clusters < least {
            return Some(format!(
                "{clusters} clusters of {cluster_bytes} bytes are too few: at least {least} are needed"
            ));
        }
        None
    }

    /// Fewest clusters with which a domain can work.
    pub(crate) fn least_clusters(&self) -> u32 {
        4 + self.log_slack() * 6 + 2
    }

    /// The same layout in the version that is written.
    pub(crate) fn current(&self) -> Layout {
        Layout { version: VERSION, ..*self }
    }

    /// Whether this is the generation just before another of the same file system.
    pub(crate) fn precedes(&self, next: &Layout) -> bool {
        self.id == next.id && self.generation.checked_add(1) == Some(next.generation)
    }

    /// The largest possible number of domains: the first half of a fixed cluster must have room for
    /// their anchors.
    pub fn most_domains(block_bytes: u32, cluster_bytes: u32) -> u32 {
        ((cluster_bytes / block_bytes.max(1) / 2).saturating_sub(1) / 2).max(1)
    }

    /// Whether owners are in an owner map.
    pub(crate) fn is_mapped(&self) -> bool {
        self.map_runs > 0
    }

    /// The layout of a given domain, which owns this number of clusters.
    pub(crate) fn of_domain(&self, domain: u32, owned: u32) -> Layout {
        Layout { domain, owned, ..*self }
    }

    /// The cluster that holds the anchors of this generation; those of the previous generation stay
    /// in the other one.
    pub(crate) fn anchor_cluster(&self) -> u32 {
        if self.generation.is_multiple_of(2) { 0 } else { self.clusters - 1 }
    }

    /// Where the two copies of the owner map lie, and how much room each has: a quarter of each
    /// fixed cluster, alternating with the generation.
    pub(crate) fn map_places(&self) -> [(u64, u64); 2] {
        let quarter = u64::from(self.cluster_bytes) / 4;
        let turn = u64::from(self.generation % 2);
        // The copy of the bootstrap record is the last block.
        let room = quarter - turn * u64::from(self.block_bytes);
        [0, self.clusters - 1].map(|cluster| (self.start_of(cluster) + (2 + turn) * quarter, room))
    }

    /// Clusters by which the log may grow between checkpoints, beyond the checkpoints themselves.
    pub(crate) fn log_slack(&self) -> u32 {
        let share = (self.owned + 2) / 64;
        match self.has_large_clusters() {
            false => share.clamp(3, 64),
            // A few of these are as long a log as many small ones.
            true => share.clamp(2, MOST_SLACK_BYTES / self.cluster_bytes),
        }
    }

    /// Whether the unused end of a cluster of the log is small against the cluster.
    pub(crate) fn has_large_clusters(&self) -> bool {
        self.cluster_bytes >= 4 << 20
    }

    /// Where a cluster begins on the disk, bytes.
    pub(crate) fn start_of(&self, cluster: u32) -> u64 {
        u64::from(cluster) * u64::from(self.cluster_bytes)
    }

    /// The cluster that contains a byte, and the offset in it.
    pub(crate) fn locate(&self, place: u64) -> (u32, u32) {
        let cluster_bytes = u64::from(self.cluster_bytes);
        (u32::try_from(place / cluster_bytes).unwrap_or(u32::MAX), (place % cluster_bytes) as u32)
    }

    /// Whether a cluster may hold a log.
    pub(crate) fn is_usable(&self, cluster: u32) -> bool {
        cluster > 0 && cluster < self.clusters - 1
    }

    /// Whether a range of the disk lies in clusters that may hold content.
    pub(crate) fn holds(&self, place: u64, length: u64) -> bool {
        let first = self.start_of(1);
        place >= first && place.checked_add(length).is_some_and(|end| end <= self.start_of(self.clusters - 1))
    }

    /// Rounds up to whole blocks.
    pub(crate) fn blocks(&self, bytes: u64) -> u64 {
        bytes.next_multiple_of(u64::from(self.block_bytes))
    }

    /// Blocks of a cluster.
    pub(crate) fn blocks_of_cluster(&self) -> usize {
        (self.cluster_bytes / self.block_bytes) as usize
    }

    /// Where the two copies of the record lie.
    pub(crate) fn bootstrap_places(&self) -> [u64; 2] {
        [0, self.start_of(self.clusters) - u64::from(self.block_bytes)]
    }

    /// Bytes of the record.
    pub(crate) fn bootstrap_bytes(block_bytes: u32) -> usize {
        block_bytes.min(4096) as usize
    }

    /// The record, one block long.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut record = Vec::new();
        record.put(MAGIC);
        record.put_u32(self.version);
        record.put_u32(0);
        record.put(&self.id);
        record.put_u32(self.block_bytes);
        record.put_u32(self.cluster_bytes);
        record.put_u64(u64::from(self.clusters));
        record.put_u64(self.made_ns);
        record.put_u32(self.small_max_bytes);
        record.put_u32(self.domains);
        record.put_u32(if self.is_mapped() { MAPPED } else { 0 });
        record.put_u32(if self.cleaning == CleaningDefaults::default() { 0 } else { CLEANING });
        if self.is_mapped() {
            [self.generation, self.map_runs, self.map_checksum].iter().for_each(|field| record.put_u32(*field));
        } else {
            record.resize(SHARE_AT, 0);
            record.put_u64(1);
            record.put_u64(u64::from(self.clusters) - 2);
        }
        record.resize(defaults::AT, 0);
        defaults::encode(&self.cleaning, &mut record);
        record.resize(Layout::bootstrap_bytes(self.block_bytes), 0);
        let checksum = crc32c(&record);
        record[12..16].copy_from_slice(&checksum.to_le_bytes());
        record
    }

    /// Decodes a record at the beginning of `bytes`.
    ///
    /// # Errors
    /// Why it is not a valid record.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Layout, Error> {
        let refuse = |why: &str| Error::Unusable(why.to_owned());
        let mut take = Take(bytes);
        let short = || refuse("the device is too short for a bootstrap record");
        if take.array::<8>().ok_or_else(short)? != *MAGIC {
            return Err(refuse("no logfs bootstrap record"));
        }
        let version = take.u32().ok_or_else(short)?;
        if !(1..=VERSION).contains(&version) {
            return Err(Error::Unusable(format!("format version {version}; this program supports up to {VERSION}")));
        }
        let checksum = take.u32().ok_or_else(short)?;
        let (layout, incompatible) = decode_fields(take).ok_or_else(short)?;
        let mut covered = bytes.get(..Layout::bootstrap_bytes(layout.block_bytes)).ok_or_else(short)?.to_vec();
        covered.get_mut(12..16).ok_or_else(short)?.fill(0);
        if crc32c(&covered) != checksum {
            return Err(refuse("the bootstrap record does not match its checksum"));
        }
        let has_cleaning = layout_compatible(&covered) & CLEANING != 0;
        let cleaning = if has_cleaning { defaults::decode(&covered).unwrap_or_default() } else { layout.cleaning };
        let layout = Layout { version, cleaning, ..layout };
        if incompatible & !MAPPED != 0 {
            return Err(Error::Unusable(format!("features {incompatible:#x}; this program supports {MAPPED:#x}")));
        }
        let is_mapped = incompatible & MAPPED != 0;
        if is_mapped != layout.is_mapped() || (!is_mapped && layout.domains != 1) {
            return Err(Error::Unusable(format!("{} domains, features {incompatible:#x}", layout.domains)));
        }
        if let Some(objection) = layout.objection() {
            return Err(Error::Unusable(objection));
        }
        Ok(layout)
    }
}

/// The set of compatible features of a record.
fn layout_compatible(record: &[u8]) -> u32 {
    record.get(COMPATIBLE_AT..).and_then(|bytes| Take(bytes).u32()).unwrap_or(0)
}

/// The fields after the checksum; the second value is the set of incompatible features.
fn decode_fields(mut take: Take<'_>) -> Option<(Layout, u32)> {
    let id = take.array()?;
    let (block_bytes, cluster_bytes) = (take.u32()?, take.u32()?);
    let clusters = u32::try_from(take.u64()?).ok()?;
    let (made_ns, small_max_bytes) = (take.u64()?, take.u32()?);
    let (domains, incompatible, _compatible) = (take.u32()?, take.u32()?, take.u32()?);
    let (generation, map_runs, map_checksum) = (take.u32()?, take.u32()?, take.u32()?);
    // Without a map these bytes are reserved and are ignored.
    let has_map = incompatible & MAPPED != 0;
    let (generation, map_runs, map_checksum) = if has_map { (generation, map_runs, map_checksum) } else { (0, 0, 0) };
    let owned = clusters.saturating_sub(2) / domains.max(1);
    let layout = Layout {
        block_bytes,
        cluster_bytes,
        clusters,
        small_max_bytes,
        id,
        made_ns,
        domains,
        domain: 0,
        owned,
        generation,
        map_runs,
        map_checksum,
        version: VERSION,
        cleaning: CleaningDefaults::default(),
    };
    Some((layout, incompatible))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cleaning::{Policy, ReadingCost};

    fn sample() -> Layout {
        Layout {
            block_bytes: 4096,
            cluster_bytes: 1 << 20,
            clusters: 1024,
            small_max_bytes: 4095,
            id: *b"0123456789abcdef",
            made_ns: 77,
            domains: 1,
            domain: 0,
            owned: 1022,
            generation: 0,
            map_runs: 0,
            map_checksum: 0,
            version: VERSION,
            cleaning: CleaningDefaults::default(),
        }
    }

    #[test]
    fn a_record_reads_as_it_was_written_and_any_flipped_byte_is_seen() {
        let mapped = Layout { domains: 7, owned: 146, generation: 3, map_runs: 7, map_checksum: 99, ..sample() };
        assert_eq!(Layout::decode(&mapped.encode()), Ok(mapped));
        let cleaning = CleaningDefaults {
            policy: Some(Policy::Dynamic { cap: 0.35 }),
            memory_bytes: Some(0),
            reading: Some(ReadingCost { request_ns: 5, kib_ns: 6 }),
        };
        let part = CleaningDefaults { policy: None, ..cleaning };
        for cleaning in [cleaning, part] {
            let told = Layout { cleaning, ..sample() };
            assert_eq!(Layout::decode(&told.encode()), Ok(told));
        }
        let record = sample().encode();
        assert_eq!(Layout::decode(&record), Ok(sample()));
        for at in 0..record.len() {
            let mut damaged = record.clone();
            damaged[at] ^= 0x40;
            assert!(Layout::decode(&damaged).is_err(), "byte {at}");
        }
        for length in [0, 8, 100, 4095] {
            assert!(Layout::decode(&record[..length]).is_err());
        }
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        for (change, word) in [
            (Layout { block_bytes: 1000, ..sample() }, "power of two"),
            (Layout { cluster_bytes: 8192, ..sample() }, "16 KiB to 16 MiB"),
            (Layout { small_max_bytes: 1 << 20, ..sample() }, "an eighth"),
            (Layout { clusters: 10, ..sample() }, "are needed"),
            (Layout { domains: 0, ..sample() }, "0 domains"),
            (Layout { domains: 64, ..sample() }, "expected 1 to 63"),
            (Layout { domains: 50, ..sample() }, "are needed"),
        ] {
            assert!(change.objection().is_some_and(|text| text.contains(word)), "{change:?}");
        }
        assert_eq!(sample().objection(), None);
    }
}
