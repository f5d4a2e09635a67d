//! The `nvme` engine: NVMe devices driven from user space. Real ones are accessed through VFIO,
//! those of other machines through TCP, those of other programs through vfio-user, virtual ones
//! through shared memory or in the same thread.
//!
//! A lane has a queue pair on every namespace of its job. The pool of slots is mapped for the
//! device once, so that data moves between the device and the slots directly. Commands are
//! submitted by stores, a batch with one doorbell. Completions are polled for, unless an option
//! asks for interrupts.
//!
//! Unsafe island for one promise: that the pool of slots outlives the lane, which is the contract
//! of lanes.
#![allow(unsafe_code, reason = "island: lending the slot pool to a device, sharing an inline device")]

mod any_transport;
mod device_store;
mod errno;
mod event_notes;
mod fabric_place;
mod first_bytes;
mod inline_device;
mod lane;
mod media_file;
mod media_guard;
mod name;
mod opened;
mod options;
mod overwrite;
mod socket_place;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use iolab_engine::{
    Capabilities, DeviceFacts, DeviceZones, Engine, EngineDescription, EngineProbe, LaneRequest, OpenError, Polling,
};
use iolab_options::Settings;

pub use any_transport::{AnyController, AnyPair};
pub use device_store::{device_size, make_drive};
pub use fabric_place::{Fabric, FabricError, FabricPlace, PlaceError};
pub use first_bytes::{FirstBytesError, first_bytes};
pub use lane::NvmeLane;
pub use media_file::{DriveError, MediaError, allow_media, check_media, remove_media};
pub use name::{DeviceName, DevicePlace, NameError};
pub use opened::{NvmeDeviceError, Opened, open, open_inline};
pub use socket_place::{FolderError, make_socket_folder, socket_of};

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Nvme;

impl Engine for Nvme {
    type Lane = NvmeLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "nvme",
        aliases: &["spdk"],
        summary: "NVMe devices driven from user space: polled, without a system call per operation",
        details: "filename names a device: trtype=PCIe traddr=0000.06.00.0 ns=1 for a controller bound to vfio-pci \
            (iolab nvme bind), trtype=TCP traddr=192.168.1.5 trsvcid=4420 ns=1 for a subsystem of any NVMe/TCP target \
            (iolab nvme discover), trtype=VFIOUSER traddr=/run/fast.sock for a function of any vfio-user server, \
            trtype=VIRT traddr=NAME for a device served by iolab device serve, or trtype=VIRT \
            model=nand size=8G for a virtual SSD inside the run. Each job has its own queue pairs. Reads, writes, \
            fsyncs and trims become Read, Write, Flush and Dataset Management commands. Jobs run as threads of one \
            process.",
        options: &options::OPTIONS,
        capabilities: Capabilities {
            trims_ranges: true,
            polling: Polling::UnlessOption("wait", "interrupt"),
            ..Capabilities::DEVICES
        },
        trials: &[EngineProbe {
            topic: "virtual SSD",
            words: &["--ioengine=nvme", "--thread", "--filename=trtype=VIRT model=ideal size=64M"],
            consequence: "jobs on virtual SSDs do not run",
            mend: "",
        }],
    };

    fn open(request: &LaneRequest<'_>) -> Result<NvmeLane, OpenError> {
        NvmeLane::open(request)
    }

    fn zones(name: &str, _options: &Settings) -> Result<Option<DeviceZones>, OpenError> {
        let refused = |error: NvmeDeviceError| OpenError { message: format!("{name}: {error}"), errno: error.errno() };
        let parsed = DeviceName::parse(name).map_err(|error| refused(error.into()))?;
        opened::zones(&parsed).map_err(refused)
    }

    fn overwrite_refusal(device: &Path, _options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
        overwrite::refusal(device, job, allowed)
    }

    fn allow_overwriting(paths: &[PathBuf]) {
        allow_media(paths.iter().map(PathBuf::as_path));
    }

    fn device(name: &str, _options: &Settings) -> Result<DeviceFacts, OpenError> {
        let refused = |error: NvmeDeviceError| OpenError { message: format!("{name}: {error}"), errno: error.errno() };
        let parsed = DeviceName::parse(name).map_err(|error| refused(error.into()))?;
        opened::facts(&parsed).map_err(refused)
    }
}
