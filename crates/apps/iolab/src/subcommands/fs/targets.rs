//! The arguments that say what file system benchmarks run on.

use iolab_fs_commands::LogfsSetting;
use iolab_logfs::Policy;

/// How clusters are cleaned; what is not said is as the image says, or as usual.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct CleaningArguments {
    /// logfs: which clusters to clean, and when: `threshold:K` (once the clusters with a live share
    /// below K fill the memory), `dynamic:CAP` (the same, K being the share of free clusters, at
    /// most CAP), `cost-benefit` (the default) or `greedy` (both when space is short)
    #[arg(long, value_name = "POLICY")]
    pub(super) policy: Option<Policy>,
    /// logfs: memory of one cleaning pass for live data (8m by default); 0 moves nothing
    #[arg(long = "cleaning-memory", value_name = "SIZE", value_parser = super::size)]
    pub(super) memory: Option<u64>,
}

/// How logfs is made and used; folders are as they are.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LogfsArguments {
    /// logfs: allocation unit
    #[arg(long, value_parser = super::size, default_value = "1m")]
    pub(super) cluster_size: u64,
    /// logfs: store writes up to this length in the metadata log; by default one byte less than a
    /// block
    #[arg(long, value_parser = super::size)]
    pub(super) log_writes: Option<u64>,
    #[command(flatten)]
    cleaning: CleaningArguments,
    /// Size of new images
    #[arg(long, value_parser = super::size)]
    pub(super) image_size: Option<u64>,
    /// Overwrite existing images
    #[arg(long, short)]
    pub(super) force: bool,
}

impl LogfsArguments {
    pub(super) fn setting(&self) -> LogfsSetting {
        LogfsSetting {
            cluster_bytes: self.cluster_size,
            log_writes_bytes: self.log_writes,
            policy: self.cleaning.policy,
            cleaning_bytes: self.cleaning.memory,
            shared_root: false,
            image_bytes: self.image_size,
            force: self.force,
        }
    }
}
