//! Jobs as Seastar's `io_tester` describes them, on any store.
//!
//! ```text
//!  conf.yaml ─▶ document ─▶ conf ─▶ jobs × shards ─▶ load ─▶ one result for each job on each shard
//!               (lines)     (what has a meaning here)
//! ```
//!
//! The keys are those of <https://github.com/scylladb/seastar/blob/master/doc/io-tester.md>. A key
//! without a meaning here is refused with its line and the reason, never ignored. Each shard has
//! its own thread, as in Seastar, and on an image its own domain of the file system. The results of
//! all shards are combined for each job.

mod conf;
mod document;
mod fields;
mod load;
mod result;

pub use conf::{ArrivalPacing, Job, JobKind, Shards, TesterConf};
pub use load::{TesterOptions, run_tester};
pub use result::{JobResult, TesterResult};

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
