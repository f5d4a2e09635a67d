//! Which operations a worker performs: the input, together with the seed, of its deterministic
//! stream.

use iolab_options::{Direction, Distribution, PerDirection, Percent, RateProcess};
use serde::{Deserialize, Serialize};

use crate::{PriorityPlan, ZonePlan};

/// The stream's description. Same plan and seed, same stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadPlan {
    /// The parsed value of `rw=`.
    pub pattern: Pattern,
    /// Seed of every random choice of this worker.
    pub seed: u64,
    /// Seed of buffer contents.
    pub buffer_seed: u64,
    /// Percent of reads in mixed patterns; a fraction is kept exactly.
    pub read_percent: Percent,
    /// Chance (percent) that a random pattern's next offset is random, per direction.
    pub random_percent: PerDirection<u32>,
    /// Sizes of operations, per direction.
    pub block_sizes: PerDirection<BlockSizes>,
    /// Offsets are multiples of this, per direction (`blockalign`; the smallest block by default).
    pub align_bytes: PerDirection<u64>,
    /// Sizes need not be multiples of the smallest block.
    pub unaligned_sizes: bool,
    /// Sequential operations use the read direction's sizes and random ones the write's
    /// (`bs_is_seq_rand`).
    pub sizes_by_randomness: bool,
    /// Distribution of random offsets, per direction.
    pub distributions: PerDirection<Distribution>,
    /// Whether each block is visited once per pass.
    pub random_map: RandomMap,
    /// Generator of random numbers.
    pub generator: RandomGenerator,
    /// Which file next.
    pub file_service: FileService,
    /// Flushes put into the stream.
    pub sync: SyncCadence,
    /// `zonemode=strided`.
    pub stride: Option<StridePlan>,
    /// `zonemode=zbd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<ZonePlan>,
    /// Ranges of each trim, if it has several (`num_range`); the block size is that of all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim_ranges: Option<u32>,
    /// `sprandom`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sprandom: Option<SprandomPlan>,
    /// Operations with a priority of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priorities: Option<PriorityPlan>,
    /// Operations per second of reads, writes and trims, when a mix has a rate for each: the next
    /// direction is then the one that is due, not a random one.
    pub mix_by_rate: Option<PerDirection<u64>>,
    /// How rate-mixed arrivals are spread.
    pub mix_process: RateProcess,
}

/// The parts of `rw=`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pattern {
    /// fio's word, e.g. `randrw`.
    pub word: String,
    /// Which directions occur.
    pub directions: Vec<Direction>,
    /// Offsets are random.
    pub random: bool,
    /// `trimwrite`/`randtrimwrite`: each block is trimmed, then written.
    pub trim_then_write: bool,
    /// `:N`: this many operations share one offset decision (1: every operation decides).
    pub every: u32,
    /// `:Nk`: bytes added to each next sequential offset (may be negative).
    pub skip_bytes: i64,
    /// What `:N` repeats.
    pub sequencer: Sequencer,
}

/// `rw_sequencer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Sequencer {
    /// The next N operations follow sequentially.
    Sequential,
    /// The next N operations repeat the offset.
    Identical,
}

/// Sizes of one direction's operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum BlockSizes {
    /// Always this many bytes.
    Fixed(u64),
    /// Uniform over multiples of the minimum within the range, bytes.
    Range {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// `(bytes, share in percent)`, shares summing to 100.
    Split(Vec<(u64, u32)>),
}

impl BlockSizes {
    /// Smallest size, bytes.
    pub fn min(&self) -> u64 {
        match self {
            BlockSizes::Fixed(bytes) => *bytes,
            BlockSizes::Range { min, .. } => *min,
            BlockSizes::Split(parts) => parts.iter().map(|part| part.0).min().unwrap_or(0),
        }
    }

    /// Largest size, bytes.
    pub fn max(&self) -> u64 {
        match self {
            BlockSizes::Fixed(bytes) => *bytes,
            BlockSizes::Range { max, .. } => *max,
            BlockSizes::Split(parts) => parts.iter().map(|part| part.0).max().unwrap_or(0),
        }
    }
}

/// Whether random offsets cover every block once before any repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RandomMap {
    /// They do.
    On,
    /// They do not (`norandommap`).
    Off,
}

/// `random_generator`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RandomGenerator {
    /// The default generator (fio's names `tausworthe` and `tausworthe64` select it).
    Default,
    /// A linear feedback shift register: visits each block once without a map.
    Lfsr,
}

/// `file_service_type`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileService {
    /// How the next file is chosen.
    pub kind: FileServiceKind,
    /// Operations before switching.
    pub every: u32,
    /// Files in use at once (`openfiles`).
    pub open_files: u32,
}

/// How the next file is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FileServiceKind {
    /// In turn.
    RoundRobin,
    /// One to its end, then the next.
    Sequential,
    /// Uniformly.
    Random,
    /// Zipf over files, exponent.
    Zipf(f64),
    /// Pareto over files, power.
    Pareto(f64),
    /// Normal over files, deviation in percent.
    Gauss(f64),
}

/// Flushes inserted into the stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncCadence {
    /// `fsync` after this many writes; 0: never.
    pub fsync_every: u32,
    /// `fdatasync` after this many writes; 0: never.
    pub fdatasync_every: u32,
    /// `fsync` after this many writes that also waits for everything before (`write_barrier`); 0:
    /// never.
    pub barrier_every: u32,
    /// `sync_file_range`.
    pub file_range: Option<SyncFileRangePlan>,
}

/// `sync_file_range=wait_before,write:8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncFileRangePlan {
    /// `SYNC_FILE_RANGE_*` bits.
    pub flags: u32,
    /// After this many writes.
    pub every: u32,
}

/// `zonemode=strided`: work within a zone for `zone_bytes`, then skip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StridePlan {
    /// `zonerange`: size of a zone, bytes.
    pub range_bytes: u64,
    /// `zonesize`: bytes of I/O in a zone before the next.
    pub zone_bytes: u64,
    /// `zoneskip`: bytes between zones.
    pub skip_bytes: u64,
}

/// `sprandom`: fill an SSD so that it is in the steady state of random writes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SprandomPlan {
    /// `spr_op`: spare flash divided by capacity.
    pub over_provisioning: f64,
    /// `spr_num_regions`: parts of the flash that are filled one after the other.
    pub regions: u32,
    /// `spr_cs`: write cache of the drive, bytes; 0: none.
    pub cache_bytes: u64,
}

impl SprandomPlan {
    /// Writes of one pass over `blocks` blocks.
    pub fn writes(&self, blocks: u64) -> u64 {
        blocks + (blocks as f64 * self.over_provisioning) as u64
    }
}
