//! The content of written buffers, and the memory of buffers.

use serde::{Deserialize, Serialize};

/// Buffers of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BufferPlan {
    /// Bytes of each slot: the largest block of any direction.
    pub slot_bytes: u64,
    /// Displacement of each buffer from a page boundary (`iomem_align`), bytes.
    pub offset_bytes: u64,
    /// Where the memory comes from.
    pub memory: BufferMemory,
    /// The content of writes.
    pub content: BufferContent,
    /// New content for every write, instead of once at the start.
    pub refill: bool,
    /// Change a few bytes of every block between writes, so that no two are equal.
    pub scramble: bool,
    /// Percent of each chunk that compresses away; `None`: incompressible.
    pub compress_percent: Option<u32>,
    /// Chunk the percentage holds for, bytes.
    pub compress_chunk_bytes: u64,
    /// Percent of writes that repeat an earlier buffer.
    pub dedupe_percent: u32,
    /// Repeat from a working set of this percent of the blocks instead of the previous buffer.
    pub dedupe_working_set_percent: Option<u32>,
    /// Buffer seeds of all workers that share their working sets, this one included; empty if it
    /// has one of its own (`dedupe_global`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dedupe_seeds: Vec<u64>,
}

impl BufferPlan {
    /// Plain memory whose content stays as it is.
    pub fn new(slot_bytes: u64, content: BufferContent) -> BufferPlan {
        BufferPlan {
            slot_bytes,
            offset_bytes: 0,
            memory: BufferMemory::Anonymous,
            content,
            refill: false,
            scramble: false,
            compress_percent: None,
            compress_chunk_bytes: 0,
            dedupe_percent: 0,
            dedupe_working_set_percent: None,
            dedupe_seeds: Vec::new(),
        }
    }
}

/// `mem=`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BufferMemory {
    /// Private anonymous pages (fio's `malloc` and `mmap`).
    Anonymous,
    /// Pages shared between processes (fio's `shm`).
    Shared,
    /// Huge pages of this size (fio's `shmhuge`, `mmaphuge` without a file).
    Huge {
        /// Size of one huge page, bytes.
        page_bytes: u64,
    },
    /// A mapped file.
    File {
        /// Its path.
        path: String,
        /// `MAP_SHARED`.
        shared: bool,
    },
}

/// The content of writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BufferContent {
    /// Pseudo-random bytes.
    Random,
    /// Zeroes.
    Zero,
    /// These bytes, repeated.
    Pattern(Vec<u8>),
}
