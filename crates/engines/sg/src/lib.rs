//! The `sg` engine: SCSI commands through the kernel's generic driver, version 3 of its interface
//! (`struct sg_io_hdr` of scsi/sg.h).
//!
//! ```text
//! /dev/sg0   write(2) a request … poll(2) … read(2) it back      a queue: at most 16 at a time in most kernels
//! /dev/sda   ioctl(2) SG_IO                                      one after the other
//! ```
//!
//! File systems, the page cache and the block layer's splitting are passed by, so whoever writes is
//! responsible for what is there; see `safety.rs`.
//!
//! Unsafe island: the kernel reads and writes slots, commands and sense data while it has a
//! request.
#![allow(unsafe_code, reason = "island: requests of the kernel with pointers into slots")]

mod command;
mod device;
mod lane;
mod options;
mod request;
mod safety;

use std::path::{Path, PathBuf};

use iolab_engine::{
    Capabilities, DeviceFacts, DeviceZones, Engine, EngineDescription, FileUse, LaneRequest, OpenError,
};
use iolab_options::Settings;

pub use lane::SgLane;

use device::ScsiDevice;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Sg;

impl Engine for Sg {
    type Lane = SgLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "sg",
        aliases: &[],
        summary: "SCSI commands through the kernel's generic driver, to /dev/sg0 or /dev/sda",
        details: "filename names a character device (/dev/sg0), whose requests are written and read back, so that there \
            is a queue; or the block device of a whole disk (/dev/sda), whose requests are done one after the other \
            by the ioctl SG_IO. Reads, writes, trims and fsyncs become READ, WRITE, UNMAP and SYNCHRONIZE CACHE, with \
            10 bytes where these suffice, else 16; sg_write_mode chooses other commands for writes. direct and sync \
            change nothing (fio: they make character devices synchronous). File systems are passed by, so a job that \
            writes to a disk in use, or to one that holds data, is refused unless --allow-destroy names the device. \
            Jobs run as threads of one process.",
        options: options::SG_OPTIONS,
        capabilities: Capabilities::own_storage(FileUse::Devices),
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<SgLane, OpenError> {
        SgLane::open(request)
    }

    fn device(name: &str, _options: &Settings) -> Result<DeviceFacts, OpenError> {
        let device = ScsiDevice::open(Path::new(name))?;
        let size_bytes = device.blocks.saturating_mul(u64::from(device.block_bytes));
        Ok(DeviceFacts { size_bytes, block_bytes: device.block_bytes })
    }

    fn overwrite_refusal(device: &Path, _options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
        safety::refusal(device, job, allowed)
    }

    fn zones(name: &str, _options: &Settings) -> Result<Option<DeviceZones>, OpenError> {
        let message = format!("{name}: sg follows no zones: use ioengine=libaio or io_uring on the block device");
        Err(OpenError { message, errno: Some(libc::EOPNOTSUPP) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_well_formed() {
        use iolab_engine::conformance::{ConformanceSetup, description_is_well_formed};
        description_is_well_formed::<Sg>(&ConformanceSetup::default());
    }

    #[test]
    fn what_is_no_scsi_disk_is_refused_with_the_way_out() {
        let folder = std::env::temp_dir();
        for (name, said) in [
            ("/dev/sg777", "there is no device /dev/sg777"),
            ("/dev/null", "not a SCSI device"),
            (folder.to_str().unwrap(), "not a SCSI device"),
        ] {
            let message = Sg::device(name, &Settings::default()).unwrap_err().message;
            assert!(message.contains(said), "{name}: {message}");
        }
    }
}
