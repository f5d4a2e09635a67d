//! The properties of an engine that a reader of figures must know, independent of its name.
//!
//! Engines declare them; plans and recordings contain them. Years later, a rule can still
//! distinguish a load on a disk from one without storage, even for engines that this program no
//! longer has.

use serde::{Deserialize, Serialize};

/// Where the operations of an engine go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Files and devices of the kernel: operations appear in the counters of block devices.
    BlockLayer,
    /// A device that the engine drives itself; the kernel counts nothing.
    Device,
    /// Storage of its own, such as a file system within the process.
    Private,
    /// Names and sizes of files; no data moves.
    Names,
    /// Another program or host, over sockets.
    Network,
    /// The processor only.
    Processor,
    /// Programs that the job starts; what they do is unknown.
    Programs,
    /// Nothing: an operation is complete as soon as it is submitted.
    Nothing,
    /// Unknown: the plan comes from another program.
    Unknown,
}

/// Whether data goes through the kernel's page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PageCache {
    /// Never.
    Never,
    /// Unless the job says `direct=1`.
    UnlessDirect,
    /// Regardless of the job.
    Always,
}

/// An engine with the options that one worker gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EngineTraits {
    /// Where its operations go.
    pub reach: Reach,
    /// Whether their data goes through the page cache.
    pub page_cache: PageCache,
    /// Whether an operation is complete when it has been submitted.
    pub synchronous: bool,
    /// Whether it, or the kernel for it, polls for completions, so that a busy processor means
    /// nothing.
    pub polls: bool,
    /// Whether it reads files that a job only writes.
    pub reads_to_write: bool,
}

impl EngineTraits {
    /// The traits of an unknown engine.
    pub const UNKNOWN: EngineTraits = EngineTraits {
        reach: Reach::Unknown,
        page_cache: PageCache::Never,
        synchronous: false,
        polls: false,
        reads_to_write: false,
    };

    /// Whether its data goes through the page cache in a job with, or without, `direct=1`.
    pub fn is_buffered(&self, direct: bool) -> bool {
        match self.page_cache {
            PageCache::Never => false,
            PageCache::UnlessDirect => !direct,
            PageCache::Always => true,
        }
    }
}
