//! A storage device that exists only in a test: an engine whose operations take the times that a
//! script says, on a simulated clock, and fail when it says so.
//!
//! The lane holds its depth in truth: operations are served side by side, each from the flush that
//! made it visible. Time passes only while the lane waits in `reap`, so that on a simulated clock
//! every latency is exactly what the script said. It allocates nothing after it was opened, and
//! moves no data.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use iolab_clock::Clock;
use iolab_engine::{
    Capabilities, Completion, Completions, Engine, EngineDescription, FileEffect, FileUse, Lane, LaneError,
    LaneRequest, Op, OpKind, OpenError, Polling, Submission, Wait,
};
use iolab_options::{PageCache, Reach};

/// What becomes of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It moves all its bytes after so many ns.
    Served(u64),
    /// It moves so many bytes after so many ns.
    Short(u32, u64),
    /// It fails with this errno after so many ns.
    Failed(i32, u64),
    /// The lane refuses it with this errno.
    Refused(i32),
    /// The lane panics.
    Panic,
    /// It never comes back.
    Lost,
}

type Script = dyn Fn(u64, &Op) -> Fate + Send + Sync;

/// A device: its clock, and the outcome of the n-th operation offered to it.
#[derive(Clone)]
pub struct Device {
    clock: Clock,
    script: Arc<Script>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("clock", &self.clock).finish_non_exhaustive()
    }
}

static DEVICES: Mutex<BTreeMap<PathBuf, Device>> = Mutex::new(BTreeMap::new());

/// Makes a device that jobs reach as `filename=name`. Operations are counted from 0, anew in each
/// lane.
pub fn make_device(name: &str, clock: &Clock, script: impl Fn(u64, &Op) -> Fate + Send + Sync + 'static) {
    let device = Device { clock: clock.clone(), script: Arc::new(script) };
    DEVICES.lock().unwrap_or_else(PoisonError::into_inner).insert(PathBuf::from(name), device);
}

fn device(path: &Path) -> Option<Device> {
    DEVICES.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
}

/// The engine `simulated`.
#[derive(Debug)]
pub struct Simulated;

/// The lane of [`Simulated`].
#[derive(Debug)]
pub struct SimulatedLane {
    device: Device,
    depth: usize,
    offered: u64,
    /// Accepted and not flushed: the completion, and how long it takes.
    fresh: Vec<(Completion, u64)>,
    /// In service: the completion, and when it is due.
    serving: Vec<(Completion, u64)>,
}

impl Engine for Simulated {
    type Lane = SimulatedLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "simulated",
        aliases: &[],
        summary: "A device made by a test",
        details: "Serves operations as the script of the device named by filename= says.",
        options: &[],
        capabilities: Capabilities {
            synchronous: false,
            files: FileUse::Nothing,
            moves_data: true,
            trims: true,
            trims_ranges: false,
            syncs: true,
            direct: true,
            extends_files: true,
            effect: FileEffect::ByDirection,
            reach: Reach::Device,
            page_cache: PageCache::Never,
            polling: Polling::Never,
            reads_to_write: false,
            needs: &[],
        },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<SimulatedLane, OpenError> {
        let path = request.files.first().map(|file| file.path.clone()).unwrap_or_default();
        let missing = || OpenError { message: format!("no simulated device {}", path.display()), errno: None };
        let device = device(&path).ok_or_else(missing)?;
        let room = || Vec::with_capacity(request.depth);
        Ok(SimulatedLane { device, depth: request.depth, offered: 0, fresh: room(), serving: room() })
    }
}

impl SimulatedLane {
    /// When the `count`-th operation from now is due, if that many are being served.
    fn due_of(&mut self, count: usize) -> Option<u64> {
        self.serving.sort_unstable_by_key(|(_, due_ns)| *due_ns);
        self.serving.get(count.checked_sub(1)?).map(|(_, due_ns)| *due_ns)
    }
}

impl Lane for SimulatedLane {
    const SYNCHRONOUS: bool = false;

    fn submit(&mut self, op: &Op) -> Submission {
        if self.fresh.len() + self.serving.len() == self.depth {
            return Submission::Full;
        }
        let outcome = (self.device.script)(self.offered, op);
        self.offered += 1;
        let whole = if matches!(op.kind, OpKind::Read | OpKind::Write) { op.length as i32 } else { 0 };
        let (result, takes_ns) = match outcome {
            Fate::Served(ns) => (whole, ns),
            Fate::Short(bytes, ns) => (bytes as i32, ns),
            Fate::Failed(errno, ns) => (-errno, ns),
            Fate::Lost => (0, u64::MAX),
            Fate::Refused(errno) => return Submission::Refused(errno),
            Fate::Panic => panic!("the script says so"),
        };
        self.fresh.push((Completion { slot: u32::from(op.slot), result }, takes_ns));
        Submission::Accepted
    }

    fn flush(&mut self) -> Result<(), LaneError> {
        let now_ns = self.device.clock.now_ns();
        self.serving.extend(self.fresh.drain(..).map(|(done, takes_ns)| (done, now_ns.saturating_add(takes_ns))));
        Ok(())
    }

    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        const POLL_NS: u64 = 100;
        let clock = self.device.clock.clone();
        let deadline_ns = clock.now_ns().saturating_add(wait.timeout_ns);
        let due_ns = self.due_of(wait.at_least.min(out.room_left())).unwrap_or(u64::MAX);
        if wait.at_least > 0 {
            clock.sleep_until(due_ns.min(deadline_ns), 0);
        } else if self.due_of(1).is_some_and(|due_ns| due_ns > clock.now_ns()) {
            // Polling takes time too, or a poller would wait for ever.
            clock.advance(POLL_NS);
        }
        let now_ns = clock.now_ns();
        let mut count = 0;
        while out.room_left() > 0 && self.serving.first().is_some_and(|(_, due_ns)| *due_ns <= now_ns) {
            out.push(self.serving.remove(0).0);
            count += 1;
        }
        Ok(count)
    }
}
