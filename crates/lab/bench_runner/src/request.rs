//! What is to be measured.

use std::path::PathBuf;

use iolab_bench::BenchProfile;

/// What is measured, for how long, by which patterns.
#[derive(Debug, Clone, Copy)]
pub struct BenchRequest<'a> {
    /// A folder (gets a temporary file), a file, a block device, or an NVMe device.
    pub target: &'a str,
    /// The patterns.
    pub profile: &'static BenchProfile,
    /// Duration of all measurements together, ns.
    pub time_ns: u64,
    /// Rounds; each runs every pattern once.
    pub rounds: u32,
    /// A first look: the temporary file is smaller.
    pub is_quick: bool,
    /// Size of the temporary file, or how much of a file or device is used, bytes.
    pub size_bytes: Option<u64>,
    /// What may be overwritten, whatever it contains.
    pub allowed: &'a [PathBuf],
}
