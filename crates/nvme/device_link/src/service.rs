//! Serves a virtual SSD to drivers in other processes: the device of `iolab-virtual-ssd` behind the
//! link of `iolab-device-link`.
//!
//! Every driver that connects gets a controller of its own on the same drive, as hosts of a
//! multi-controller NVM subsystem have. The I/O queues of all controllers are spread over a fixed
//! number of dispatcher threads, which poll; the first of them polls the admin queues, too. An idle
//! service soon stops polling all the time, and polls now and then.
//!
//! Deliberately not here: where devices are described and what their sockets are called, which the
//! program knows.
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
    /// The processors that dispatchers, then workers, are bound to, in turn; empty leaves it to the
    /// kernel.
    pub cpus: Vec<usize>,
    /// What else is counted beside the device.
    pub more: Option<Arc<dyn MoreStatistics>>,
}

/// Statistics of something that has to do with a device: its users, for instance.
pub trait MoreStatistics: std::fmt::Debug + Send + Sync {
    /// Lines for a person.
    fn text(&self) -> String;

    /// A member of a JSON object: its name and its value.
    fn json(&self) -> (&'static str, String);
}

/// A drive whose controllers are polled by threads of this process, for drivers that come by any
/// socket. Dropping it ends the threads: what is served from it goes first.
#[derive(Debug)]
pub struct RunningDrive {
    functions: Arc<Drive>,
    _threads: Threads,
}

impl RunningDrive {
    /// Starts the threads. `clock` says when commands are due.
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

/// A device cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The socket.
    #[error("cannot listen at {path}: {source}")]
    Socket {
        /// Where.
        path: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A thread could not be started, or not be bound to its processor.
    #[error("{what}: {source}")]
    Thread {
        /// What was tried.
        what: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Serves `subsystem` at the socket `path`. `clock` says when commands are due.
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

/// Serves a drive that runs already at the socket `path`.
pub fn listen(path: &Path, drive: &RunningDrive) -> Result<Server, ServeError> {
    Server::start(path, drive.functions())
        .map_err(|source| ServeError::Socket { path: path.display().to_string(), source })
}
