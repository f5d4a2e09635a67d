//! The `nbd` engine: exports of NBD servers, without the kernel's driver.
//!
//! ```text
//! options ─ link: address, handshake ▶ lane ─ connection ▶ requests, by one call for all that wait
//!                                        ▲                        │
//!                                        └── flights ◀── arrival ◀┘ replies, data directly to the slots
//! ```
//!
//! A lane has one or more connections to the export, all driven by its thread. Data moves between
//! the sockets and the slots; the only copies are the kernel's, and a few where replies come in an
//! unexpected order. The protocol itself is in the crate `nbd`.

mod arrival;
mod client;
mod connection;
mod content;
mod flights;
mod incoming;
mod link;
mod options;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use iolab_engine::{Capabilities, ClientLane, DeviceFacts, Engine, EngineDescription, FileUse, LaneRequest, OpenError};
use iolab_options::Settings;

pub use client::NbdClient;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Nbd;

impl Engine for Nbd {
    type Lane = ClientLane<NbdClient>;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "nbd",
        aliases: &[],
        summary: "Exports of NBD servers, without the kernel's driver: nbdkit, qemu-nbd, iolab device serve",
        details: "uri names an export: nbd://HOST:PORT/NAME, or nbd+unix:///NAME?socket=PATH. Reads, writes, fsyncs and \
            trims become NBD_CMD_READ, WRITE, FLUSH and TRIM; up to iodepth requests are in flight on each of \
            nbd_connections connections. The thread sleeps in poll(2) when no reply is there. Size and sizes of \
            requests are the server's. Before a run, iolab connects once to ask for them: a server that ends with \
            its first client (qemu-nbd without --persistent) does not survive that. Jobs run as threads of one process.",
        options: &options::OPTIONS,
        capabilities: Capabilities { files: FileUse::DeviceNamedBy("uri"), ..Capabilities::DEVICES },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<ClientLane<NbdClient>, OpenError> {
        NbdClient::open(request).map(ClientLane::new)
    }

    fn device(name: &str, options: &Settings) -> Result<DeviceFacts, OpenError> {
        link::facts(name, options)
    }

    fn overwrite_refusal(device: &Path, options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
        content::refusal(device, options, job, allowed)
    }
}
