//! `iolab device attach`: shows a device to the kernel, as a file through FUSE or as a block device
//! through ublk. This way, the kernel's interfaces and the driver in user space can be compared on
//! the same device.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iolab_device_catalogue::Catalogue;
use iolab_engine::{Engine, LaneRequest, TargetFile};
use iolab_engine_nvme::{DeviceName, DevicePlace, Nvme};
use iolab_export::fuse::{FuseTransport, PoolShape, Size, Stop};
use iolab_memory::{Backing, SlotPool};
use iolab_options::Settings;

use super::arguments::AttachArguments;
use super::socket;
use crate::exit::ExitFailure;
use crate::output;

pub(super) fn main(arguments: &AttachArguments) -> Result<u8, ExitFailure> {
    iolab_engine_nvme::allow_media(arguments.allow_destroy.iter().map(PathBuf::as_path));
    let name = device_name(&arguments.name)?;
    let facts = Nvme::device(&name, &Settings::default()).map_err(|error| {
        let text = format!("iolab: {}", error.message);
        if error.is_refusal() { ExitFailure::refused(text) } else { ExitFailure::mistake(text) }
    })?;
    let size = Size::new(facts.size_bytes, facts.block_bytes).map_err(failed)?;
    let stop = Arc::new(Stop::by_signals().map_err(failed)?);
    let tally = match (arguments.by.as_str(), &arguments.mount_point) {
        ("ublk", None) => block_device(arguments, &name, size, stop)?,
        ("ublk", Some(_)) => {
            return Err(ExitFailure::mistake("iolab: ublk creates /dev/ublkbN and takes no mount point"));
        }
        (_, Some(folder)) => file(arguments, folder, &name, size, stop)?,
        (_, None) => return Err(ExitFailure::mistake("iolab: name an empty folder for the file to appear in")),
    };
    output::print(&format!("{tally}\n"))?;
    Ok(0)
}

fn failed(error: impl Display) -> ExitFailure {
    ExitFailure::failed(format!("iolab: {error}"))
}

/// The device name for the engine: the served device if there is one, otherwise one inside this
/// process.
fn device_name(given: &str) -> Result<String, ExitFailure> {
    if given.contains('=') {
        return Ok(given.to_owned());
    }
    let entry = Catalogue::of_user()?.find(given)?;
    if super::is_served(&socket(given)?) {
        return Ok(format!("trtype=VIRT traddr={given}"));
    }
    let pairs: Vec<String> = entry.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
    Ok(format!("trtype=VIRT {}", pairs.join(" ")))
}

/// Whether trimmed blocks certainly read as zeroes. Those of the virtual SSD do; real devices need
/// not.
fn trims_to_zeroes(name: &str) -> bool {
    DeviceName::parse(name).is_ok_and(|name| !matches!(name.place, DevicePlace::Pcie(_) | DevicePlace::Fabric(_)))
}

/// Opens a lane on the device, with the slots that it works on.
fn open(name: &str, shape: PoolShape) -> Result<(<Nvme as Engine>::Lane, SlotPool), String> {
    let pool = SlotPool::new(shape.slots, shape.slot_bytes, 0, &Backing::Memfd)
        .map_err(|error| format!("{}: {}", error.message, error.source))?;
    let target = TargetFile { path: name.into(), fd: -1, size_bytes: 0, is_block_device: true };
    let request = LaneRequest {
        files: &[target],
        depth: shape.slots,
        buffers: pool.view(),
        options: &Settings::default(),
        direct: true,
        seed: 0,
        worker: 0,
    };
    let lane = Nvme::open(&request).map_err(|error| error.message)?;
    Ok((lane, pool))
}

fn file(
    arguments: &AttachArguments,
    folder: &Path,
    name: &str,
    size: Size,
    stop: Arc<Stop>,
) -> Result<String, ExitFailure> {
    use iolab_export::fuse::{FuseEvent, Options, serve_queues};
    let mut options = Options::new(folder, "disk");
    options.transport = match arguments.by.as_str() {
        "fuse-classic" => FuseTransport::Classic,
        "fuse-uring" => FuseTransport::Uring,
        _ => FuseTransport::Auto,
    };
    options.depth = usize::from(arguments.depth);
    options.queues = usize::from(arguments.queues);
    options.cpus.clone_from(&arguments.cpu);
    options.limits.trim_zeroes = trims_to_zeroes(name);
    options.stop = Some(stop);
    options.observer = Some(Arc::new(|moment: &FuseEvent| match moment {
        FuseEvent::Serving { path, transport } => {
            tell(&format!("{} over {transport}. Press Ctrl-C to stop.", path.display()))
        }
        FuseEvent::Note(text) => eprintln!("iolab: {text}"),
        FuseEvent::Busy => {
            eprintln!("iolab: the file is in use: it stays mounted until you unmount it; press Ctrl-C again to end now")
        }
        FuseEvent::CannotUnmount(reason) => {
            eprintln!("iolab: cannot unmount: {reason}; press Ctrl-C again to end anyway")
        }
    }));
    let shape = options.pool_shape();
    let open = |_| open(name, shape);
    let summary = serve_queues(&open, size, &options).map_err(failed)?;
    Ok(summary.tally.to_string())
}

fn block_device(arguments: &AttachArguments, name: &str, size: Size, stop: Arc<Stop>) -> Result<String, ExitFailure> {
    use iolab_export::ublk::{Options, UblkEvent, serve_queues};
    let (depth, queues) = (usize::from(arguments.depth), usize::from(arguments.queues));
    let mut options = Options { depth, queues, cpus: arguments.cpu.clone(), ..Options::default() };
    options.limits.trim_zeroes = trims_to_zeroes(name);
    options.stop = Some(stop);
    options.observer = Some(Arc::new(|moment: &UblkEvent| match moment {
        UblkEvent::Serving { path } => tell(&format!("{}. Press Ctrl-C to stop.", path.display())),
        UblkEvent::Busy => eprintln!("iolab: the device is in use; press Ctrl-C again to end anyway"),
    }));
    let shape = options.pool_shape();
    let open = |_| open(name, shape);
    let summary = serve_queues(&open, size, &options).map_err(failed)?;
    Ok(summary.tally.to_string())
}

fn tell(text: &str) {
    // A failure to print a line does not end the export.
    let _ = output::print(&format!("{text}\n"));
}
