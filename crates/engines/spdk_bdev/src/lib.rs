//! The `spdk_bdev` engine: block devices defined by a JSON configuration of SPDK.
//!
//! ```text
//!   bdev.json ─ configuration ▶ devices by name ─ building ▶ stack of devices ─ lane ▶ lanes of other engines
//! ```
//!
//! An engine knows no other engine, so the three engines at the bottom (NVMe from user space,
//! native AIO, io_uring) are type parameters, set by the program. Null devices and memory are
//! implemented here.
//!
//! Unsafe island for one promise: that the pool of slots outlives the lane, which is the contract
//! of lanes.
#![allow(unsafe_code, reason = "island: lending the slot pool to copies from and to memory")]

mod building;
mod configuration;
mod json;
mod lane;
mod methods;
mod opening;
mod options;
mod parameters;
mod safety;
mod shared;
mod slots;
mod stack;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use iolab_engine::{Capabilities, DeviceFacts, Engine, EngineDescription, LaneRequest, OpenError, Polling};
use iolab_options::Settings;

use building::{Builder, ask};
use configuration::Configuration;

pub use lane::BdevLane;

/// The engine, on engines for NVMe devices, for native AIO and for io_uring.
#[derive(Debug, Clone, Copy)]
pub struct SpdkBdev<N, A, U>(PhantomData<(N, A, U)>);

impl<N: Engine, A: Engine, U: Engine> Engine for SpdkBdev<N, A, U> {
    type Lane = BdevLane<N::Lane, A::Lane, U::Lane>;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "spdk_bdev",
        aliases: &[],
        summary: "Block devices of an SPDK JSON configuration, without SPDK",
        details: "filename names a device of the file spdk_conf: Nvme0n1, Malloc0, Raid0 and so on. NVMe controllers are \
            driven by the engine nvme, files and kernel devices by libaio (bdev_aio_create) and io_uring \
            (bdev_uring_create); memory, null devices, delays, errors, RAID 0 and splits are iolab's own, stacked as \
            the file says. Completions are polled for. A device that is the base of another cannot be used by itself. \
            Jobs run as threads of one process, which share memory and the counts of errors to inject.",
        options: &options::OPTIONS,
        capabilities: Capabilities { polling: Polling::Always, ..Capabilities::DEVICES },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<Self::Lane, OpenError> {
        opening::open::<N, A, U>(request)
    }

    fn device(name: &str, options: &Settings) -> Result<DeviceFacts, OpenError> {
        let configuration = Configuration::of(options)?;
        let mut builder = Builder::new(&configuration, &ask::<N>, false);
        let root = builder.add_root(name)?;
        Ok(DeviceFacts { size_bytes: root.bytes, block_bytes: root.block_bytes })
    }

    fn overwrite_refusal(device: &Path, options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
        let configuration = Configuration::of(options).ok()?;
        let mut builder = Builder::new(&configuration, &ask::<N>, false);
        builder.add_root(&device.to_string_lossy()).ok()?;
        let leaves = builder.build().leaves;
        leaves.iter().find_map(|leaf| safety::refusal::<N>(leaf, job, allowed))
    }
}
