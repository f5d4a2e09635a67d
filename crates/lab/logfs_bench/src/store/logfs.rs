//! logfs by its library, without a kernel in between: a domain for each thread, with its own queue
//! to the device. The domains are file systems of their own, or one together.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use iolab_clock::Clock;
use iolab_disk::{Buffer, DiskOptions, Divided, open_disk};
use iolab_executor::{Executor, Notify, ReadyOrder};
use iolab_image::{Image, ImageAccess, ImageError};
use iolab_logfs::{Activity, CoreSetup, Disk, InodeId, MkfsOptions, Runtime, core_setups, mkfs, open_domain};

use super::opened::Opened;
use super::{ImageStore, Load, Shape, Span, Stage, Store, on_threads};
use crate::BenchError;
use crate::gate::Gate;
use crate::random::Random;

/// Files of an open domain, or of a core's view of all domains.
pub(crate) struct LogStore {
    path: PathBuf,
    fs: Opened,
    files: Vec<InodeId>,
    /// One for each worker, absent while its operation is in progress.
    buffers: RefCell<Vec<Option<Buffer>>>,
}

pub(super) fn run<L: Load>(image: &ImageStore, parts: Vec<(Shape, L)>) -> Result<Vec<L::Output>, BenchError> {
    // Open until all threads have ended: with it goes the lock.
    let mut opened = Image::open(&image.path, ImageAccess::Write)?;
    let domains = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    let made = opened.run(async |disk, runtime| {
        let options = MkfsOptions { domains, ..fresh(&image.mkfs, &runtime.clock) };
        mkfs(&disk, &options).await
    })?;
    made.map_err(wrong(&image.path, "creating the file system"))?;
    let setups = Mutex::new(core_setups(parts.len()).into_iter().map(Some).collect::<Vec<_>>());
    let domains = parts.len();
    on_threads(parts, |number, (shape, load), gate| {
        let setup = setups.lock().unwrap_or_else(PoisonError::into_inner).get_mut(number).and_then(Option::take);
        let part = Part { image, number, domains, shape };
        match setup.filter(|_| image.shared_root) {
            Some(setup) => part.run_as_core(setup, load, gate),
            None => part.run_alone(load, gate),
        }
    })
}

/// One of the domains and the thread that works on it.
struct Part<'a> {
    image: &'a ImageStore,
    number: usize,
    domains: usize,
    shape: Shape,
}

impl Part<'_> {
    fn wrong(&self, doing: &'static str) -> impl Fn(iolab_logfs::Error) -> BenchError + use<> {
        wrong(&self.image.path, doing)
    }

    fn disk(&self) -> Result<Disk, BenchError> {
        let path = &self.image.path;
        let unopened = |source| BenchError::Folder { path: path.clone(), doing: "opening it", source };
        open_disk(path, &DiskOptions::default()).map(|(device, _)| Disk::new(device)).map_err(unopened)
    }

    /// Opens a domain by a way of its own to the device, lets the load run, and closes it.
    fn run_alone<L: Load>(&self, load: L, gate: Arc<Gate>) -> Result<L::Output, BenchError> {
        let (disk, clock, mut executor) = (self.disk()?, Clock::monotonic(), Executor::new(ReadyOrder::Fair));
        let spawner = executor.spawner();
        let running = executor.run(&mut disk.clone(), async {
            let runtime = Runtime { clock: clock.clone(), spawner: spawner.clone() };
            let opened = open_domain(&disk, self.number as u32, self.image.open, runtime).await;
            let fs = Opened::Alone(opened.map_err(self.wrong("opening it"))?.0);
            let output = self.load(&fs, load, Stage { clock: clock.clone(), spawner, gate }).await?;
            fs.close().await.map_err(self.wrong("closing it"))?;
            Ok(output)
        });
        running.map_err(|_stalled| ImageError::Stalled(self.image.path.clone()))?
    }

    /// Runs as one of the cores of a file system. A core whose load has ended serves the others
    /// until the first core, which waits for all, closes everything.
    fn run_as_core<L: Load>(&self, setup: CoreSetup, load: L, gate: Arc<Gate>) -> Result<L::Output, BenchError> {
        let (disk, clock, mut executor) = (self.disk()?, Clock::monotonic(), Executor::new(ReadyOrder::Fair));
        let (spawner, mut driver) = (executor.spawner(), setup.driver(&disk));
        let running = executor.run(&mut driver, async {
            let runtime = Runtime { clock: clock.clone(), spawner: spawner.clone() };
            let (volume, _) = setup.open(&disk, self.image.open, runtime).await.map_err(self.wrong("opening it"))?;
            let ended = Rc::new(Arrivals::default());
            volume.keep(Rc::clone(&ended));
            let fs = Opened::AsCore(volume.clone());
            let stage = Stage { clock: clock.clone(), spawner, gate: Arc::clone(&gate) };
            let output = match self.load(&fs, load, stage).await {
                Ok(output) => output,
                Err(error) => {
                    // No core must wait for this one any more. If the only error is that everything
                    // was closed, this core has not failed itself.
                    let error = if gate.is_broken() { BenchError::Abandoned } else { error };
                    gate.break_open();
                    let _second = fs.close().await;
                    return Err(error);
                }
            };
            if self.number == 0 {
                ended.wait_for(self.domains - 1).await;
                fs.close().await.map_err(self.wrong("closing it"))?;
            } else {
                let arrive = async |first: Rc<Arrivals>| {
                    first.arrive();
                    Ok(())
                };
                volume.beside(InodeId::ROOT, arrive).await.map_err(self.wrong("ending"))?;
                volume.closed().await;
            }
            Ok(output)
        });
        running.map_err(|_stalled| ImageError::Stalled(self.image.path.clone()))?
    }

    /// Makes the files, and lets the load run.
    async fn load<L: Load>(&self, fs: &Opened, load: L, stage: Stage) -> Result<L::Output, BenchError> {
        let mut files = Vec::new();
        for file in 0..self.shape.files + self.shape.remote_files {
            let place = self.shape.place(file, self.number, self.domains);
            files.push(fs.make(self.number, place, file).await.map_err(self.wrong("making a file"))?);
        }
        let mut random = Random::new(self.shape.seed);
        let buffer = || {
            let mut buffer = Buffer::zeroed(self.shape.most_bytes as usize);
            random.fill(&mut buffer);
            Some(buffer)
        };
        let buffers = std::iter::repeat_with(buffer).take(self.shape.workers).collect();
        let store = LogStore { path: self.image.path.clone(), fs: fs.clone(), files, buffers: RefCell::new(buffers) };
        load.run(Rc::new(store), stage).await
    }
}

/// Cores whose load has ended, as the first core counts them.
#[derive(Debug, Default)]
struct Arrivals {
    count: Cell<usize>,
    changed: Notify,
}

impl Arrivals {
    fn arrive(&self) {
        self.count.set(self.count.get() + 1);
        self.changed.notify();
    }

    async fn wait_for(&self, count: usize) {
        self.changed.until(|_| (self.count.get() >= count).then_some(())).await;
    }
}

fn wrong(path: &Path, doing: &'static str) -> impl Fn(iolab_logfs::Error) -> BenchError + use<> {
    let path = path.to_owned();
    move |source| BenchError::LogFs { path: path.clone(), doing, source }
}

/// As `options`, but with a new id: frames that a file system with the same id left would look like
/// lost ones.
pub(crate) fn fresh(options: &MkfsOptions, clock: &Clock) -> MkfsOptions {
    let now_ns = clock.unix_ns();
    let mut id = options.id;
    Random::new(now_ns).fill(&mut id[..8]);
    MkfsOptions { id, now_ns, ..*options }
}

impl LogStore {
    fn wrong(&self, doing: &'static str) -> impl Fn(iolab_logfs::Error) -> BenchError + use<> {
        wrong(&self.path, doing)
    }

    fn borrow_buffer(&self, worker: usize) -> Buffer {
        let lent = self.buffers.borrow_mut()[worker].take();
        // A failed device keeps buffers: the load continues with a new one until it gets the error.
        lent.unwrap_or_else(|| Buffer::zeroed(1 << 20))
    }
}

impl Store for LogStore {
    async fn write(&self, span: Span) -> Result<(), BenchError> {
        let mut whole = Divided::new(self.borrow_buffer(span.worker));
        let part = whole.take(span.length as usize);
        let (result, part) = self.fs.write_buffer(self.files[span.file], span.offset, part).await;
        drop(part);
        self.buffers.borrow_mut()[span.worker] = whole.rejoin();
        result.map_err(self.wrong("writing"))
    }

    async fn read(&self, span: Span) -> Result<(), BenchError> {
        let mut whole = Divided::new(self.borrow_buffer(span.worker));
        let part = whole.take(span.length as usize);
        let (result, part) = self.fs.read_into(self.files[span.file], span.offset, part).await;
        drop(part);
        self.buffers.borrow_mut()[span.worker] = whole.rejoin();
        result.map(drop).map_err(self.wrong("reading"))
    }

    async fn truncate(&self, file: usize, size: u64) -> Result<(), BenchError> {
        self.fs.truncate(self.files[file], size).await.map_err(self.wrong("truncating"))
    }

    async fn sync(&self) -> Result<(), BenchError> {
        self.fs.sync().await.map_err(self.wrong("syncing"))
    }

    fn activity(&self) -> Option<Activity> {
        Some(self.fs.activity())
    }
}
