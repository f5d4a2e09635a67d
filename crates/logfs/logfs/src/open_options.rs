//! Options for using an open file system.

use iolab_clock::Clock;
use iolab_executor::Spawner;

use crate::Disk;
use crate::cleaning::{CleaningDefaults, Policy, ReadingCost};

/// When content that is read is compared with its checksum
/// (docs/decisions/0012-reads-are-verified-where-content-outlives-the-process.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VerifyReads {
    /// On every device except memory of this process: no other process writes that, and its content
    /// is no older than the process.
    #[default]
    ByDevice,
    /// On every device.
    Always,
    /// On none.
    Never,
}

impl VerifyReads {
    /// Whether reads from this disk are verified.
    pub fn covers(self, disk: &Disk) -> bool {
        match self {
            VerifyReads::ByDevice => !disk.is_memory(),
            VerifyReads::Always => true,
            VerifyReads::Never => false,
        }
    }
}

/// The clock that an open file system reads, and the executor that runs its background tasks. Cheap
/// to clone.
#[derive(Debug, Clone)]
pub struct Runtime {
    /// Source of times and timers.
    pub clock: Clock,
    /// Starts tasks on the executor, which the disk drives.
    pub spawner: Spawner,
}

/// Options for using an open file system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenOptions {
    /// Most bytes of small writes kept in memory. Before the limit is reached, what was written
    /// longest ago is moved to the data log; small writes that would still exceed it go there at
    /// once. `None`: 64 MiB, but no more than a 64th of the domain, because every checkpoint
    /// contains all of it.
    pub inline_bytes: Option<u64>,
    /// How clusters are chosen for cleaning; `None`: as the image says.
    pub policy: Option<Policy>,
    /// Most bytes of live content that one cleaning pass holds in memory (the thesis's M, in
    /// bytes); with 0, content is never moved. `None`: as the image says.
    pub cleaning_bytes: Option<u64>,
    /// The cost of reading from the device, for choosing what to read of a cluster being cleaned;
    /// `None`: as the image says.
    pub reading: Option<ReadingCost>,
    /// Files that reads find in many small pieces are defragmented in the background; this moves at
    /// most this share of the bytes read, in percent. 0: never.
    pub defragment_percent: u32,
    /// Whether everything read from files is compared with its checksum. Cleaning and
    /// defragmentation always compare.
    pub verify_reads: VerifyReads,
    /// Whether free clusters are discarded on the device before they are used again.
    pub discard: bool,
    /// Whether closing writes a checkpoint when much has changed since the last one, so that the
    /// next opening is quick, or when the checkpoint would be small, so that everything is on the
    /// disk twice.
    pub closing_checkpoint: bool,
    /// A checkpoint is written when this time has passed since the last one and much has changed,
    /// ns; also, in any case, when the log has grown to several times the length of a checkpoint.
    pub checkpoint_interval_ns: u64,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            inline_bytes: None,
            policy: None,
            cleaning_bytes: None,
            reading: None,
            defragment_percent: 0,
            verify_reads: VerifyReads::default(),
            discard: false,
            closing_checkpoint: true,
            checkpoint_interval_ns: 300_000_000_000,
        }
    }
}

impl OpenOptions {
    /// Most bytes of small writes in memory, in a domain of this size.
    pub(crate) fn inline_limit(&self, domain_bytes: u64) -> u64 {
        self.inline_bytes.unwrap_or_else(|| (domain_bytes / 64).min(64 << 20))
    }
}

/// The cleaning settings of an open file system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CleaningSettings {
    /// How clusters are chosen.
    pub policy: Policy,
    /// Most bytes of live content that one pass holds in memory.
    pub memory_bytes: u64,
    /// The cost of reading from the device.
    pub reading: ReadingCost,
}

impl CleaningSettings {
    /// What the options say, otherwise the image, otherwise the default.
    pub(crate) fn of(options: &OpenOptions, stored: &CleaningDefaults) -> CleaningSettings {
        CleaningSettings {
            policy: options.policy.or(stored.policy).unwrap_or_default(),
            memory_bytes: options.cleaning_bytes.or(stored.memory_bytes).unwrap_or(8 << 20),
            reading: options.reading.or(stored.reading).unwrap_or_default(),
        }
    }

    /// Whether content can ever be moved.
    pub(crate) fn moves(&self) -> bool {
        self.policy.moves() && self.memory_bytes > 0
    }
}
