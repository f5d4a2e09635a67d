//! The place of a worker's file system: in memory, or in a domain of a device that no other worker
//! uses.
//!
//! Workers are processes or threads and know nothing of each other, so the kernel keeps them apart.
//! All of them lock the image together (flock(2), shared; `iolab fs` locks it exclusively to
//! write). Each domain is locked by one byte far behind the end (fcntl(2), open file description
//! locks). All of these locks end with the worker, however it ends.
//!
//! Unsafe because of the call that locks a range of a file.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use iolab_clock::Clock;
use iolab_disk::{DiskOptions, RamDisk, open_disk};
use iolab_engine::OpenError;
use iolab_executor::Executor;
use iolab_logfs::{
    Disk, Error, LogFs, MkfsOptions, OpenOptions as LogfsOptions, Policy, Runtime, UnknownPolicy, VerifyReads,
    count_domains, mkfs, open_domain,
};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::options::Requested;

/// Requests of one lane that the device may have at once.
const DEPTH: u32 = 256;
/// Offset of the bytes that represent domains: behind the end of any image, so that nothing else
/// uses them.
const LOCKS_AT: i64 = 1 << 61;
/// How often and how long a worker waits for another one that is making the file system.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(25);

/// An open file system that no other worker uses.
pub(crate) struct Claimed {
    pub(crate) fs: LogFs,
    pub(crate) disk: Disk,
    pub(crate) notes: Vec<String>,
    /// Its name in messages.
    pub(crate) name: String,
    /// Holds the locks.
    pub(crate) _lock: Option<File>,
}

/// Finds a file system for this worker and opens it. If all domains are free, each worker takes the
/// one with its own number, so that a worker of a later run finds the files of the earlier one.
pub(crate) fn claim(requested: &Requested, worker: u32, executor: &mut Executor) -> Result<Claimed, OpenError> {
    let open_options = open_options(requested)?;
    if requested.devices.is_empty() {
        let disk = Disk::new(RamDisk::new(requested.size_bytes, 4096));
        let name = "a file system in memory".to_owned();
        make(&disk, requested, 1, &name, executor)?;
        let fs = open(&disk, 0, open_options, executor).map_err(|error| refused(&name, &error, ""))?;
        return Ok(Claimed { fs, disk, notes: Vec::new(), name, _lock: None });
    }
    let mut names = Vec::new();
    for (path, domain) in &requested.devices {
        if let Some(claimed) = claim_on(path, *domain, worker, open_options, requested, executor)? {
            return Ok(claimed);
        }
        names.push(path.display().to_string());
    }
    let message = format!(
        "logfs_device: all domains of {} are taken by other workers; create the file system with one domain per \
        worker (iolab fs mkfs --domains=N, or logfs_domains=N with logfs_mkfs=1), name more devices, or lower \
        numjobs",
        names.join(", ")
    );
    Err(OpenError { message, errno: Some(libc::EBUSY) })
}

/// A free domain of one device; `None` if other workers use all allowed ones.
fn claim_on(
    path: &Path,
    wanted: Option<u32>,
    worker: u32,
    open_options: LogfsOptions,
    requested: &Requested,
    executor: &mut Executor,
) -> Result<Option<Claimed>, OpenError> {
    let name = path.display().to_string();
    let failed = |what: &str, error: &std::io::Error| OpenError {
        message: format!("logfs_device {name}: {what}: {error}"),
        errno: error.raw_os_error(),
    };
    let lock = open_or_make(path, requested).map_err(|error| failed("opening it", &error))?;
    let made_here = requested.makes && flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
    if !made_here {
        share(&lock).map_err(|errno| failed("locking it (another program uses it)", &errno.into()))?;
    }
    let (device, notes) = open_disk(path, &disk_options()).map_err(|error| failed("opening it", &error))?;
    let disk = Disk::new(device);
    if made_here {
        make(&disk, requested, requested.domains, &name, executor)?;
        share(&lock).map_err(|errno| failed("locking it", &errno.into()))?;
    }
    let domains = executor.run(&mut disk.clone(), count_domains(&disk)).unwrap_or(Err(Error::Closed));
    let domains = domains.map_err(|error| {
        let advice =
            if matches!(error, Error::Unusable(_)) { "; create one with iolab fs mkfs or logfs_mkfs=1" } else { "" };
        refused(&format!("logfs_device {name}"), &error, advice)
    })?;
    let own_first = (0..domains).map(|further| (worker % domains + further) % domains);
    for domain in wanted.map_or_else(|| own_first.collect(), |domain| vec![domain]) {
        if !lock_domain(&lock, domain).map_err(|error| failed("locking a domain", &error))? {
            continue;
        }
        return match open(&disk, domain, open_options, executor) {
            Ok(fs) => Ok(Some(Claimed { fs, disk, notes, name, _lock: Some(lock) })),
            Err(error) => Err(refused(&format!("logfs_device {name}, domain {domain}"), &error, "")),
        };
    }
    Ok(None)
}

/// The options for opening a device for a lane.
pub(crate) fn disk_options() -> DiskOptions {
    DiskOptions { depth: DEPTH, ..DiskOptions::default() }
}

pub(crate) fn open_or_make(path: &Path, requested: &Requested) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && requested.makes => {
            let file = options.create_new(true).open(path)?;
            // Another worker may have been faster; it sets the same size.
            file.set_len(requested.size_bytes)?;
            // Without the mark, a later run asks the user before it overwrites the file. That is no
            // reason to fail this run.
            let _marked = iolab_guard::mark_layout(&file);
            Ok(file)
        }
        other => other,
    }
}

/// Locks the image together with the other workers. Waits for a while if one of them is making the
/// file system.
fn share(lock: &File) -> Result<(), Errno> {
    retry(|| flock(lock, FlockOperation::NonBlockingLockShared))
}

/// Tries for a while to get a lock that another process holds.
pub(crate) fn retry(mut lock: impl FnMut() -> Result<(), Errno>) -> Result<(), Errno> {
    for _ in 0..TRIES {
        match lock() {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
    Err(Errno::BUSY)
}

/// Whether no other worker has this domain.
fn lock_domain(file: &File, domain: u32) -> std::io::Result<bool> {
    let range = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: LOCKS_AT + i64::from(domain),
        l_len: 1,
        l_pid: 0,
    };
    // SAFETY: the call reads and writes one structure, which lives through it (fcntl(2),
    // F_OFD_SETLK).
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const range) };
    let error = std::io::Error::last_os_error();
    match error.raw_os_error() {
        _ if answer == 0 => Ok(true),
        Some(libc::EAGAIN | libc::EACCES) => Ok(false),
        _ => Err(error),
    }
}

/// The options of the file system from the job.
pub(crate) fn open_options(requested: &Requested) -> Result<LogfsOptions, OpenError> {
    let wrong =
        |error: UnknownPolicy| OpenError { message: format!("logfs_policy: {error}"), errno: Some(libc::EINVAL) };
    let policy = requested.policy.as_deref().map(|text| text.parse::<Policy>().map_err(wrong)).transpose()?;
    let verify_reads = if requested.verifies { VerifyReads::ByDevice } else { VerifyReads::Never };
    Ok(LogfsOptions { policy, cleaning_bytes: requested.cleaning_bytes, verify_reads, ..LogfsOptions::default() })
}

fn open(disk: &Disk, domain: u32, options: LogfsOptions, executor: &mut Executor) -> Result<LogFs, Error> {
    let runtime = Runtime { clock: Clock::monotonic(), spawner: executor.spawner() };
    let opened = executor.run(&mut disk.clone(), open_domain(disk, domain, options, runtime));
    opened.unwrap_or(Err(Error::Closed)).map(|(fs, _)| fs)
}

pub(crate) fn make(
    disk: &Disk,
    requested: &Requested,
    domains: u32,
    name: &str,
    executor: &mut Executor,
) -> Result<(), OpenError> {
    let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    let options = MkfsOptions {
        block_bytes: narrow(requested.block_bytes),
        cluster_bytes: narrow(requested.cluster_bytes),
        small_max_bytes: narrow(requested.block_bytes.saturating_sub(1)).min(narrow(requested.cluster_bytes / 8)),
        domains,
        ..MkfsOptions::new(random_id(), Clock::monotonic().unix_ns())
    };
    let made = executor.run(&mut disk.clone(), mkfs(disk, &options));
    let advice = "; logfs_size, logfs_domains, logfs_cluster and logfs_block set its parameters";
    made.unwrap_or(Err(Error::Closed)).map(drop).map_err(|error| refused(name, &error, advice))
}

/// A random id, unique to a file system: the standard library's hash keys come from the system's
/// source of randomness.
fn random_id() -> [u8; 16] {
    let number = || RandomState::new().build_hasher().finish().to_le_bytes();
    let (low, high) = (number(), number());
    std::array::from_fn(|at| if at < 8 { low[at] } else { high[at - 8] })
}

/// Turns an error of the file system into an error of opening a lane.
pub(crate) fn refused(what: &str, error: &iolab_logfs::Error, advice: &str) -> OpenError {
    OpenError { message: format!("{what}: {error}{advice}"), errno: Some(error.errno()) }
}
