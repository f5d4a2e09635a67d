//! An open image: its lock, its device, and an executor to work on it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use iolab_clock::Clock;
use iolab_disk::{DiskOptions, open_disk};
use iolab_executor::{Executor, ReadyOrder};
use iolab_logfs::{Disk, OpenOptions, Placement, Policy, Recovery, Runtime, Volume, open_volume};

use crate::counted::Counted;
use crate::{ImageAccess, ImageError, Lock, Overlay};

/// A locked image.
#[derive(Debug)]
pub struct Image {
    lock: Lock,
    access: ImageAccess,
    disk: Disk,
    executor: Executor,
    clock: Clock,
    notes: Vec<String>,
    read_bytes: Arc<AtomicU64>,
}

impl Image {
    /// Locks and opens the image at a path.
    ///
    /// # Errors
    /// Any [`ImageError`] that does not concern the file system.
    pub fn open(path: &Path, access: ImageAccess) -> Result<Image, ImageError> {
        let lock = Lock::take(path, access)?;
        let failed = |source| ImageError::Io { path: path.to_owned(), what: "opening it", source };
        // Not exclusive: the lock already is, and is held as long as this.
        let opening = DiskOptions { read_only: access == ImageAccess::Read, ..DiskOptions::default() };
        let (device, notes) = open_disk(path, &opening).map_err(failed)?;
        let read_bytes = Arc::<AtomicU64>::default();
        let device = Counted::new(device, Arc::clone(&read_bytes));
        let disk = match access {
            ImageAccess::Read => Disk::new(Overlay::new(device)),
            ImageAccess::Write => Disk::new(device),
        };
        let (clock, executor) = (Clock::monotonic(), Executor::new(ReadyOrder::Fair));
        Ok(Image { lock, access, disk, executor, clock, notes, read_bytes })
    }

    /// The lock that is held.
    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// What the device does without, and why, as sentences for the user.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Bytes read from the device so far, for showing progress.
    pub fn read_bytes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.read_bytes)
    }

    /// The device.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Runs some work on the device to its end.
    ///
    /// # Errors
    /// [`ImageError::Stalled`].
    pub fn run<T>(&mut self, work: impl AsyncFnOnce(Disk, Runtime) -> T) -> Result<T, ImageError> {
        let runtime = Runtime { clock: self.clock.clone(), spawner: self.executor.spawner() };
        let running = self.executor.run(&mut self.disk.clone(), work(self.disk.clone(), runtime));
        running.map_err(|_stalled| ImageError::Stalled(self.lock.path().to_owned()))
    }

    /// Opens all domains of the file system on this thread, runs some work with it, and closes it
    /// whatever the result. An image opened for reading stays unchanged.
    ///
    /// # Errors
    /// [`ImageError::FileSystem`] when the file system cannot be opened or closed, or the work
    /// returns an error of it; other errors of the work.
    pub fn with_fs<T, E: From<ImageError>>(&mut self, work: impl AsyncFnOnce(&Volume) -> Result<T, E>) -> Result<T, E> {
        self.with_recovery(async |fs: &Volume, _| work(fs).await)
    }

    /// As [`Image::with_fs`], with the result of opening.
    ///
    /// # Errors
    /// As [`Image::with_fs`].
    pub fn with_recovery<T, E: From<ImageError>>(
        &mut self,
        work: impl AsyncFnOnce(&Volume, Recovery) -> Result<T, E>,
    ) -> Result<T, E> {
        let (access, path) = (self.access, self.lock.path().to_owned());
        let wrong = |source| ImageError::FileSystem { path: path.clone(), source };
        let options = match access {
            ImageAccess::Write => OpenOptions::default(),
            // No cluster is a candidate for cleaning, which would move content into memory.
            ImageAccess::Read => OpenOptions { policy: Some(Policy::Threshold { k: 0.0 }), ..OpenOptions::default() },
        };
        let ended = self.run(async |disk, runtime| {
            let opened = open_volume(&disk, options, runtime).await;
            let (fs, recovery) = opened.map_err(|error| E::from(wrong(error)))?;
            // Each command opens the image anew: round robin would always begin with the first
            // domain.
            let fs = fs.with_placement(Placement::LeastFull);
            if access == ImageAccess::Write {
                crate::remove_unfinished(&fs).await.map_err(|error| E::from(wrong(error)))?;
            }
            let answer = work(&fs, recovery).await;
            if access == ImageAccess::Write {
                let closed = fs.close().await.map_err(|error| E::from(wrong(error)));
                return answer.and_then(|answer| closed.map(|()| answer));
            }
            answer
        });
        ended.map_err(E::from)?
    }
}
