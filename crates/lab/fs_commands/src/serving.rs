//! Serving an image as a mounted file system, and waiting until such a server has closed it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use iolab_activity::Failure;
use iolab_clock::Clock;
use iolab_disk::{DiskOptions, open_disk};
use iolab_executor::{Executor, ReadyOrder};
use iolab_image::{ImageAccess, ImageError, Lock, Overlay};
use iolab_logfs::{Disk, LocalVolume, OpenOptions, Placement, Policy, VerifyReads, open_volume};
use iolab_logfs_fuse::{FuseEvent, Mountable, Options, Stop, serve};

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
    /// Which clusters are cleaned, and when; as the image says unless told.
    pub policy: Option<Policy>,
    /// Most bytes that one pass of cleaning holds in memory; as the image says unless told.
    pub cleaning_bytes: Option<u64>,
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
    let opening = DiskOptions { read_only: access == ImageAccess::Read, ..DiskOptions::default() };
    let opened = open_disk(path, &opening);
    let (device, notes) = opened.map_err(|error| failed(&format!("{}: {error}", path.display())))?;
    for note in notes {
        observer(&FuseEvent::Note(note));
    }
    let disk = if access == ImageAccess::Read { Disk::new(Overlay::new(device)) } else { Disk::new(device) };
    let mut mount = OpenOptions {
        inline_bytes: request.inline_bytes,
        policy: request.policy,
        cleaning_bytes: request.cleaning_bytes,
        ..OpenOptions::default()
    };
    mount.defragment_percent = options.defragment_percent;
    mount.verify_reads = if options.verify { VerifyReads::Always } else { VerifyReads::Never };
    if access == ImageAccess::Read {
        // Nothing is a candidate for cleaning: it would move content into memory.
        mount.policy = Some(Policy::Threshold { k: 0.0 });
    }
    let (clock, mut executor) = (Clock::monotonic(), Executor::new(ReadyOrder::Fair));
    let context = (clock.clone(), executor.spawner());
    let opened = executor.run(&mut disk.clone(), open_volume(&disk, mount, context));
    let opened = opened.map_err(|_stalled| ImageError::Stalled(path.to_owned()))?;
    let wrong = |source| ImageError::FileSystem { path: path.to_owned(), source };
    let (volume, _) = opened.map_err(wrong)?;
    let fs = LocalVolume::try_from(volume.with_placement(Placement::LeastFull)).map_err(wrong)?;
    let served = serve(Mountable { fs, disk, executor, clock }, options, &stop, observer);
    Ok(served.map_err(|error| failed(&format!("{}: {error}", path.display())))?)
}

/// Looks at the image until it is closed.
const LOOKS: u32 = 6000;
/// What takes longer is told.
const SILENT_LOOKS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until nobody writes to the image any more; calls `still_open` once when that takes long.
///
/// # Errors
/// Its server does not let go of it for a minute, or the image cannot be looked at.
pub fn wait_until_closed(image: &Path, still_open: impl FnOnce()) -> Result<(), FsError> {
    let mut still_open = Some(still_open);
    for look in 0..LOOKS {
        if let Some(tell) = still_open.take_if(|_| look == SILENT_LOOKS) {
            tell();
        }
        match Lock::take(image, ImageAccess::Read) {
            Err(ImageError::InUse { .. }) => std::thread::sleep(PAUSE),
            // An image that is gone meanwhile is closed, too.
            Ok(_) | Err(ImageError::Missing(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    let text = format!("{}: unmounted, but its server did not end", image.display());
    Err(Failure::failed(text).into())
}
