//! Serves a virtual SSD to drivers in other processes: the device of `iolab-virtual-ssd` behind the
//! link of `iolab-device-link`.
//!
//! Every driver that connects gets its own controller on the same drive, like hosts of a
//! multi-controller NVM subsystem. The I/O queues of all controllers are distributed over a fixed
//! number of dispatcher threads, which poll; the first one also polls the admin queues. An idle
//! service soon polls less often.
//!
//! The program decides where devices are described and how their sockets are named.
#![forbid(unsafe_code)]

mod functions;
mod idle;
mod threads;

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::{Functions, Server};
use iolab_clock::Clock;
use iolab_virtual_ssd::Subsystem;

use functions::Drive;
use threads::Threads;

/// How a device is served.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// Threads that poll queues; at least one.
    pub dispatchers: usize,
    /// Threads that copy data for them. Without any, dispatchers copy data themselves.
    pub workers: usize,
    /// The processors to which dispatchers, then workers, are bound, in turn; empty leaves the
    /// choice to the kernel.
    pub cpus: Vec<usize>,
    /// Additional statistics beside those of the device.
    pub more: Option<Arc<dyn MoreStatistics>>,
}

/// Statistics of something related to a device, for instance its users.
pub trait MoreStatistics: std::fmt::Debug + Send + Sync {
    /// Lines of text.
    fn text(&self) -> String;

    /// A member of a JSON object: its name and its value.
    fn json(&self) -> (&'static str, String);
}

/// A drive whose controllers are polled by threads of this process, for drivers on any kind of
/// socket. Dropping it ends the threads; services that use it must be dropped first.
#[derive(Debug)]
pub struct RunningDrive {
    functions: Arc<Drive>,
    _threads: Threads,
}

impl RunningDrive {
    /// Starts the threads. `clock` decides when commands are due.
    pub fn start(
        name: &str,
        subsystem: &Arc<Subsystem>,
        clock: &Clock,
        options: &ServeOptions,
    ) -> Result<RunningDrive, ServeError> {
        let threads = Threads::start(clock, options)?;
        let more = options.more.clone();
        let functions = Arc::new(Drive::new(name, subsystem, threads.inboxes(), clock.clone(), more));
        Ok(RunningDrive { functions, _threads: threads })
    }

    /// Functions of this drive.
    pub fn functions(&self) -> Arc<dyn Functions> {
        Arc::clone(&self.functions) as Arc<dyn Functions>
    }
}

/// A device that is being served. Dropping it ends the service: drivers see their device disappear.
#[derive(Debug)]
pub struct Service {
    // Dropped first: no new drivers are accepted, and the existing ones lose their functions.
    _server: Server,
    _drive: RunningDrive,
}

/// Why a device cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The socket.
    #[error("cannot listen at {path}: {source}")]
    Socket {
        /// The path of the socket.
        path: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A thread could not be started, or could not be bound to its processor.
    #[error("{what}: {source}")]
    Thread {
        /// What was tried.
        what: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Serves `subsystem` at the socket `path`. `clock` decides when commands are due.
pub fn serve(
    path: &Path,
    name: &str,
    subsystem: &Arc<Subsystem>,
    clock: &Clock,
    options: &ServeOptions,
) -> Result<Service, ServeError> {
    let drive = RunningDrive::start(name, subsystem, clock, options)?;
    Ok(Service { _server: listen(path, &drive)?, _drive: drive })
}

/// Serves a running drive at the socket `path`.
pub fn listen(path: &Path, drive: &RunningDrive) -> Result<Server, ServeError> {
    Server::start(path, drive.functions())
        .map_err(|source| ServeError::Socket { path: path.display().to_string(), source })
}
