//! The `nfs` engine: files of NFS servers, by the library `libnfs`, which is loaded when it is
//! needed. Nothing is mounted.
//!
//! ```text
//! url ─ mount: connected, files open ▶ lane ─ nfs_pread_async … ▶ libnfs ─▶ sockets     all on the lane's
//!                                       ▲                           │                   thread: poll(2),
//!                                       └── mailbox ◀── callback ◀──┘                   then nfs_service
//! ```
//!
//! Unsafe island: the library reads slots while it works on an operation, and calls back with
//! pointers that it was given.
#![allow(unsafe_code, reason = "island: a C library, called with pointers into slots")]

mod client;
mod desk;
mod library;
mod mount;
mod options;
mod safety;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use iolab_engine::{
    Capabilities, ClientLane, Engine, EngineDescription, EngineLibrary, FileUse, LaneRequest, OpenError,
};
use iolab_options::Settings;

pub use client::NfsClient;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Nfs;

impl Engine for Nfs {
    type Lane = ClientLane<NfsClient>;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "nfs",
        aliases: &[],
        summary: "Files of NFS servers, by libnfs, without a mount",
        details: "nfs_url names the export, filename the files in it; without filename they are named after the job. A \
            write makes a file that is not there. Reads, writes and fsyncs become READ, WRITE (unstable) and COMMIT, up \
            to iodepth at once on nfs_connections connections; neither the page cache nor a cache of attributes is \
            between. NFS version 3 has no trims. A file that holds data and has not been made by iolab (which sets the \
            sticky bit of its files) is not written to, unless --allow-destroy names it. A server that is silent, or \
            gone, is given up after nfs_timeout.",
        options: &options::OPTIONS,
        capabilities: Capabilities {
            files: FileUse::Nothing,
            trims: false,
            extends_files: true,
            ..Capabilities::DEVICES
        },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<ClientLane<NfsClient>, OpenError> {
        NfsClient::open(request).map(ClientLane::new)
    }

    fn overwrite_refusal(file: &Path, options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
        safety::refusal(file, options, job, allowed)
    }

    fn library() -> Option<EngineLibrary> {
        Some(library::described())
    }
}
