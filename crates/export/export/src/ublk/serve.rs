//! One export from adding the device to deleting it.
//!
//! ```text
//!  add ─▶ parameters ─▶ fetch all tags of all queues ─▶ start … serve … stop ─▶ all tags given up ─▶ delete
//! ```
//!
//! Start and stop are asynchronous: the driver completes them only after it has sent requests of
//! its own (it looks for partitions, it flushes), so the loop serves while they are pending.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::{CommandRing, Exporter, OpenLane, ServedCounts, SharedRanges, Size, Stop};
use iolab_engine::Lane;
use iolab_memory::SlotPool;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::ublk::abi::{self, MOST_DEPTH, Shape};
use crate::ublk::control::{CONTROL_TOKEN, Control, outcome};
use crate::ublk::descriptors::Descriptors;
use crate::ublk::driver::Driver;
use crate::ublk::options::UblkEvent;
use crate::ublk::queue::Queue;
use crate::ublk::queues::{Others, serve_beside};
use crate::ublk::{ExportError, Options};

const STOP_TOKEN: u64 = 1 << 41;
const FREE_TOKEN: u64 = 1 << 42;
/// Signals that another queue's thread has failed.
const HALT_TOKEN: u64 = 1 << 43;

/// The result of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// The device's number.
    pub number: u32,
    /// What was served.
    pub tally: ServedCounts,
}

/// Creates a block device, serves it until a stop is raised (or another process stops it), and
/// deletes it.
///
/// `lane` was opened on `buffers`, with as many operations in flight as they have slots;
/// [`Options::pool_shape`] says how many and how large. The device's bytes are `size`. Serves on
/// the calling thread, and leaves it on the processor it was put on.
pub fn serve<L: Lane>(lane: L, buffers: &mut SlotPool, size: Size, options: &Options) -> Result<Summary, ExportError> {
    let options = Options { queues: 1, ..options.clone() };
    make_and_serve(lane, buffers, size, &options, None)
}

/// As [`serve()`], with [`Options::queues`] queues, each with a thread and a lane on the same
/// device that `open` opens.
pub fn serve_queues<L: Lane>(open: &OpenLane<'_, L>, size: Size, options: &Options) -> Result<Summary, ExportError> {
    let (lane, mut buffers) = open(0).map_err(|reason| ExportError::Queue(0, reason))?;
    make_and_serve(lane, &mut buffers, size, options, Some(open))
}

fn make_and_serve<L: Lane>(
    lane: L,
    buffers: &mut SlotPool,
    size: Size,
    options: &Options,
    open: Option<&OpenLane<'_, L>>,
) -> Result<Summary, ExportError> {
    let shape = options.pool_shape();
    let (slots, slot_bytes) = (buffers.view().slots(), buffers.view().slot_bytes());
    let unfit = |mismatch| ExportError::Pool(mismatch, shape);
    let mut exporter = Exporter::new(lane, buffers, size, options.limits).map_err(unfit)?;
    if slots > MOST_DEPTH {
        return Err(unfit(crate::PoolMismatch { slot_bytes, slots }));
    }
    let ranges = SharedRanges::new(options.threads(), slots).map_err(unfit)?;
    let others = match open.filter(|_| options.threads() > 1) {
        Some(open) => {
            exporter = exporter.sharing(&ranges, 0).map_err(unfit)?;
            Some(Others { open, ranges: &ranges, size })
        }
        None => None,
    };
    options.bind(0)?;
    let control = Control::open()?;
    let mut ring = CommandRing::new(slots + 8).map_err(ExportError::Ring)?;
    let payload_bytes = exporter.payload_bytes() as u32;
    let wanted = options.threads() as u16;
    let (number, queues) = control.add(&mut ring, options.number, wanted, slots as u16, payload_bytes)?;
    let options = &Options { queues: usize::from(queues), ..options.clone() };
    let device = Shape { bytes: size.bytes(), block_bytes: size.block_bytes(), payload_bytes };
    let served = control
        .set_parameters(&mut ring, number, device)
        .and_then(|()| open_and_run(&control, &mut ring, exporter, others, options, number));
    // The driver deletes a device only when nothing holds it any more, including this ring's
    // commands.
    drop(ring);
    let deleted = delete(number);
    let tally = served?;
    deleted.map(|()| Summary { number, tally })
}

/// Deletes a device that is no longer served, such as one whose server was killed.
pub fn delete(number: u32) -> Result<(), ExportError> {
    let control = Control::open()?;
    let mut ring = CommandRing::new(1).map_err(ExportError::Ring)?;
    control.delete(&mut ring, number)
}

/// Opens the device's own file, serves through it, and closes it.
fn open_and_run<L: Lane>(
    control: &Control,
    ring: &mut CommandRing,
    exporter: Exporter<'_, L>,
    others: Option<Others<'_, L>>,
    options: &Options,
    number: u32,
) -> Result<ServedCounts, ExportError> {
    let path = PathBuf::from(format!("/dev/ublkc{number}"));
    let failed = |error| ExportError::Device(path.clone(), error);
    let file = File::options().read(true).write(true).open(&path).map_err(failed)?;
    let descriptors = Descriptors::map(file.as_raw_fd(), 0, exporter.slots()).map_err(failed)?;
    let mut queue = Queue::new(exporter, file.as_raw_fd(), 0, descriptors);
    let mut first = |halt: Option<&Stop>| run(control, ring, &mut queue, options, number, halt);
    let served = match &others {
        Some(others) if options.threads() > 1 => serve_beside(others, &file, &path, options, |halt| first(Some(halt))),
        _ => first(None).map(|()| ServedCounts::default()),
    };
    let drained = queue.exporter.drain().map_err(ExportError::from);
    let mut tally = queue.exporter.tally();
    tally += served?;
    drained.map(|()| tally)
}

/// The progress of an export.
struct Progress<'a> {
    options: &'a Options,
    number: u32,
    /// Raised by a thread that finds that the device is not in use.
    free: Arc<Stop>,
    looking: Option<JoinHandle<()>>,
    stopping: bool,
    /// Control commands that have not completed.
    pending: u32,
}

/// Starts the device and serves it until the driver has aborted all its tags.
pub(crate) fn run<L: Lane, D: Driver>(
    control: &Control,
    driver: &mut D,
    queue: &mut Queue<'_, L>,
    options: &Options,
    number: u32,
    halt: Option<&Stop>,
) -> Result<(), ExportError> {
    let free = Arc::new(Stop::by_hand().map_err(ExportError::Ring)?);
    let mut progress = Progress { options, number, free, looking: None, stopping: false, pending: 1 };
    queue.fetch(driver)?;
    driver.round(true, 0).map_err(ExportError::Ring)?;
    control.begin(driver, abi::START_DEV, number, u64::from(std::process::id()))?;
    if let Some(stop) = &options.stop {
        driver.watch(stop.as_raw_fd(), STOP_TOKEN).map_err(ExportError::Ring)?;
    }
    if let Some(halt) = halt {
        driver.watch(halt.as_raw_fd(), HALT_TOKEN).map_err(ExportError::Ring)?;
    }
    let served = serve_tags(control, driver, queue, &mut progress);
    if let Some(thread) = progress.looking {
        // A panic of the observer has already been printed.
        let _ = thread.join();
    }
    served
}

fn serve_tags<L: Lane, D: Driver>(
    control: &Control,
    driver: &mut D,
    queue: &mut Queue<'_, L>,
    progress: &mut Progress<'_>,
) -> Result<(), ExportError> {
    while !queue.is_dead() || queue.exporter.is_busy() || progress.pending > 0 {
        driver.round(queue.exporter.is_busy(), progress.options.idle_looks).map_err(ExportError::Ring)?;
        let mut arrived = false;
        while let Some(event) = driver.next_event() {
            arrived = true;
            if event.token < CONTROL_TOKEN {
                queue.on_event(driver, event)?;
            } else {
                on_control(control, driver, progress, event.token, event.result)?;
            }
        }
        queue.work(driver, arrived)?;
    }
    Ok(())
}

/// Handles an event other than a request.
#[cold]
fn on_control<D: Driver>(
    control: &Control,
    driver: &mut D,
    progress: &mut Progress<'_>,
    token: u64,
    result: i32,
) -> Result<(), ExportError> {
    let path = PathBuf::from(format!("/dev/ublkb{}", progress.number));
    match token {
        STOP_TOKEN => {
            let Some(stop) = &progress.options.stop else { return Ok(()) };
            driver.watch(stop.as_raw_fd(), STOP_TOKEN).map_err(ExportError::Ring)?;
            if !stop.take() || progress.stopping {
                return Ok(());
            }
            if progress.looking.is_some() {
                return stop_device(control, driver, progress);
            }
            driver.watch(progress.free.as_raw_fd(), FREE_TOKEN).map_err(ExportError::Ring)?;
            progress.looking = Some(look(&path, progress)?);
        }
        FREE_TOKEN | HALT_TOKEN if !progress.stopping => return stop_device(control, driver, progress),
        FREE_TOKEN | HALT_TOKEN => {}
        _ => {
            let operation = (token & !CONTROL_TOKEN) as u32;
            progress.pending -= 1;
            outcome(operation, result)?;
            if operation == abi::START_DEV {
                progress.options.tell(&UblkEvent::Serving { path });
            }
        }
    }
    Ok(())
}

fn stop_device<D: Driver>(control: &Control, driver: &mut D, progress: &mut Progress<'_>) -> Result<(), ExportError> {
    progress.stopping = true;
    progress.pending += 1;
    control.begin(driver, abi::STOP_DEV, progress.number, 0)
}

/// Checks whether the device is in exclusive use, on a separate thread: opening it may need
/// requests served.
fn look(path: &Path, progress: &Progress<'_>) -> Result<JoinHandle<()>, ExportError> {
    let (path, free, observer) = (path.to_owned(), progress.free.clone(), progress.options.observer.clone());
    let look = move || {
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
        let busy = matches!(rustix::fs::open(&path, flags, Mode::empty()), Err(Errno::BUSY));
        match observer {
            Some(observer) if busy => observer(&UblkEvent::Busy),
            _ if busy => {}
            _ => free.raise(),
        }
    };
    std::thread::Builder::new().name("look".to_owned()).spawn(look).map_err(ExportError::Ring)
}
