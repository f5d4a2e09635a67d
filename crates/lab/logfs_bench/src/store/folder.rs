//! Files in a folder of any file system: io_uring with registered files and buffers, `O_DIRECT`.
//!
//! Truncations and the last sync are plain system calls on the same thread: io_uring of the kernels
//! in use either does not have them or gives them to a thread of the kernel, which costs more than
//! it saves.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

use iolab_clock::Clock;
use iolab_engine::{Completions, Engine, Lane, LaneRequest, Op, OpKind, SlotPool, Submission, TargetFile, Wait};
use iolab_engine_uring::{Uring, UringLane};
use iolab_executor::{Driver, Executor, ReadyOrder};
use iolab_logfs::Activity;
use iolab_memory::Backing;
use iolab_options::Settings;
use rustix::fs::OFlags;

use super::{Load, Shape, Span, Stage, Store, on_threads};
use crate::BenchError;
use crate::gate::Gate;
use crate::random::Random;

/// Files and the ring that reaches them.
pub(crate) struct FolderStore {
    folder: PathBuf,
    files: Vec<File>,
    ring: Rc<RefCell<Ring>>,
}

struct Ring {
    // Declared before the pool, so that it is dropped while its slots still exist.
    lane: UringLane,
    _pool: SlotPool,
    batch: Completions,
    /// By slot, which is the worker's number.
    places: Vec<Place>,
    under_way: usize,
    /// Operations for which the lane had no room.
    backlog: Vec<Op>,
    failed: Option<String>,
}

#[derive(Default)]
struct Place {
    result: Option<i32>,
    waker: Option<Waker>,
}

/// Removes what was made when it is dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that cannot be removed is no reason to lose a result.
        let _left = std::fs::remove_dir_all(&self.0);
    }
}

fn failed(path: &Path, doing: &'static str) -> impl Fn(io::Error) -> BenchError {
    let path = path.to_owned();
    move |source| BenchError::Folder { path: path.clone(), doing, source }
}

pub(super) fn run<L: Load>(parent: &Path, parts: Vec<(Shape, L)>) -> Result<Vec<L::Output>, BenchError> {
    let folder = parent.join(format!("iolab-logfs-bench.{}", std::process::id()));
    std::fs::create_dir(&folder).map_err(failed(&folder, "making a folder"))?;
    let _scratch = Scratch(folder.clone());
    // Before any thread opens a file: file systems that spread folders over their parts have a part
    // for each.
    let own = |number: usize| folder.join(number.to_string());
    for number in 0..parts.len() {
        std::fs::create_dir(own(number)).map_err(failed(&own(number), "making a folder"))?;
    }
    let domains = parts.len();
    on_threads(parts, |number, (shape, load), gate| {
        let path = |file| own(shape.place(file, number, domains)).join(format!("file{number}.{file}"));
        run_part(&own(number), shape, &path, load, gate)
    })
}

/// `path` says where a file is.
fn run_part<L: Load>(
    folder: &Path,
    shape: Shape,
    path: &dyn Fn(usize) -> PathBuf,
    load: L,
    gate: Arc<Gate>,
) -> Result<L::Output, BenchError> {
    let store = FolderStore::open(folder, shape, path)?;
    let mut driver = RingDriver(Rc::clone(&store.ring));
    let mut executor = Executor::new(ReadyOrder::Fair);
    let stage = Stage { clock: Clock::monotonic(), spawner: executor.spawner(), gate };
    let ended = executor.run(&mut driver, load.run(Rc::new(store), stage));
    let stalled =
        |_| BenchError::Unfit("deadlock: every worker waits for another one; please report this bug".to_owned());
    ended.map_err(stalled)?
}

impl FolderStore {
    fn open(folder: &Path, shape: Shape, path: &dyn Fn(usize) -> PathBuf) -> Result<FolderStore, BenchError> {
        let open = |number: usize| {
            let path = path(number);
            let mut options = OpenOptions::new();
            options.create_new(true).read(true).write(true).custom_flags(OFlags::DIRECT.bits() as i32);
            let file = options.open(&path).map_err(failed(&path, "creating a file with O_DIRECT"))?;
            Ok((TargetFile { path, fd: file.as_raw_fd(), size_bytes: 0, is_block_device: false }, file))
        };
        let opened: Result<Vec<(TargetFile, File)>, BenchError> =
            (0..shape.files + shape.remote_files).map(open).collect();
        let (targets, files): (Vec<TargetFile>, Vec<File>) = opened?.into_iter().unzip();
        let no_memory = |error: iolab_memory::PoolError| BenchError::Folder {
            path: folder.to_owned(),
            doing: "allocating buffers",
            source: error.source,
        };
        let pool = SlotPool::new(shape.workers, shape.most_bytes as usize, 0, &Backing::Anonymous);
        let mut pool = pool.map_err(no_memory)?;
        let mut random = Random::new(shape.seed);
        (0..shape.workers).for_each(|slot| random.fill(pool.slot_mut(slot)));
        let request = LaneRequest {
            files: &targets,
            depth: shape.workers,
            buffers: pool.view(),
            options: &Settings::default(),
            direct: true,
            seed: 0,
            worker: 0,
        };
        let lane = Uring::open(&request).map_err(|error| BenchError::Unfit(error.message))?;
        let places = std::iter::repeat_with(Place::default).take(shape.workers).collect();
        let batch = Completions::with_room(shape.workers);
        let ring = Ring { lane, _pool: pool, batch, places, under_way: 0, backlog: Vec::new(), failed: None };
        Ok(FolderStore { folder: folder.to_owned(), files, ring: Rc::new(RefCell::new(ring)) })
    }

    /// Performs one operation completely; a short one is continued where it stopped. Returns the
    /// number of bytes moved.
    async fn move_bytes(&self, span: Span, kind: OpKind, doing: &'static str) -> Result<u64, BenchError> {
        let mut moved = 0;
        while moved < span.length {
            let op = Op {
                offset: span.offset + moved,
                length: (span.length - moved) as u32,
                buffer_offset: moved as u32,
                file: span.file as u32,
                slot: span.worker as u16,
                kind,
                priority: 0,
            };
            self.ring.borrow_mut().send(op);
            let result =
                std::future::poll_fn(|context| self.ring.borrow_mut().poll(span.worker, context.waker())).await;
            match result {
                0 => break,
                1.. => moved += result as u64,
                errno => {
                    let error = io::Error::from_raw_os_error(-errno);
                    return Err(failed(&self.folder.join(format!("file{}", span.file)), doing)(error));
                }
            }
        }
        Ok(moved)
    }
}

impl Ring {
    fn send(&mut self, op: Op) {
        self.under_way += 1;
        match self.lane.submit(&op) {
            Submission::Accepted => {}
            Submission::Full => self.backlog.push(op),
            Submission::Refused(errno) => self.finish(usize::from(op.slot), -errno),
        }
    }

    fn poll(&mut self, slot: usize, waker: &Waker) -> Poll<i32> {
        let place = &mut self.places[slot];
        match place.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                place.waker = Some(waker.clone());
                Poll::Pending
            }
        }
    }

    fn finish(&mut self, slot: usize, result: i32) {
        self.under_way -= 1;
        let place = &mut self.places[slot];
        place.result = Some(result);
        if let Some(waker) = place.waker.take() {
            waker.wake();
        }
    }
}

/// Lets the ring have its turn.
struct RingDriver(Rc<RefCell<Ring>>);

impl Driver for RingDriver {
    fn turn(&mut self, wait: bool) -> bool {
        let ring = &mut *self.0.borrow_mut();
        if ring.under_way == 0 || ring.failed.is_some() {
            return false;
        }
        for op in std::mem::take(&mut ring.backlog) {
            ring.under_way -= 1;
            ring.send(op);
        }
        let wait = if wait { Wait { at_least: 1, timeout_ns: u64::MAX } } else { Wait::POLL };
        ring.batch.clear();
        if let Err(error) = ring.lane.flush_and_reap(wait, &mut ring.batch) {
            ring.failed = Some(format!("{} failed (errno {})", error.call, error.errno));
            return false;
        }
        let done: Vec<(usize, i32)> =
            ring.batch.as_slice().iter().map(|completion| (completion.slot as usize, completion.result)).collect();
        done.into_iter().for_each(|(slot, result)| ring.finish(slot, result));
        true
    }
}

impl Store for FolderStore {
    async fn write(&self, span: Span) -> Result<(), BenchError> {
        let moved = self.move_bytes(span, OpKind::Write, "writing").await?;
        let short = || failed(&self.folder, "writing")(io::Error::from(io::ErrorKind::WriteZero));
        if moved == span.length { Ok(()) } else { Err(short()) }
    }

    async fn read(&self, span: Span) -> Result<(), BenchError> {
        self.move_bytes(span, OpKind::Read, "reading").await.map(drop)
    }

    async fn truncate(&self, file: usize, size: u64) -> Result<(), BenchError> {
        self.files[file].set_len(size).map_err(failed(&self.folder, "truncating"))
    }

    async fn sync(&self) -> Result<(), BenchError> {
        self.files.iter().try_for_each(File::sync_all).map_err(failed(&self.folder, "syncing"))
    }

    fn activity(&self) -> Option<Activity> {
        None
    }
}
