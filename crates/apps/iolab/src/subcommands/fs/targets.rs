//! What benchmarks of file systems run on, as their command lines say it.

use iolab_fs_commands::{LogfsSetting, cleaning_policy};
use iolab_logfs::Policy;

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
    /// logfs: cleaning policy: `greedy:K` (clusters with a live share below K), `dynamic:MOST` (K
    /// grows as space runs out), or `cost-benefit`
    #[arg(long, value_parser = cleaning_policy, default_value = "cost-benefit")]
    pub(super) policy: Policy,
    /// logfs: memory limit of one cleaning pass
    #[arg(long, value_parser = super::size, default_value = "8m")]
    pub(super) cleaning_memory: u64,
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
            policy: self.policy,
            cleaning_bytes: self.cleaning_memory,
            image_bytes: self.image_size,
            force: self.force,
        }
    }
}
