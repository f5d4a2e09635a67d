//! The `libiscsi` engine: logical units of iSCSI targets, by the library `libiscsi`, which is
//! loaded when it is needed.
//!
//! ```text
//! url ─ session: logged in ▶ lane ─ tasks ▶ libiscsi ─▶ socket          all on the lane's thread:
//!                             ▲               │                          poll(2), then iscsi_service
//!                             └── callback ◀──┘
//! ```
//!
//! Unsafe island: the library reads and writes slots while it works on a task, and calls back.
#![allow(unsafe_code, reason = "island: a C library, called with pointers into slots")]

mod client;
mod flights;
mod library;
mod options;
mod safety;
mod session;
#[cfg(test)]
mod tests;
mod url;

use std::path::{Path, PathBuf};

use iolab_engine::{
    Capabilities, ClientLane, DeviceFacts, Engine, EngineDescription, EngineLibrary, FileUse, LaneRequest, OpenError,
};
use iolab_options::Settings;

pub use client::IscsiClient;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Iscsi;

impl Engine for Iscsi {
    type Lane = ClientLane<IscsiClient>;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "libiscsi",
        aliases: &[],
        summary: "Logical units of iSCSI targets, by libiscsi, without the kernel's initiator",
        details: "filename names a logical unit: iscsi\\://HOST\\:PORT/TARGET/LUN (in filename, write \\: for a colon), \
            or iscsi_url does without escapes. Reads, writes, trims and fsyncs become READ(16), WRITE(16), UNMAP and \
            SYNCHRONIZE CACHE(16). Each job has a session of its own; its thread sleeps in poll(2). Jobs run as \
            threads of one process.",
        options: &options::OPTIONS,
        capabilities: Capabilities { files: FileUse::DeviceNamedBy("iscsi_url"), ..Capabilities::DEVICES },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<ClientLane<IscsiClient>, OpenError> {
        IscsiClient::open(request).map(ClientLane::new)
    }

    fn device(name: &str, options: &Settings) -> Result<DeviceFacts, OpenError> {
        let session = session::Session::open(name, options)?;
        Ok(DeviceFacts { size_bytes: session.size_bytes(), block_bytes: session.block_bytes })
    }

    fn overwrite_refusal(device: &Path, options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
        safety::refusal(device, options, job, allowed)
    }

    fn library() -> Option<EngineLibrary> {
        Some(library::described())
    }
}
