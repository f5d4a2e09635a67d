//! The engines `gfapi` and `gfapi_async`: files of Gluster volumes, by `libgfapi`, which is loaded
//! when it is needed.
//!
//! ```text
//! options ─ volume: connected, files open ▶ sync_lane  ─ glfs_pread, … ─▶ bricks
//!                                         ▶ async_lane ─ glfs_pread_async, … ─▶ threads of libgfapi ─▶ bricks
//!                                               ▲                                     │
//!                                               └────── mailbox, its eventfd ─────────┘
//! ```
//!
//! Unsafe island: the library's threads read and write slots while a lane owns them.
#![allow(unsafe_code, reason = "island: a C library, called with pointers into slots")]

mod async_client;
mod library;
mod options;
mod sync_lane;
#[cfg(test)]
mod tests;
mod volume;

use std::path::{Path, PathBuf};

use iolab_engine::{
    Capabilities, ClientLane, Engine, EngineDescription, EngineLibrary, FileUse, LaneRequest, OpenError,
};
use iolab_options::Settings;

pub use async_client::GfapiAsyncClient;
pub use sync_lane::GfapiLane;

const CAPABILITIES: Capabilities =
    Capabilities { files: FileUse::Objects, extends_files: true, ..Capabilities::DEVICES };

/// The engine that waits for each operation.
#[derive(Debug, Clone, Copy)]
pub struct Gfapi;

impl Engine for Gfapi {
    type Lane = GfapiLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "gfapi",
        aliases: &[],
        summary: "Files of Gluster volumes, by libgfapi, one operation at a time, without a mount",
        details: "volume and brick name the volume, filename its files; without filename they are named after the job. \
            A file that is not there is made, with the sticky bit as a mark. Reads, writes, trims and fsyncs become \
            glfs_pread, glfs_pwrite, glfs_discard and glfs_fsync. A file that holds data and has no mark is not written \
            to, unless --allow-destroy names it. Each job is a client of its own, a thread of one process.",
        options: &options::OPTIONS,
        capabilities: Capabilities { synchronous: true, ..CAPABILITIES },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<GfapiLane, OpenError> {
        GfapiLane::open(request)
    }

    fn overwrite_refusal(file: &Path, options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
        volume::refusal(file, options, job, allowed)
    }

    fn library() -> Option<EngineLibrary> {
        Some(library::described())
    }
}

/// The engine with a queue.
#[derive(Debug, Clone, Copy)]
pub struct GfapiAsync;

impl Engine for GfapiAsync {
    type Lane = ClientLane<GfapiAsyncClient>;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "gfapi_async",
        aliases: &[],
        summary: "Files of Gluster volumes, by libgfapi, up to iodepth operations at once, without a mount",
        details: "As gfapi, with glfs_pread_async and its kin: threads of the library carry operations out and say when \
            they are complete.",
        options: &options::OPTIONS,
        capabilities: CAPABILITIES,
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<ClientLane<GfapiAsyncClient>, OpenError> {
        GfapiAsyncClient::open(request).map(ClientLane::new)
    }

    fn overwrite_refusal(file: &Path, options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
        volume::refusal(file, options, job, allowed)
    }

    fn library() -> Option<EngineLibrary> {
        Some(library::described())
    }
}
