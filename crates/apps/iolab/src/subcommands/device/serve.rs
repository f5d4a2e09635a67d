//! `iolab device serve`: brings a device to life until it is interrupted.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use iolab_clock::Clock;
use iolab_device_catalogue::Catalogue;
use iolab_device_link::{ServeError, ServeOptions};
use iolab_engine_nvme::{DriveError, MediaError, allow_media, make_drive, make_socket_folder};

use super::arguments::ServeArguments;
use super::socket;
use crate::exit::Failure;
use crate::output;

pub(super) fn main(arguments: &ServeArguments) -> Result<u8, Failure> {
    let entry = Catalogue::of_user()?.find(&arguments.name)?;
    let mut pairs = entry.parameters;
    pairs.extend(arguments.fault.iter().map(|fault| ("fault".to_owned(), fault.clone())));
    let config = super::config(&pairs)?;
    let described = super::summary(&config);
    let socket = socket(&arguments.name)?;
    if super::is_served(&socket) {
        return Err(Failure::refused(format!("iolab: device {} is being served already", arguments.name)));
    }
    make_socket_folder(&socket).map_err(|error| Failure::refused(format!("iolab: {error}")))?;
    allow_media(arguments.allow_destroy.iter().map(PathBuf::as_path));
    let drive = make_drive(config).map_err(|error| match error {
        DriveError::Media(MediaError::Refused { .. }) => {
            Failure::refused(format!("iolab: {}: {error}", arguments.name))
        }
        error => Failure::failed(format!("iolab: {}: {error}", arguments.name)),
    })?;
    let options = ServeOptions {
        dispatchers: usize::from(arguments.dispatchers),
        workers: usize::from(arguments.workers),
        cpus: arguments.cpus.clone(),
    };
    iolab_process::count_signals();
    // Every driver has sockets and interrupts of its own.
    iolab_process::raise_open_files_limit();
    let (clock, _) = Clock::best();
    let service = iolab_device_link::serve(&socket, &arguments.name, &drive, &clock, &options);
    let service = service.map_err(|error: ServeError| Failure::failed(format!("iolab: {error}")))?;
    output::print(&format!("serving {}: {described}\nat {}; end with Ctrl-C\n", arguments.name, socket.display()))?;
    while iolab_process::INTERRUPTS.load(Ordering::Relaxed) == 0 {
        // A signal ends the sleep at once.
        std::thread::sleep(Duration::from_millis(200));
    }
    drop(service);
    drive.flush().map_err(|error| Failure::failed(format!("iolab: {}: writing its data: {error}", arguments.name)))?;
    output::print(&drive.statistics().text())?;
    Ok(0)
}
