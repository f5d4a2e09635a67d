//! Jobs as Seastar's `io_tester` describes them, on any store.
//!
//! ```text
//!  conf.yaml ─▶ document ─▶ conf ─▶ jobs × shards ─▶ load ─▶ one result for each job on each shard
//!               (lines)     (what has a meaning here)
//! ```
//!
//! The keys are those of <https://github.com/scylladb/seastar/blob/master/doc/io-tester.md>. What has no meaning here is refused with its line and the
//! reason, never passed over. One thread drives the jobs of all shards, as Seastar has one thread for each shard: a shard is a set of files and workers
//! of its own, not a processor core.

mod conf;
mod document;
mod fields;
mod load;

pub use conf::{Job, Kind, Pace, Shards, TesterConf};
pub use load::{JobResult, TesterOptions, run_tester};

/// What is wrong with a description of jobs, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ConfError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong, and what may be written instead.
    pub message: String,
}

impl ConfError {
    fn new(line: usize, message: impl Into<String>) -> ConfError {
        ConfError { line, message: message.into() }
    }
}
