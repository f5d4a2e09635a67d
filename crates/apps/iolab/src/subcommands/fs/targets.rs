//! What benchmarks of file systems run on, as their command lines say it.

use iolab_fs_commands::{LogfsSetting, cleaning_policy};
use iolab_logfs::Policy;

/// How logfs is made and used; folders are as they are.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LogfsArguments {
    /// logfs: unit in which space is given away
    #[arg(long, value_parser = super::size, default_value = "1m")]
    pub(super) cluster_size: u64,
    /// logfs: writes up to this length go into the metadata log; one byte less than a block unless
    /// told
    #[arg(long, value_parser = super::size)]
    pub(super) log_writes: Option<u64>,
    /// logfs: which clusters are cleaned: `greedy:K` (live share below K), `dynamic:MOST` (K grows
    /// as space runs out), `cost-benefit`
    #[arg(long, value_parser = cleaning_policy, default_value = "cost-benefit")]
    pub(super) policy: Policy,
    /// logfs: most bytes that one pass of cleaning holds in memory (M)
    #[arg(long, value_parser = super::size, default_value = "8m")]
    pub(super) cleaning_memory: u64,
    /// Size of an image that does not exist yet
    #[arg(long, value_parser = super::size)]
    pub(super) image_size: Option<u64>,
    /// Overwrite what images hold
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
