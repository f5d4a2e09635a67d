//! Replaying: operations that come from a trace instead of a pattern, and the facts about the trace
//! that are known before the run.
//!
//! ```text
//!  trace ─▶ survey (read once, before the run) ─▶ shares: threads that one worker replays ─▶ ReplayPlan of each
//! ```
//! Threads of a trace that never existed at the same time may share one worker.

use serde::{Deserialize, Serialize};

/// The operations of a worker that replays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayPlan {
    /// The trace: one of iolab's, an iolog, strace's text, or the files of one blktrace.
    pub paths: Vec<String>,
    /// Its checksum when the plan was made: a changed file is refused.
    pub identity: TraceIdentity,
    /// Which share of the trace.
    pub share: u32,
    /// The share of each thread of the trace, by its number.
    pub share_of_thread: Vec<u32>,
    /// The number of the worker that has share 0; the others follow it.
    pub first_worker: u32,
    /// The numbers that the files of the worker have in the trace, in the plan's order.
    pub files: Vec<u32>,
    /// The changes to the trace's operations.
    pub rules: ReplayRules,
    /// Operations of this share.
    pub operations: u64,
    /// When the last of them begins, ns after the first of the trace, at its own speed.
    pub span_ns: u64,
}

/// The identity of a trace file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceIdentity {
    /// Bytes of all files together.
    pub bytes: u64,
    /// When the last of them was changed, ns since the Unix epoch.
    pub modified_unix_ns: u64,
}

/// The changes that a replay makes to its trace.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayRules {
    /// Send each operation at its time in the trace; otherwise as fast as the order allows.
    pub timed: bool,
    /// Times are divided by this.
    pub speed: f64,
    /// Offsets are divided by this.
    pub divide_offsets: u32,
    /// Offsets are rounded down to multiples of this, bytes; 0: they are not.
    pub align_bytes: u64,
    /// Kinds that are left out: reads, writes, trims, syncs.
    pub skip: [bool; 4],
    /// No operation is longer than this, bytes: longer ones become several.
    pub longest_bytes: u32,
}

impl Default for ReplayRules {
    /// Unchanged, at its own times.
    fn default() -> ReplayRules {
        ReplayRules {
            timed: true,
            speed: 1.0,
            divide_offsets: 1,
            align_bytes: 0,
            skip: [false; 4],
            longest_bytes: 8 << 20,
        }
    }
}

/// The contents of a trace, as far as a plan needs them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplaySurvey {
    /// The file or files as they were read.
    pub identity: TraceIdentity,
    /// The shares; at least one.
    pub shares: Vec<ReplayShare>,
    /// The share of each thread.
    pub share_of_thread: Vec<u32>,
    /// Files that are replayed, ascending in number.
    pub files: Vec<ReplayFile>,
    /// When the last operation begins, ns after the first.
    pub span_ns: u64,
    /// What is not replayed, and how often.
    pub left_out: Vec<(String, u64)>,
}

/// The share of one worker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayShare {
    /// Numbers of its files in the trace, ascending.
    pub files: Vec<u32>,
    /// Operations, syncs included.
    pub operations: u64,
    /// Bytes read, written, trimmed.
    pub bytes: [u64; 3],
    /// Reads, writes, trims, syncs.
    pub counts: [u64; 4],
    /// The longest operation, bytes.
    pub longest_bytes: u64,
    /// The largest number of operations in progress at the same time.
    pub most_in_flight: u32,
    /// Transfers that bypassed the page cache.
    pub direct: u64,
    /// When its last operation begins, ns after the first of the trace.
    pub span_ns: u64,
}

/// A replayed file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayFile {
    /// Its number in the trace.
    pub number: u32,
    /// Its path there.
    pub path: String,
    /// Whether it was a block device.
    pub block_device: bool,
    /// Its size when it was first seen, bytes; `None` if that is not known.
    pub size_bytes: Option<u64>,
    /// Where its last operation ends, bytes.
    pub end_bytes: u64,
    /// Where its last read ends, bytes.
    pub read_end_bytes: u64,
}
