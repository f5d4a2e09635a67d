//! `iolab device serve`: runs a device until it is interrupted.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use iolab_clock::Clock;
use iolab_device_catalogue::Catalogue;
use iolab_device_link::{MoreStatistics, RunningDrive, ServeError, ServeOptions, Server};
use iolab_engine_nvme::{DriveError, MediaError, allow_media, device_size, make_drive, make_socket_folder};
use iolab_nvme_tcp::{LinkFault, TcpTarget};
use iolab_virtual_ssd::{Config, Subsystem};

use super::arguments::ServeArguments;
use super::hosts::Hosts;
use super::listen::{self, Place};
use super::nbd::NbdServers;
use super::socket;
use crate::exit::ExitFailure;
use crate::output;

pub(super) fn main(arguments: &ServeArguments) -> Result<u8, ExitFailure> {
    let places = listen::places(arguments)?;
    let (name, config) = described(arguments, &places)?;
    let summary = super::summary(&config);
    allow_media(arguments.allow_destroy.iter().map(PathBuf::as_path));
    if let Some(name) = &arguments.name {
        make_place(name)?;
    }
    let drive = make_drive(config).map_err(|error| match error {
        DriveError::Media(MediaError::Refused { .. }) => ExitFailure::refused(format!("iolab: {name}: {error}")),
        error => ExitFailure::failed(format!("iolab: {name}: {error}")),
    })?;
    iolab_process::count_signals();
    // Every driver needs sockets and interrupts of its own.
    iolab_process::raise_open_files_limit();
    let (clock, _) = Clock::best();
    let mut text = format!("serving {name}: {summary}\n");
    let targets = Arc::new(listen::tcp(arguments, &name, &drive, &clock, &places, &mut text)?);
    let has_functions = arguments.name.is_some() || places.iter().any(|place| matches!(place, Place::VfioUser(_)));
    let running = has_functions.then(|| run(arguments, &name, &drive, &targets, &clock)).transpose()?;
    let functions =
        running.as_ref().map_or(Ok(Vec::new()), |running| listen::vfio_user(running, &places, &mut text))?;
    let link = match (&arguments.name, &running) {
        (Some(name), Some(running)) => Some(serve(name, running, &mut text)?),
        _ => None,
    };
    let exports = NbdServers::start(&name, &drive, &clock, &places, &mut text)?;
    text += "Press Ctrl-C to stop.\n";
    output::print(&text)?;
    while iolab_process::INTERRUPTS.load(Ordering::Relaxed) == 0 {
        // A signal ends the sleep at once.
        std::thread::sleep(Duration::from_millis(200));
    }
    let hosts = Hosts(Arc::clone(&targets)).text();
    // What is served first, then what serves it.
    let exported = exports.end();
    drop((link, functions, targets));
    drop(running);
    drive.flush().map_err(|error| ExitFailure::failed(format!("iolab: {name}: cannot write its data: {error}")))?;
    output::print(&(drive.statistics().text() + &hosts + &exported))?;
    Ok(0)
}

/// The name and the configuration of the device to serve.
fn described(arguments: &ServeArguments, places: &[Place]) -> Result<(String, Config), ExitFailure> {
    let pair = |key: &str, value: String| (key.to_owned(), value);
    let (own_name, mut pairs) = match (&arguments.name, &arguments.null, arguments.target()) {
        (Some(name), None, None) => (name.clone(), Catalogue::of_user()?.find(name)?.parameters),
        (_, Some(size), _) => ("null".to_owned(), vec![pair("size", size.clone()), pair("media", "null".into())]),
        (_, None, Some(target)) if is_device(&target) => {
            let (bytes, block) =
                device_size(&target).map_err(|error| ExitFailure::failed(format!("iolab: {error}")))?;
            let stem = target.rsplit('/').next().unwrap_or_default().split(' ').next().unwrap_or_default();
            let name = if target.contains("trtype") { "device" } else { stem };
            // Drives have a whole number of pages.
            let bytes = bytes / 4096 * 4096;
            let of_device =
                [("size", bytes.to_string()), ("lba", block.to_string()), ("media", format!("device:{target}"))];
            (name.to_owned(), of_device.map(|(key, value)| pair(key, value)).to_vec())
        }
        (_, None, Some(target)) => {
            let path = PathBuf::from(&target);
            let wrong = |what: String| ExitFailure::mistake(format!("iolab: {}: {what}", path.display()));
            let bytes = std::fs::metadata(&path).map_err(|error| wrong(error.to_string()))?.len();
            if bytes == 0 || !bytes.is_multiple_of(4096) {
                return Err(wrong(format!(
                    "it has {bytes} bytes; a device has a multiple of 4096, and more than none"
                )));
            }
            let stem = path.file_stem().map_or("file".into(), |stem| stem.to_string_lossy().into_owned());
            (stem, vec![pair("size", bytes.to_string()), pair("media", format!("file:{}", path.display()))])
        }
        (None, None, None) => {
            return Err(ExitFailure::mistake("iolab: name a device, or use --null, --file or --device"));
        }
    };
    let is_created = arguments.null.is_none() && arguments.target().is_none();
    let name = match &arguments.name {
        Some(name) if !is_created => free_name(name)?,
        _ if is_created || !places.is_empty() => own_name,
        _ => {
            let advice = "add --listen URL, or a name by which programs on this machine find it";
            return Err(ExitFailure::mistake(format!("iolab: nobody could reach this device: {advice}")));
        }
    };
    let of_device = arguments.fault.iter().filter(|fault| !LinkFault::is_meant(fault));
    pairs.extend(of_device.map(|fault| pair("fault", fault.clone())));
    // A state of one address is one that the device reports.
    let reports = places.iter().any(|place| matches!(place, Place::Tcp(_, Some(_))));
    if reports && !pairs.iter().any(|(key, value)| key == "ana" && value != "no") {
        pairs.push(pair("ana", "optimized".into()));
    }
    Ok((name, super::config(&pairs)?))
}

/// A name for what is no created device, if no created device has it.
fn free_name(name: &str) -> Result<String, ExitFailure> {
    if !Catalogue::of_user()?.is_free(name)? {
        let advice = "choose another name for what --null, --file or --device serves";
        return Err(ExitFailure::mistake(format!("iolab: a created device has the name {name}: {advice}")));
    }
    Ok(name.to_owned())
}

/// Whether the target is a block device or the name of an NVMe device, not a file.
fn is_device(target: &str) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let is_block = |metadata: std::fs::Metadata| metadata.file_type().is_block_device();
    target.contains("trtype") || std::fs::metadata(target).is_ok_and(is_block)
}

/// Creates the folder of the socket, unless the device is already running.
fn make_place(name: &str) -> Result<(), ExitFailure> {
    let socket = socket(name)?;
    if super::is_served(&socket) {
        return Err(ExitFailure::refused(format!("iolab: device {name} is already running")));
    }
    make_socket_folder(&socket).map_err(|error| ExitFailure::refused(format!("iolab: {error}")))
}

/// Starts the threads that poll the drive for drivers of this machine.
fn run(
    arguments: &ServeArguments,
    name: &str,
    drive: &Arc<Subsystem>,
    targets: &Arc<Vec<TcpTarget>>,
    clock: &Clock,
) -> Result<RunningDrive, ExitFailure> {
    let options = ServeOptions {
        dispatchers: usize::from(arguments.dispatchers),
        workers: usize::from(arguments.workers),
        cpus: arguments.cpus.clone(),
        more: (!targets.is_empty()).then(|| Arc::new(Hosts(Arc::clone(targets))) as Arc<dyn MoreStatistics>),
    };
    RunningDrive::start(name, drive, clock, &options).map_err(failed)
}

/// Serves the drive to drivers of this machine through shared memory.
fn serve(name: &str, running: &RunningDrive, text: &mut String) -> Result<Server, ExitFailure> {
    let socket = socket(name)?;
    let server = iolab_device_link::listen(&socket, running);
    *text += &format!("at {}\n", socket.display());
    server.map_err(failed)
}

fn failed(error: ServeError) -> ExitFailure {
    ExitFailure::failed(format!("iolab: {error}"))
}
