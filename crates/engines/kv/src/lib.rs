//! The engine `kv`: jobs on a key-value store.
//!
//! ```text
//! block n of the job's file  ─▶  key of number n        value: the block's bytes (bs)
//! read   get, or a step of a cursor where the block follows the one read before
//! write  put        trim   deletion        fsync, fdatasync   an empty write that syncs the log
//! ```
//!
//! The threads of a run that name the same folder share one handle of the store. Jobs that are
//! processes cannot share it: a store belongs to one process.

mod lane;
mod options;
mod shared;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use iolab_engine::{Capabilities, Engine, EngineDescription, EngineProbe, FileUse, LaneRequest, OpenError};
use iolab_options::{Reach, Settings};

pub use lane::KvLane;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Kv;

impl Engine for Kv {
    type Lane = KvLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "kv",
        aliases: &["rocksdb"],
        summary: "Key-value stores: RocksDB where it is installed, fjall and redb built in",
        details: "Block n of the job's range is key number n, encoded as in db_bench. bs is the length of a value, \
            so size is bs times the number of keys. A write is a put, a trim a delete, a read a get; a read of the \
            next block is a cursor step (kv_scan). fsync and fdatasync sync the store's log. Reading a missing key \
            returns zeroes. The store is in store_path; jobs that share it need thread=1. iolab kv bench does the \
            same with db_bench's names.",
        options: &options::OPTIONS,
        capabilities: Capabilities {
            synchronous: true,
            files: FileUse::Nothing,
            extends_files: true,
            reach: Reach::Private,
            ..Capabilities::DEVICES
        },
        trials: &[EngineProbe {
            topic: "kv",
            words: &["--ioengine=kv", "--store=fjall", "--thread"],
            consequence: "jobs on key-value stores fail",
            mend: "",
        }],
    };

    fn opens(options: &Settings) -> Vec<PathBuf> {
        options.text("store_path").map(PathBuf::from).into_iter().collect()
    }

    fn open(request: &LaneRequest<'_>) -> Result<KvLane, OpenError> {
        KvLane::open(request)
    }
}
