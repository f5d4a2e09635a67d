//! The engines on ranges of open files: their descriptions.

use iolab_engine::{Capabilities, Engine, EngineDescription, FileEffect, LaneRequest, OpenError};
use iolab_options::{PageCache, Reach};

use crate::fileops::{Allocate, RangeLane, Truncate};

const CAPABILITIES: Capabilities = Capabilities {
    synchronous: true,
    moves_data: false,
    effect: FileEffect::Changes,
    reach: Reach::Names,
    page_cache: PageCache::Never,
    ..Capabilities::FILES
};

/// The engine `falloc`.
#[derive(Debug)]
pub struct Falloc;

impl Engine for Falloc {
    type Lane = RangeLane<Allocate>;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "falloc",
        aliases: &[],
        summary: "Allocates and frees ranges: fallocate(2)",
        details: "A read is fallocate(2) with KEEP_SIZE, a write fallocate(2) with mode 0, which makes the file \
                  longer, a trim fallocate(2) with KEEP_SIZE and PUNCH_HOLE, each of the operation's range. No \
                  data moves. A file opened for reading only is opened again for writing.",
        options: &[],
        capabilities: CAPABILITIES,
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<Self::Lane, OpenError> {
        RangeLane::open(request)
    }
}

/// The engine `ftruncate`.
#[derive(Debug)]
pub struct Ftruncate;

impl Engine for Ftruncate {
    type Lane = RangeLane<Truncate>;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "ftruncate",
        aliases: &[],
        summary: "Sets file sizes: ftruncate(2) to the offset of each write",
        details: "A write is ftruncate(2) to the operation's offset; the block size is ignored, as in fio. Reads \
                  and trims are refused. No data moves, but what lies beyond the offset is lost.",
        options: &[],
        capabilities: Capabilities { trims: false, effect: FileEffect::ByDirection, ..CAPABILITIES },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<Self::Lane, OpenError> {
        RangeLane::open(request)
    }
}
