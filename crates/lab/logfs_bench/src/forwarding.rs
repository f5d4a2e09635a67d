//! The cost of operations on a file of another core, and of changing the root directory, whose
//! master is the first core.
//!
//! ```text
//!  core 0: master of the root, only serves        core 1: measures
//!     ◀── stat of a file in core0/ ──────────────────┤
//!     ◀── create and remove in the root ─────────────┤ (carried out here, told to all cores)
//!                                                    └── the same on own files, in an own directory
//! ```
//!
//! One at a time, a forwarded operation includes the time in which the other core wakes up. Many in
//! flight show the cost of forwarding on both cores. The operations are answered from memory, so
//! that no device is involved.

use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use iolab_clock::Clock;
use iolab_disk::{DiskOptions, open_disk};
use iolab_executor::{Executor, ReadyOrder};
use iolab_image::{Image, ImageAccess, ImageError};
use iolab_logfs::{CoreSetup, Disk, Error, InodeId, MkfsOptions, Owner, Runtime, Volume, core_setups, mkfs};

use crate::store::{ImageStore, folder, fresh};
use crate::{BenchError, Class};

/// Operations of each kind.
const TIMES: u32 = 10_000;
/// Of those that change a directory.
const CHANGES: u32 = 2_000;
/// Operations in flight at once, if many.
const MANY: u32 = 32;

/// Durations of operations, ns; medians for operations one at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForwardingCost {
    /// An operation on a file of the same core.
    pub own_ns: f64,
    /// The same on a file of another core, one at a time.
    pub remote_ns: f64,
    /// An operation on a file of the same core, of many in flight.
    pub own_of_many_ns: f64,
    /// The same on a file of another core.
    pub remote_of_many_ns: f64,
    /// Making and removing a file in a directory of the same core.
    pub own_change_ns: f64,
    /// The same in the root directory, in a domain of the same core.
    pub root_change_ns: f64,
}

impl ForwardingCost {
    /// The additional cost of forwarding for an operation, of many in flight.
    pub fn forwarding_ns(&self) -> f64 {
        self.remote_of_many_ns - self.own_of_many_ns
    }
}

/// Measures on an image that is made anew for it, with two domains.
///
/// # Errors
/// What the image answers.
pub fn measure_forwarding(image: &ImageStore) -> Result<ForwardingCost, BenchError> {
    let mut opened = Image::open(&image.path, ImageAccess::Write)?;
    let made = opened.run(async |disk, runtime| {
        mkfs(&disk, &MkfsOptions { domains: 2, ..fresh(&image.mkfs, &runtime.clock) }).await
    })?;
    made.map_err(|source| wrong(image, source))?;
    let setups = Mutex::new(core_setups(2));
    let take = || setups.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let (Some(second), Some(first)) = (take(), take()) else { return Err(BenchError::Abandoned) };
    std::thread::scope(|scope| {
        let serving = scope.spawn(move || {
            core(image, first, async |volume, _| {
                folder(&volume, 0, 0).await?;
                volume.closed().await;
                Ok(())
            })
        });
        let measured = core(image, second, async |volume, runtime| {
            let measured = measure(&volume, &runtime).await;
            let closed = volume.close().await;
            measured.and_then(|measured| closed.map(|()| measured))
        });
        let served = serving.join().unwrap_or_else(|panicked| std::panic::resume_unwind(panicked));
        served.and(measured)
    })
}

fn wrong(image: &ImageStore, source: Error) -> BenchError {
    BenchError::LogFs { path: image.path.clone(), doing: "measuring what forwarding costs", source }
}

/// Runs `work` on a core with its own thread.
fn core<T>(
    image: &ImageStore,
    setup: CoreSetup,
    work: impl AsyncFnOnce(Volume, Runtime) -> Result<T, Error>,
) -> Result<T, BenchError> {
    let unopened = |source| BenchError::Folder { path: image.path.clone(), doing: "opening it", source };
    let disk = Disk::new(open_disk(&image.path, &DiskOptions::default()).map_err(unopened)?.0);
    let (mut executor, mut driver) = (Executor::new(ReadyOrder::Fair), setup.driver(&disk));
    let runtime = Runtime { clock: Clock::best().0, spawner: executor.spawner() };
    let running = executor.run(&mut driver, async {
        let (volume, _) = setup.open(&disk, image.open, runtime.clone()).await?;
        work(volume, runtime).await
    });
    let ended = running.map_err(|_stalled| ImageError::Stalled(image.path.clone()))?;
    ended.map_err(|source| wrong(image, source))
}

async fn measure(volume: &Volume, runtime: &Runtime) -> Result<ForwardingCost, Error> {
    let clock = &runtime.clock;
    let (own, remote) = (folder(volume, 1, 1).await?, folder(volume, 1, 0).await?);
    let own_file = volume.create(own, b"file", Owner::default()).await?;
    let remote_file = volume.create(remote, b"file", Owner::default()).await?;
    Ok(ForwardingCost {
        own_ns: one_by_one(volume, clock, own_file).await?,
        remote_ns: one_by_one(volume, clock, remote_file).await?,
        own_of_many_ns: many(volume, runtime, own_file).await?,
        remote_of_many_ns: many(volume, runtime, remote_file).await?,
        own_change_ns: changes(volume, clock, own).await?,
        root_change_ns: changes(volume, clock, InodeId::ROOT).await?,
    })
}

async fn one_by_one(volume: &Volume, clock: &Clock, file: InodeId) -> Result<f64, Error> {
    let mut taken = Class::default();
    for _ in 0..TIMES {
        let begun = clock.now_ns();
        volume.stat(file).await?;
        taken.add(0, clock.now_ns() - begun);
    }
    Ok(taken.latency.to_sparse().percentile(50.0) as f64)
}

async fn many(volume: &Volume, runtime: &Runtime, file: InodeId) -> Result<f64, Error> {
    let Runtime { clock, spawner } = runtime;
    let begun = clock.now_ns();
    let volume = Rc::new(volume.clone());
    let worker = |_| {
        let volume = Rc::clone(&volume);
        spawner.spawn(async move {
            for _ in 0..TIMES / MANY {
                volume.stat(file).await?;
            }
            Ok::<(), Error>(())
        })
    };
    let workers: Vec<_> = (0..MANY).map(worker).collect();
    for worker in workers {
        worker.await?;
    }
    Ok((clock.now_ns() - begun) as f64 / f64::from(TIMES / MANY * MANY))
}

async fn changes(volume: &Volume, clock: &Clock, directory: InodeId) -> Result<f64, Error> {
    let mut taken = Class::default();
    for _ in 0..CHANGES {
        let begun = clock.now_ns();
        volume.create(directory, b"made and removed", Owner::default()).await?;
        volume.unlink(directory, b"made and removed").await?;
        taken.add(0, clock.now_ns() - begun);
    }
    Ok(taken.latency.to_sparse().percentile(50.0) as f64)
}
