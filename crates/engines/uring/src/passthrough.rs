//! The `io_uring_cmd` engine: NVMe commands through the kernel's character device of a namespace
//! (`/dev/ng0n1`), carried by io_uring (Linux 5.19).
//!
//! It bypasses the block layer's scheduler, merging and splitting, but not the kernel's NVMe driver
//! and its queues. The rings are those of `io_uring`, with entries that have room for a command.
//! Not here: commands of other drivers, verification by Compare.

pub(crate) mod command;
mod lane;
mod namespace;
mod options;
mod safety;

use std::path::{Path, PathBuf};

use iolab_engine::{
    Capabilities, DeviceFacts, DeviceZones, Engine, EngineDescription, LaneRequest, OpenError, Polling,
};
use iolab_options::Settings;

pub use lane::PassthroughLane;

use self::namespace::GenericNamespace;
use crate::opening;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct UringCmd;

impl Engine for UringCmd {
    type Lane = PassthroughLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "io_uring_cmd",
        aliases: &[],
        summary: "NVMe commands through io_uring, to the character device of a namespace",
        details: "filename names the character device of a namespace (/dev/ng0n1, Linux 5.19). Reads, writes, fsyncs and \
                  trims become Read, Write, Flush and Dataset Management commands, carried by IORING_OP_URING_CMD; \
                  write_mode chooses other commands for writes. File systems and the block layer are passed by, so a job \
                  that writes to a namespace in use, or to one that holds data, is refused unless --allow-destroy names \
                  the device. Needs root. Jobs run as threads of one process.",
        options: &options::OPTIONS,
        capabilities: Capabilities {
            trims_ranges: true,
            polling: Polling::WithOption(&["hipri", "sqthread_poll"]),
            ..Capabilities::DEVICES
        },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<PassthroughLane, OpenError> {
        let requested = options::Requested::of(request.options)?;
        let open = |file: &iolab_engine::TargetFile| GenericNamespace::open(&file.path);
        let namespaces: Vec<GenericNamespace> = request.files.iter().map(open).collect::<Result<_, _>>()?;
        namespaces.iter().try_for_each(|namespace| requested.fits(namespace))?;
        let files = request.files.iter().zip(&namespaces);
        let files: Vec<_> =
            files.map(|(file, own)| iolab_engine::TargetFile { fd: own.fd(), ..file.clone() }).collect();
        let mut opened = opening::open(&LaneRequest { files: &files, ..*request }, &requested.ring)
            .map_err(|error| too_old(error, &requested))?;
        opened.notes.extend(requested.notes());
        Ok(PassthroughLane::new(opened, request, &requested, namespaces))
    }

    fn overwrite_refusal(device: &Path, _options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
        safety::refusal(device, job, allowed)
    }

    fn device(name: &str, _options: &Settings) -> Result<DeviceFacts, OpenError> {
        let namespace = GenericNamespace::open(Path::new(name))?;
        let format = namespace.format;
        Ok(DeviceFacts { size_bytes: format.blocks << format.block_shift, block_bytes: 1 << format.block_shift })
    }

    fn zones(name: &str, _options: &Settings) -> Result<Option<DeviceZones>, OpenError> {
        let message = format!("{name}: io_uring_cmd follows no zones: use ioengine=io_uring on the block device");
        Err(OpenError { message, errno: Some(libc::EOPNOTSUPP) })
    }
}

/// The kernel is older than 5.19 if it refuses wide entries.
fn too_old(error: OpenError, requested: &options::Requested) -> OpenError {
    if error.errno != Some(libc::EINVAL) || requested.ring.poll_thread_cpu.is_some() {
        return error;
    }
    let message =
        "this kernel's io_uring has no room for commands (Linux 5.19 has); use ioengine=io_uring on the block device";
    OpenError { message: message.to_owned(), ..error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_namespace_is_refused_with_the_way_out() {
        let folder = std::env::temp_dir();
        for (name, said) in [
            ("/dev/ng7n7", "there is no device /dev/ng7n7"),
            ("/dev/null", "not the character device of an NVMe namespace"),
            (folder.to_str().unwrap(), "not the character device of an NVMe namespace"),
        ] {
            let message = UringCmd::device(name, &Settings::default()).unwrap_err().message;
            assert!(message.contains(said), "{name}: {message}");
        }
        assert!(UringCmd::device("/dev/nvme3n1", &Settings::default()).unwrap_err().message.contains("/dev/ng3n1"));
    }
}
