//! The engines `rbd` and `rados`: images and objects of Ceph, by `librbd` and `librados`, which are
//! loaded when they are needed.
//!
//! ```text
//! options ─ cluster: connected, image open ▶ lane ─ rbd_aio_… ▶ threads of librbd ─▶ the cluster
//!                                             ▲                        │
//!                                             └── eventfd, completions ┘
//! options ─ cluster: connected, pool open ▶ object_lane ─ rados_aio_… ▶ threads of librados ─▶ the cluster
//!                                             ▲                              │
//!                                             └──── mailbox, its eventfd ────┘
//! ```
//!
//! Unsafe island: the libraries' threads read and write slots while the lane owns them.
#![allow(unsafe_code, reason = "island: C libraries, called with pointers into slots")]

mod client;
mod cluster;
mod libraries;
mod object;
mod object_client;
mod options;
mod safety;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use iolab_engine::{
    Capabilities, ClientLane, DeviceFacts, Engine, EngineDescription, EngineLibrary, FileUse, LaneRequest, OpenError,
    Polling,
};
use iolab_options::Settings;

pub use client::RbdClient;
pub use object_client::RadosClient;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Rbd;

impl Engine for Rbd {
    type Lane = ClientLane<RbdClient>;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "rbd",
        aliases: &[],
        summary: "Images of Ceph, by librbd, without the kernel's driver",
        details: "rbdname and pool name an image; the cluster is found by the configuration of Ceph (CEPH_CONF, or \
            /etc/ceph/CLUSTER.conf). Reads, writes, trims and fsyncs become rbd_aio_read, rbd_aio_write, \
            rbd_aio_discard and rbd_aio_flush; completions come by an eventfd. Each job is a client of its own. \
            librbd has a cache by default, in which writes complete: rbd_cache=0 measures the cluster.",
        options: &options::OPTIONS,
        capabilities: Capabilities {
            files: FileUse::DeviceNamedBy("rbdname"),
            polling: Polling::WithOption(&["busy_poll"]),
            ..Capabilities::DEVICES
        },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<ClientLane<RbdClient>, OpenError> {
        RbdClient::open(request).map(ClientLane::new)
    }

    fn device(name: &str, options: &Settings) -> Result<DeviceFacts, OpenError> {
        let image = cluster::Image::open(name, options, cluster::ImageAccess::ReadOnly)?;
        // Requests of any offset and length are taken.
        Ok(DeviceFacts { size_bytes: image.size_bytes()?, block_bytes: 1 })
    }

    fn overwrite_refusal(device: &Path, options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
        safety::refusal(device, options, job, allowed)
    }

    fn library() -> Option<EngineLibrary> {
        Some(libraries::described())
    }
}

/// The engine for objects.
#[derive(Debug, Clone, Copy)]
pub struct RadosObjects;

impl Engine for RadosObjects {
    type Lane = ClientLane<RadosClient>;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "rados",
        aliases: &[],
        summary: "Objects of Ceph, by librados",
        details: "Each file of a job is an object of the pool, of that name; the cluster is found as by rbd. Reads and \
            writes become rados_aio_read and rados_aio_write, trims a write operation that zeroes, fsyncs \
            rados_aio_flush_async. A read ends where the object ends. Each job is a client of its own, a thread of one \
            process. An object that holds data and has not been made by iolab (which sets the attribute iolab) is not \
            written to, unless --allow-destroy names it.",
        options: &options::OBJECT_OPTIONS,
        capabilities: Capabilities {
            files: FileUse::Objects,
            extends_files: true,
            polling: Polling::WithOption(&["busy_poll"]),
            ..Capabilities::DEVICES
        },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<ClientLane<RadosClient>, OpenError> {
        RadosClient::open(request).map(ClientLane::new)
    }

    fn overwrite_refusal(object: &Path, options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
        object::refusal(object, options, job, allowed)
    }

    fn library() -> Option<EngineLibrary> {
        Some(libraries::described_objects())
    }
}
