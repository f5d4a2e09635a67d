//! Serving an image as a mounted file system, and waiting until such a server has closed it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use iolab_activity::Failure;
use iolab_clock::Clock;
use iolab_disk::{DiskOptions, open_disk};
use iolab_executor::{Executor, ReadyOrder};
use iolab_image::{ImageAccess, ImageError, Lock, Overlay, remove_unfinished};
use iolab_logfs::{
    CoreDriver, CoreSetup, Disk, InodeId, LocalVolume, OpenOptions, Placement, Policy, Runtime, VerifyReads,
    core_setups, count_domains,
};
use iolab_logfs_fuse::{FuseEvent, MountError, Mountable, Options, Stop, serve, serve_on_threads};

use crate::FsError;

/// What is served, and how.
#[derive(Debug)]
pub struct ServeRequest<'a> {
    /// Regular file or block device.
    pub image: &'a Path,
    /// Where it is mounted, and how.
    pub options: &'a Options,
    /// Most bytes of small writes that are kept in memory.
    pub inline_bytes: Option<u64>,
    /// Which clusters are cleaned, and when; by default as the image specifies.
    pub policy: Option<Policy>,
    /// Most bytes that one pass of cleaning holds in memory; by default as the image specifies.
    pub cleaning_bytes: Option<u64>,
    /// Threads that share the domains; no more of them than domains or processors are used.
    pub threads: u32,
}

/// Opens the image, mounts it, and serves it to the end.
///
/// # Errors
/// It cannot be opened or mounted, or the server failed.
pub fn serve_image(request: &ServeRequest<'_>, observer: Arc<dyn Fn(&FuseEvent) + Send + Sync>) -> Result<(), FsError> {
    let (path, options) = (request.image, request.options);
    let failed = |error: &dyn std::fmt::Display| Failure::failed(error.to_string());
    let stop = Stop::by_signals().map_err(|error| failed(&error))?;
    let access = if options.is_read_only() { ImageAccess::Read } else { ImageAccess::Write };
    let _lock = Lock::take(path, access)?;
    let threads = if access == ImageAccess::Read { 1 } else { request.threads.min(domains_of(path)?).max(1) };
    if threads < request.threads {
        let why =
            if access == ImageAccess::Read { "a mount that changes nothing" } else { "as many as there are domains" };
        observer(&FuseEvent::Note(format!("served by {}: {why}", iolab_text::counted(u64::from(threads), "thread"))));
    }
    let mount = open_options(request, access);
    let open = |setup: CoreSetup| open_part(path, access, mount, setup, &*observer);
    let served = if threads == 1 {
        let alone = core_setups(1).pop().ok_or_else(|| failed(&"no thread"))?;
        let (what, _) = open(alone).map_err(|error| failed(&format!("{}: {error}", path.display())))?;
        serve(what, options, &stop, observer.clone())
    } else {
        serve_on_threads(&open, threads as usize, options, &stop, observer.clone())
    };
    Ok(served.map_err(|error| failed(&format!("{}: {error}", path.display())))?)
}

/// How the image is used while it is mounted.
fn open_options(request: &ServeRequest<'_>, access: ImageAccess) -> OpenOptions {
    OpenOptions {
        inline_bytes: request.inline_bytes,
        // If nothing may change, no cluster is a candidate for cleaning, which would move content
        // into memory.
        policy: if access == ImageAccess::Read { Some(Policy::Threshold { k: 0.0 }) } else { request.policy },
        cleaning_bytes: request.cleaning_bytes,
        defragment_percent: request.options.defragment_percent,
        verify_reads: if request.options.verify { VerifyReads::Always } else { VerifyReads::Never },
        ..OpenOptions::default()
    }
}

/// Opens the domains of one thread, with its own queue to the device.
fn open_part(
    path: &Path,
    access: ImageAccess,
    options: OpenOptions,
    setup: CoreSetup,
    observer: &(dyn Fn(&FuseEvent) + Send + Sync),
) -> Result<(Mountable, CoreDriver), MountError> {
    let opening = DiskOptions { read_only: access == ImageAccess::Read, ..DiskOptions::default() };
    let (device, notes) = open_disk(path, &opening).map_err(|error| MountError::System("opening the image", error))?;
    notes.into_iter().for_each(|note| observer(&FuseEvent::Note(note)));
    let disk = if access == ImageAccess::Read { Disk::new(Overlay::new(device)) } else { Disk::new(device) };
    let (clock, mut executor, mut driver) = (Clock::monotonic(), Executor::new(ReadyOrder::Fair), setup.driver(&disk));
    let spawner = executor.spawner();
    let runtime = Runtime { clock: clock.clone(), spawner: spawner.clone() };
    let opened = executor.run(&mut driver, setup.open(&disk, options, runtime)).map_err(|_| MountError::Stalled)?;
    let volume = opened?.0.with_placement(Placement::LeastFull);
    if access == ImageAccess::Write && volume.serves(InodeId::ROOT) {
        let volume = volume.clone();
        // It runs when the other threads serve their domains, too. If it fails, the unfinished copy
        // stays, and the next opening of the image tries again.
        spawner.spawn(async move { drop(remove_unfinished(&volume).await) });
    }
    let fs = LocalVolume::part(volume);
    Ok((Mountable { fs, disk, executor, clock }, driver))
}

/// How many domains the image has.
fn domains_of(path: &Path) -> Result<u32, FsError> {
    let (device, _) = open_disk(path, &DiskOptions { read_only: true, ..DiskOptions::default() })
        .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
    let disk = Disk::new(device);
    let counted = Executor::new(ReadyOrder::Fair).run(&mut disk.clone(), count_domains(&disk));
    let counted = counted.map_err(|_stalled| ImageError::Stalled(path.to_owned()))?;
    Ok(counted.map_err(|source| ImageError::FileSystem { path: path.to_owned(), source })?)
}

/// How often to check whether the image is closed.
const LOOKS: u32 = 6000;
/// After this many checks, the wait is reported.
const SILENT_LOOKS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until no process writes to the image any more. Calls `still_open` once if that takes long.
///
/// # Errors
/// Its server does not close it within a minute, or the image cannot be examined.
pub fn wait_until_closed(image: &Path, still_open: impl FnOnce()) -> Result<(), FsError> {
    let mut still_open = Some(still_open);
    for look in 0..LOOKS {
        if let Some(tell) = still_open.take_if(|_| look == SILENT_LOOKS) {
            tell();
        }
        match Lock::take(image, ImageAccess::Read) {
            Err(ImageError::InUse { .. }) => std::thread::sleep(PAUSE),
            // An image that has been removed counts as closed.
            Ok(_) | Err(ImageError::Missing(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    let text = format!("{}: unmounted, but its server did not end", image.display());
    Err(Failure::failed(text).into())
}
