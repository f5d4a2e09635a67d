//! Why a stream cannot be made from a plan: the user's mistakes, and what to change.

use iolab_plan::Direction;

/// A plan and files from which no stream of operations can be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WorkloadError {
    /// The pattern names no direction.
    #[error("the access pattern `{word}` neither reads, writes nor trims; choose read, write, trim, randread, …")]
    NoDirection {
        /// The pattern's word.
        word: String,
    },
    /// The job has no files.
    #[error("the job has no files; set filename=, directory= or nrfiles=")]
    NoFiles,
    /// No file holds a single block of every direction.
    #[error(
        "no file has room for one block of {block_bytes} bytes (the largest has {largest_bytes}); lower bs= or raise size="
    )]
    NoRoom {
        /// Smallest block that must fit.
        block_bytes: u64,
        /// Longest file extent.
        largest_bytes: u64,
    },
    /// An extent reaches past the largest `off_t`.
    #[error("file {file} ends at {end_bytes} bytes, past the largest offset of the system; lower size= or offset=")]
    BeyondOffsets {
        /// Index of the file.
        file: usize,
        /// Where it would end.
        end_bytes: u128,
    },
    /// An invalid block size.
    #[error("{} blocks: {reason}; correct bs=, bsrange= or bssplit=", direction.name())]
    BlockSize {
        /// Affected direction.
        direction: Direction,
        /// What is wrong with it.
        reason: String,
    },
    /// `blockalign` of zero.
    #[error("{} offsets cannot be multiples of 0; set blockalign= to a positive number", direction.name())]
    Align {
        /// Affected direction.
        direction: Direction,
    },
    /// A distribution with invalid parameters.
    #[error("random_distribution for {}: {reason}", direction.name())]
    Distribution {
        /// Affected direction.
        direction: Direction,
        /// What is wrong, and what would be valid.
        reason: String,
    },
    /// `file_service_type` with an invalid parameter.
    #[error("file_service_type: {reason}")]
    FileService {
        /// What is wrong, and what would be valid.
        reason: String,
    },
    /// `zonemode=strided` with a zone that holds no block.
    #[error("zonerange of {range_bytes} bytes holds no block of {block_bytes} bytes; raise zonerange= or lower bs=")]
    Stride {
        /// The zone.
        range_bytes: u64,
        /// The block.
        block_bytes: u64,
    },
}
