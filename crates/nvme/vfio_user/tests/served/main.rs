//! A virtual SSD behind vfio-user: with the driver of this project, with a client that uses only
//! messages, and with a hostile peer at either end.
//!
//! `IOLAB_HOSTILE_ROUNDS` sets the number of attacks.

mod driven;
mod friend;
mod hostile;
mod messages;
mod raw;

use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;

use iolab_clock::Clock;
use iolab_device_link::{RunningDrive, ServeOptions};
use iolab_vfio_user::VfioUserServer;
use iolab_virtual_ssd::{Config, Subsystem};

/// Every operation takes less than this, or it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// A served drive. The server is dropped first, then the polling threads, then the folder.
struct Served {
    server: VfioUserServer,
    drive: RunningDrive,
    folder: tempfile::TempDir,
}

impl Served {
    fn start() -> Served {
        let folder = tempfile::tempdir().unwrap();
        let subsystem = Subsystem::new(Config::parse("size=16M").unwrap()).unwrap();
        let drive = RunningDrive::start("drive", &subsystem, &Clock::best().0, &ServeOptions::default()).unwrap();
        let server = VfioUserServer::start(&folder.path().join("drive.sock"), drive.functions()).unwrap();
        Served { server, drive, folder }
    }

    fn path(&self) -> PathBuf {
        self.server.path().to_owned()
    }

    /// Ends the service, or fails the test if that hangs.
    fn end(self) {
        let (told, ended) = channel();
        std::thread::spawn(move || {
            drop((self.server, self.drive, self.folder));
            told.send(()).unwrap();
        });
        ended.recv_timeout(PATIENCE).expect("the service does not end");
    }
}
