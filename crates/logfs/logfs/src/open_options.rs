//! How a file system is used while it is open.

use crate::Disk;
use crate::cleaning::{Policy, ReadingCost};

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

/// How to use a file system while it is open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenOptions {
    /// Most bytes of small writes that are kept in memory. Before it is reached, what was written
    /// longest ago is moved to the data log; small writes that would exceed it all the same go
    /// there at once.
    pub inline_bytes: u64,
    /// How clusters are chosen for cleaning.
    pub policy: Policy,
    /// Most bytes that one pass of cleaning holds in memory (the thesis's M, in bytes).
    pub cleaning_bytes: u64,
    /// What reading takes on the device, for choosing what to read of a cluster that is cleaned.
    pub reading: ReadingCost,
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
            inline_bytes: 64 << 20,
            policy: Policy::CostBenefit,
            cleaning_bytes: 8 << 20,
            reading: ReadingCost::default(),
            verify_reads: VerifyReads::default(),
            discard: false,
            closing_checkpoint: true,
            checkpoint_interval_ns: 300_000_000_000,
        }
    }
}
