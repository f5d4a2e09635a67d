//! logfs by its library, without a kernel in between: a domain for each thread, with its own queue
//! to the device.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_disk::{Buffer, DiskOptions, Divided, open_disk};
use iolab_executor::{Executor, ReadyOrder};
use iolab_image::{Image, ImageAccess, ImageError};
use iolab_logfs::{Activity, Disk, InodeId, LogFs, MkfsOptions, Owner, mkfs, open_domain};

use super::{ImageStore, Load, Shape, Span, Stage, Store, on_threads};
use crate::BenchError;
use crate::gate::Gate;
use crate::random::Random;

/// Files of an open domain.
pub(crate) struct LogStore {
    path: PathBuf,
    fs: LogFs,
    files: Vec<InodeId>,
    /// One for each worker, away while its operation is under way.
    buffers: RefCell<Vec<Option<Buffer>>>,
}

pub(super) fn run<L: Load>(image: &ImageStore, parts: Vec<(Shape, L)>) -> Result<Vec<L::Output>, BenchError> {
    // Open until all threads have ended: with it goes the lock.
    let mut opened = Image::open(&image.path, ImageAccess::Write)?;
    let domains = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    let made = opened.run(async |disk, (clock, _)| {
        let options = MkfsOptions { domains, ..fresh(&image.mkfs, &clock) };
        mkfs(&disk, &options).await
    })?;
    made.map_err(wrong(&image.path, "creating the file system"))?;
    on_threads(parts, |domain, (shape, load), gate| run_domain(image, domain, shape, load, gate))
}

/// Opens a domain by a way of its own to the device, lets the load run, and closes it.
fn run_domain<L: Load>(
    image: &ImageStore,
    domain: usize,
    shape: Shape,
    load: L,
    gate: Arc<Gate>,
) -> Result<L::Output, BenchError> {
    let wrong = |doing| wrong(&image.path, doing);
    let unopened = |source| BenchError::Folder { path: image.path.clone(), doing: "opening it", source };
    let (device, _) = open_disk(&image.path, &DiskOptions::default()).map_err(unopened)?;
    let (disk, clock, mut executor) = (Disk::new(device), Clock::monotonic(), Executor::new(ReadyOrder::Fair));
    let spawner = executor.spawner();
    let running = executor.run(&mut disk.clone(), async {
        let context = (clock.clone(), spawner.clone());
        let (fs, _) = open_domain(&disk, domain as u32, image.open, context).await.map_err(wrong("opening it"))?;
        let mut files = Vec::new();
        for number in 0..shape.files {
            // All domains share one root directory, where a name is there once.
            let name = format!("file{domain}.{number}");
            let owner = Owner { mode: 0o644, ..Owner::default() };
            let file = fs.create(InodeId::ROOT, name.as_bytes(), owner).await;
            files.push(file.map_err(wrong("making a file"))?);
        }
        let mut random = Random::new(shape.seed);
        let buffer = || {
            let mut buffer = Buffer::zeroed(shape.most_bytes as usize);
            random.fill(&mut buffer);
            Some(buffer)
        };
        let buffers = std::iter::repeat_with(buffer).take(shape.workers).collect();
        let store = LogStore { path: image.path.clone(), fs: fs.clone(), files, buffers: RefCell::new(buffers) };
        let output = load.run(Rc::new(store), Stage { clock: clock.clone(), spawner, gate }).await?;
        fs.close().await.map_err(wrong("closing it"))?;
        Ok(output)
    });
    running.map_err(|_stalled| ImageError::Stalled(image.path.clone()))?
}

fn wrong(path: &Path, doing: &'static str) -> impl Fn(iolab_logfs::Error) -> BenchError + use<> {
    let path = path.to_owned();
    move |source| BenchError::LogFs { path: path.clone(), doing, source }
}

/// The same with an id that no file system had before: frames that another one of the same id left
/// would look like lost ones.
fn fresh(options: &MkfsOptions, clock: &Clock) -> MkfsOptions {
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
        // A device that broke down keeps buffers: the load goes on with a new one until it is told.
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
