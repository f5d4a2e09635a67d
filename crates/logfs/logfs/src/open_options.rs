//! How a file system is used while it is open.

use iolab_clock::Clock;
use iolab_executor::Spawner;

use crate::Disk;
use crate::cleaning::{CleaningDefaults, Policy, ReadingCost};

/// When content that is read is held against its checksum
/// (docs/decisions/0012-reads-are-verified-where-content-outlives-the-process.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VerifyReads {
    /// On every device but memory of this process: nobody else writes that, and nothing in it is
    /// older than the process.
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

/// What an open file system lives by: the clock that it reads, and the executor that runs its
/// background tasks. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Runtime {
    /// Where times and waiting come from.
    pub clock: Clock,
    /// Starts tasks on the executor, which the disk drives.
    pub spawner: Spawner,
}

/// How to use a file system while it is open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenOptions {
    /// Most bytes of small writes that are kept in memory. Before it is reached, what was written
    /// longest ago is moved to the data log; small writes that would exceed it all the same go
    /// there at once. `None`: 64 MiB, but no more than a 64th of the domain, because every
    /// checkpoint holds all of it.
    pub inline_bytes: Option<u64>,
    /// How clusters are chosen for cleaning; `None`: as the image says.
    pub policy: Option<Policy>,
    /// Most bytes of live content that one pass of cleaning holds in memory (the thesis's M, in
    /// bytes); with 0 nothing is ever moved. `None`: as the image says.
    pub cleaning_bytes: Option<u64>,
    /// What reading takes on the device, for choosing what to read of a cluster that is cleaned;
    /// `None`: as the image says.
    pub reading: Option<ReadingCost>,
    /// Files that reads find in many small pieces are put together in the background; that moves at
    /// most this share of the bytes that are read, percent. 0: never.
    pub defragment_percent: u32,
    /// Whether everything that is read of files is held against its checksum. Cleaning and
    /// defragmentation do so in any case.
    pub verify_reads: VerifyReads,
    /// Whether the device is told which clusters are free, before they are used again.
    pub discard: bool,
    /// Whether closing writes a checkpoint when much has changed since the last one, so that the
    /// next opening is quick, or when there is little to write in it, so that everything stands on
    /// the disk twice.
    pub closing_checkpoint: bool,
    /// A checkpoint is written when this has passed since the last one and much has changed, ns;
    /// also, in any case, when the log has grown to some times the length of a checkpoint.
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

/// How an open file system is cleaned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CleaningSettings {
    /// How clusters are chosen.
    pub policy: Policy,
    /// Most bytes of live content that one pass holds in memory.
    pub memory_bytes: u64,
    /// What reading takes on the device.
    pub reading: ReadingCost,
}

impl CleaningSettings {
    /// What the options say, else the image, else what is usual.
    pub(crate) fn of(options: &OpenOptions, stored: &CleaningDefaults) -> CleaningSettings {
        CleaningSettings {
            policy: options.policy.or(stored.policy).unwrap_or_default(),
            memory_bytes: options.cleaning_bytes.or(stored.memory_bytes).unwrap_or(8 << 20),
            reading: options.reading.or(stored.reading).unwrap_or_default(),
        }
    }

    /// Whether anything may ever be moved.
    pub(crate) fn moves(&self) -> bool {
        self.policy.moves() && self.memory_bytes > 0
    }
}
