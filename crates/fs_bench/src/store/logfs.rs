//! logfs by its library, without a kernel in between.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use iolab_block::{Buffer, Divided};
use iolab_clock::Clock;
use iolab_image::{Access, Image, ImageError};
use iolab_logfs::{Activity, InodeId, LogFs, MkfsOptions, Owner, mkfs, open};

use super::{ImageStore, Load, Shape, Span, Stage, Store};
use crate::BenchError;
use crate::random::Random;

/// Files of an open logfs.
pub(crate) struct LogStore {
    path: PathBuf,
    fs: LogFs,
    files: Vec<InodeId>,
    /// One for each worker, away while its operation is under way.
    buffers: RefCell<Vec<Option<Buffer>>>,
}

pub(super) fn run<L: Load>(image: &ImageStore, shape: Shape, load: L) -> Result<L::Output, BenchError> {
    let mut opened = Image::open(&image.path, Access::Write)?;
    let wrong = |doing| {
        let path = image.path.clone();
        move |source| BenchError::LogFs { path: path.clone(), doing, source }
    };
    let ended = opened.run(async |disk, (clock, spawner)| {
        mkfs(&disk, &fresh(&image.mkfs, &clock)).await.map_err(wrong("making the file system"))?;
        let context = (clock.clone(), spawner.clone());
        let (fs, _) = open(&disk, image.open, context).await.map_err(wrong("opening it"))?;
        let mut files = Vec::new();
        for number in 0..shape.files {
            let name = format!("file{number}");
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
        let output = load.run(Rc::new(store), Stage { clock, spawner }).await?;
        fs.close().await.map_err(wrong("closing it"))?;
        Ok::<_, BenchError>(output)
    });
    ended.map_err(|error: ImageError| BenchError::from(error))?
}

/// The same with an id that no file system had before: frames that another one of the same id left would look like lost ones.
fn fresh(options: &MkfsOptions, clock: &Clock) -> MkfsOptions {
    let now_ns = clock.unix_ns();
    let mut id = options.id;
    Random::new(now_ns).fill(&mut id[..8]);
    MkfsOptions { id, now_ns, ..*options }
}

impl LogStore {
    fn wrong(&self, doing: &'static str) -> impl Fn(iolab_logfs::Error) -> BenchError {
        move |source| BenchError::LogFs { path: self.path.clone(), doing, source }
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
