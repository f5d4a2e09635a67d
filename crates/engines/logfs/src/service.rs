//! The file system that all workers of a run share. Its domains are served by their own threads,
//! each with a queue to the device, which forward operations to each other.
//!
//! ```text
//!  worker 0 ─ SharedLane ─ message ─▶ thread of domain 0 ─┐ forward, by the file
//!  worker 1 ─ SharedLane ─ message ─▶ thread of domain 1 ─┘
//! ```
//!
//! The first lane that requests an image starts its service; it ends with the last lane. Workers
//! must be threads, because other processes do not share its memory: a second process finds the
//! image locked.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::thread::{Builder, JoinHandle};

use iolab_clock::Clock;
use iolab_disk::open_disk;
use iolab_engine::OpenError;
use iolab_executor::{Executor, ReadyOrder};
use iolab_logfs::{CoreSender, CoreSetup, Disk, Error, OpenOptions, Runtime, core_setups, count_domains};
use iolab_order::Arrange;
use rustix::fs::{FlockOperation, flock};

use crate::device::{disk_options, make, open_options, open_or_make, refused, retry};
use crate::options::Requested;

/// Device and inode of an image.
type Identity = (u64, u64);

/// The running services of this process.
static RUNNING: LazyLock<Mutex<HashMap<Identity, Weak<Service>>>> = LazyLock::new(Mutex::default);

/// An open file system with its threads.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) name: String,
    cores: Vec<CoreSender>,
    threads: Vec<JoinHandle<()>>,
    /// Held until the threads have ended.
    _lock: File,
}

impl Service {
    /// The service of the image that the job names, started if it does not run.
    pub(crate) fn of(requested: &Requested) -> Result<Arc<Service>, OpenError> {
        let [(path, None)] = &requested.devices[..] else {
            let message = "logfs_shared=1 requires exactly one logfs_device, without a domain".to_owned();
            return Err(OpenError { message, errno: Some(libc::EINVAL) });
        };
        // Held during the start: other workers wait for it.
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |error: std::io::Error| OpenError {
            message: format!("logfs_device {}: {error}", path.display()),
            errno: error.raw_os_error(),
        };
        let lock = open_or_make(path, requested).map_err(failed)?;
        let facts = lock.metadata().map_err(failed)?;
        let identity = (facts.dev(), facts.ino());
        if let Some(service) = running.get(&identity).and_then(Weak::upgrade) {
            return Ok(service);
        }
        let service = Arc::new(Service::start(path, requested, lock)?);
        running.insert(identity, Arc::downgrade(&service));
        Ok(service)
    }

    fn start(path: &Path, requested: &Requested, lock: File) -> Result<Service, OpenError> {
        let name = path.display().to_string();
        // A service that has just ended may still be closing.
        retry(|| flock(&lock, FlockOperation::NonBlockingLockExclusive)).map_err(|errno| OpenError {
            message: format!(
                "logfs_device {name}: locking it: {errno}; if the workers of this job use it, they must be threads to \
                share it (thread=1)"
            ),
            errno: Some(errno.raw_os_error()),
        })?;
        let wrong = |error: &Error| refused(&format!("logfs_device {name}"), error, "");
        let domains = domains_of(path, requested, &name)?;
        let options = open_options(requested)?;
        let (sender, receiver) = channel();
        let mut threads = Vec::new();
        for (number, setup) in core_setups(domains as usize).into_iter().enumerate() {
            let (path, sender) = (path.to_owned(), sender.clone());
            let body = move || serve(&path, number, setup, options, &sender);
            let started = Builder::new().name(format!("logfs-{number}")).spawn(body);
            threads.push(started.map_err(|error| OpenError {
                message: format!("starting a thread of the file system: {error}"),
                errno: error.raw_os_error(),
            })?);
        }
        drop(sender);
        // A thread that ended without an answer has kept the others from opening, and they report
        // it.
        let answers = receiver.iter().take(threads.len());
        let mut cores: Vec<(usize, CoreSender)> =
            answers.collect::<Result<_, Error>>().map_err(|error| wrong(&error))?;
        if cores.len() < threads.len() {
            return Err(wrong(&Error::Closed));
        }
        cores.arrange_by_key(|(number, _)| *number);
        Ok(Service { name, cores: cores.into_iter().map(|(_, core)| core).collect(), threads, _lock: lock })
    }

    /// The sender to the thread that handles this worker's operations.
    pub(crate) fn core(&self, worker: u32) -> CoreSender {
        self.cores[worker as usize % self.cores.len()].clone()
    }
}

impl Drop for Service {
    /// Closes the file system on all threads.
    fn drop(&mut self) {
        // If the device fails now, either the job's own operations failed before, or the next
        // opening reports it.
        let _closed = self.cores[0].send(async |volume| drop(volume.close().await));
        for thread in self.threads.drain(..) {
            let _panicked = thread.join();
        }
    }
}

/// The number of domains of the image. Creates the image first if the job says so.
fn domains_of(path: &Path, requested: &Requested, name: &str) -> Result<u32, OpenError> {
    let disk = open(path).map_err(|error| OpenError {
        message: format!("logfs_device {name}: opening it: {error}"),
        errno: error.raw_os_error(),
    })?;
    let mut executor = Executor::new(ReadyOrder::Fair);
    if requested.makes {
        make(&disk, requested, requested.domains, name, &mut executor)?;
    }
    let counted = executor.run(&mut disk.clone(), count_domains(&disk)).unwrap_or(Err(Error::Closed));
    counted.map_err(|error| {
        let advice =
            if matches!(error, Error::Unusable(_)) { "; create one with iolab fs mkfs or logfs_mkfs=1" } else { "" };
        refused(&format!("logfs_device {name}"), &error, advice)
    })
}

fn open(path: &Path) -> std::io::Result<Disk> {
    open_disk(path, &disk_options()).map(|(device, _)| Disk::new(device))
}

/// A service thread: opens its domains together with the others, returns its sender, and serves
/// until the file system is closed.
fn serve(
    path: &Path,
    number: usize,
    setup: CoreSetup,
    options: OpenOptions,
    sender: &Sender<Result<(usize, CoreSender), Error>>,
) {
    let Ok(disk) = open(path) else {
        // Without this thread's setup the others cannot open theirs, and report it.
        return;
    };
    let (mut executor, mut driver) = (Executor::new(ReadyOrder::Fair), setup.driver(&disk));
    let runtime = Runtime { clock: Clock::monotonic(), spawner: executor.spawner() };
    let _stalled = executor.run(&mut driver, async {
        match setup.open(&disk, options, runtime).await {
            Ok((volume, _)) => {
                // The starting thread waits for this.
                let _gone = sender.send(Ok((number, volume.sender())));
                volume.closed().await;
            }
            Err(error) => drop(sender.send(Err(error))),
        }
    });
}
