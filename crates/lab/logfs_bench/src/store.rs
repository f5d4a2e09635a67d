//! The targets of loads: files by number, in logfs or in a folder.

mod folder;
mod logfs;
mod opened;

pub(crate) use logfs::fresh;
pub(crate) use opened::folder;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_executor::Spawner;
use iolab_logfs::{Activity, MkfsOptions, OpenOptions};

use crate::BenchError;
use crate::gate::{Breaker, Gate};

/// A place in a file, and the worker whose buffer is used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) file: usize,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// Its buffer is used; each worker has one operation under way at most.
    pub(crate) worker: usize,
}

/// Files that a load works on. Lengths and offsets are multiples of the unit that the store was
/// made with.
pub(crate) trait Store {
    async fn write(&self, span: Span) -> Result<(), BenchError>;

    /// Reads; fewer bytes where the file ends.
    async fn read(&self, span: Span) -> Result<(), BenchError>;

    async fn truncate(&self, file: usize, size: u64) -> Result<(), BenchError>;

    /// Makes everything durable.
    async fn sync(&self) -> Result<(), BenchError>;

    /// What logfs did in the background so far.
    fn activity(&self) -> Option<Activity>;
}

/// How many files and workers of one domain, and how long an operation is at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) files: usize,
    /// Files behind those, in the domains of others; 0 if there are no other domains.
    pub(crate) remote_files: usize,
    pub(crate) workers: usize,
    pub(crate) most_bytes: u64,
    pub(crate) seed: u64,
}

/// What a load needs besides its store.
pub(crate) struct Stage {
    pub(crate) clock: Clock,
    pub(crate) spawner: Spawner,
    /// Must be passed before the measurement begins.
    pub(crate) gate: Arc<Gate>,
}

/// An image, and what is made in it.
#[derive(Debug, Clone)]
pub struct ImageStore {
    /// Regular file or block device; what it holds is lost.
    pub path: PathBuf,
    /// How the file system is made; the load determines the number of domains.
    pub mkfs: MkfsOptions,
    /// How it is used.
    pub open: OpenOptions,
    /// Whether all domains are open as one file system, instead of each by itself.
    pub shared_root: bool,
}

impl Shape {
    /// The domain of a file of a domain, and its number among the files of the domain that it is
    /// for.
    pub(crate) fn place(&self, file: usize, domain: usize, domains: usize) -> usize {
        match file.checked_sub(self.files) {
            Some(remote) if domains > 1 => (domain + 1 + remote % (domains - 1)) % domains,
            _ => domain,
        }
    }
}

/// What a load runs on.
#[derive(Debug, Clone)]
pub enum BenchTarget {
    /// logfs, made anew.
    Image(Box<ImageStore>),
    /// A folder of any other file system.
    Folder(PathBuf),
}

impl BenchTarget {
    /// The image or folder.
    pub fn path(&self) -> &Path {
        match self {
            BenchTarget::Image(image) => &image.path,
            BenchTarget::Folder(folder) => folder,
        }
    }

    /// Bytes available for content, used or not.
    ///
    /// # Errors
    /// Those of examining the target.
    pub fn capacity_bytes(&self) -> Result<u64, BenchError> {
        match self {
            BenchTarget::Image(image) => {
                let mut opened = iolab_image::Image::open(&image.path, iolab_image::ImageAccess::Read)?;
                Ok(opened.run(async |disk, _| disk.geometry().size_bytes)?)
            }
            BenchTarget::Folder(path) => {
                let failed = |errno: rustix::io::Errno| BenchError::Folder {
                    path: path.clone(),
                    doing: "asking for its size",
                    source: errno.into(),
                };
                let facts = rustix::fs::statvfs(path).map_err(failed)?;
                Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
            }
        }
    }
}

/// Work of one domain, which runs on any store.
pub(crate) trait Load: Send {
    type Output: Send;

    async fn run<S: Store + 'static>(self, store: std::rc::Rc<S>, stage: Stage) -> Result<Self::Output, BenchError>;
}

/// Makes the store with a domain for each part and lets the parts run, each on a thread of its own;
/// what was made in a folder is removed again. A folder has a folder for each part instead of a
/// domain. Results are in the order of the parts.
pub(crate) fn run_on<L: Load>(target: &BenchTarget, parts: Vec<(Shape, L)>) -> Result<Vec<L::Output>, BenchError> {
    match target {
        BenchTarget::Image(image) => logfs::run(image, parts),
        BenchTarget::Folder(path) => folder::run(path, parts),
    }
}

/// Runs every part on its own thread. If one fails, the others end; its error is returned.
fn on_threads<L: Load>(
    parts: Vec<(Shape, L)>,
    work: impl Fn(usize, (Shape, L), Arc<Gate>) -> Result<L::Output, BenchError> + Sync,
) -> Result<Vec<L::Output>, BenchError> {
    let gate = Arc::new(Gate::new(parts.len()));
    let ended: Vec<Result<L::Output, BenchError>> = std::thread::scope(|scope| {
        let start = |(domain, part): (usize, (Shape, L))| {
            let (gate, work) = (Arc::clone(&gate), &work);
            scope.spawn(move || {
                let breaker = Breaker::new(&gate);
                let output = work(domain, part, Arc::clone(&gate))?;
                breaker.end_well();
                Ok(output)
            })
        };
        let threads: Vec<_> = parts.into_iter().enumerate().map(start).collect();
        let end = |panicked| std::panic::resume_unwind(panicked);
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(end)).collect()
    });
    let (mut outputs, mut failed) = (Vec::new(), None);
    for one in ended {
        match one {
            Ok(output) => outputs.push(output),
            Err(BenchError::Abandoned) if failed.is_some() => {}
            Err(error) if matches!(failed, None | Some(BenchError::Abandoned)) => failed = Some(error),
            Err(_) => {}
        }
    }
    failed.map_or(Ok(outputs), Err)
}
