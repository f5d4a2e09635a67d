//! How the main thread and the workers, threads or processes, communicate during a run: by a few
//! words of shared memory per worker, each worker's on its own cache lines.
#![allow(unsafe_code, reason = "island: one marker impl for types made of atomics")]

use iolab_recording::State;

use super::sync::{
    AtomicU32, AtomicU64, Ordering, SharedRegion, SharedState, fence, futex_wait, futex_wake_all, spin_loop,
};

/// Why a worker should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Order {
    /// It should not stop.
    None = 0,
    /// Another worker's end ends it too (`exitall`).
    Finish = 1,
    /// The user ended the run.
    Interrupt = 2,
    /// Stop at once, without waiting for operations in flight.
    Abandon = 3,
}

/// How often a worker whose time is up looks whether it may go on, ns.
const GOAL_LOOK_NS: u64 = 200_000;
/// How often to read the progress of a worker that may have been killed while it published.
const PATIENCE: u32 = 1000;

/// FeedGate values: a worker sets up at 1 and runs at 2.
pub(crate) const GATE_SET_UP: u32 = 1;
pub(crate) const GATE_RUN: u32 = 2;
/// Set permanently in a gate when an order comes: the word on which a worker sleeps must change, or
/// a worker that is about to sleep would miss the order.
const ORDERED: u32 = 1 << 31;

/// One worker's words. Aligned to two cache lines, so that neighbours never share one
/// (adjacent-line prefetch).
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Cell {
    gate: AtomicU32,
    order: AtomicU32,
    state: AtomicU32,
    /// Odd while the worker publishes its progress.
    version: AtomicU32,
    ios: [AtomicU64; 3],
    bytes: [AtomicU64; 3],
    measured_ns: AtomicU64,
    snapshot_asked: AtomicU32,
    snapshot_answered: AtomicU32,
    /// Transfers that were released within a flow.
    flowed: AtomicU64,
    /// Operations done when the worker's time was up, and those after which it ends (`wear_out`),
    /// each plus 1; 0 until they are known.
    reached: AtomicU64,
    goal: AtomicU64,
}

/// Shared by all workers: a word that changes whenever the state of any worker does, and the start
/// of the run.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Bell {
    rings: AtomicU32,
    origin_ns: AtomicU64,
}

// SAFETY: both types are atomics and padding only, and zero is a valid value of each field.
unsafe impl SharedState for Cell {}
// SAFETY: as above.
unsafe impl SharedState for Bell {}

/// What a run's main thread holds; workers borrow it.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) cells: SharedRegion<Cell>,
    bell: SharedRegion<Bell>,
}

impl Control {
    pub(crate) fn new(workers: usize) -> std::io::Result<Control> {
        Ok(Control { cells: SharedRegion::new(workers)?, bell: SharedRegion::new(1)? })
    }

    /// A worker's side.
    pub(crate) fn worker_control(&self, worker: usize) -> WorkerControl<'_> {
        WorkerControl { cell: &self.cells[worker], bell: &self.bell[0] }
    }

    /// Opens a worker's gate further.
    pub(crate) fn open_gate(&self, worker: usize, gate: u32) {
        self.cells[worker].gate.fetch_max(gate, Ordering::Release);
        futex_wake_all(&self.cells[worker].gate);
    }

    /// Orders a worker to stop. A weaker order does not replace a stronger one.
    pub(crate) fn order(&self, worker: usize, order: Order) {
        self.cells[worker].order.fetch_max(order as u32, Ordering::Release);
        self.cells[worker].gate.fetch_or(ORDERED, Ordering::Release);
        futex_wake_all(&self.cells[worker].gate);
    }

    pub(crate) fn state(&self, worker: usize) -> State {
        State::from_number(self.cells[worker].state.load(Ordering::Acquire))
    }

    /// Marks a worker as done whose process died without reporting its end.
    pub(crate) fn declare_done(&self, worker: usize) {
        self.cells[worker].state.store(State::Done as u32, Ordering::Release);
    }

    /// Operations, bytes and measured ns that a worker has published, as one consistent set (a
    /// sequence lock).
    pub(crate) fn progress(&self, worker: usize) -> ([u64; 3], [u64; 3], u64) {
        let cell = &self.cells[worker];
        let read = |words: &[AtomicU64; 3]| [0, 1, 2].map(|index: usize| words[index].load(Ordering::Relaxed));
        let read_all = || (read(&cell.ios), read(&cell.bytes), cell.measured_ns.load(Ordering::Relaxed));
        for _ in 0..PATIENCE {
            let before = cell.version.load(Ordering::Acquire);
            let progress = read_all();
            fence(Ordering::Acquire);
            if before.is_multiple_of(2) && cell.version.load(Ordering::Relaxed) == before {
                return progress;
            }
            spin_loop();
        }
        read_all()
    }

    /// The number of transfers that a worker has released within its flow.
    pub(crate) fn flowed(&self, worker: usize) -> u64 {
        self.cells[worker].flowed.load(Ordering::Acquire)
    }

    pub(crate) fn set_flowed(&self, worker: usize, transfers: u64) {
        self.cells[worker].flowed.store(transfers, Ordering::Release);
    }

    /// The operations that a worker had done when its time was up, or when it ended before.
    pub(crate) fn reached(&self, worker: usize) -> Option<u64> {
        self.cells[worker].reached.load(Ordering::Acquire).checked_sub(1)
    }

    /// Lets a worker whose time is up go on until it has done so many operations.
    pub(crate) fn set_goal(&self, worker: usize, operations: u64) {
        self.cells[worker].goal.store(operations.saturating_add(1), Ordering::Release);
    }

    /// Sets the origin of all run times: the first operations may begin now.
    pub(crate) fn set_origin(&self, now_ns: u64) {
        self.bell[0].origin_ns.store(now_ns, Ordering::Release);
    }

    /// Requests a worker's recording so far.
    pub(crate) fn ask_snapshot(&self, worker: usize) {
        self.cells[worker].snapshot_asked.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether a worker has answered the last request.
    pub(crate) fn snapshot_answered(&self, worker: usize) -> bool {
        let cell = &self.cells[worker];
        cell.snapshot_asked.load(Ordering::Acquire) == cell.snapshot_answered.load(Ordering::Acquire)
    }

    /// Sleeps until a worker's state changes, or `timeout_ns` has passed. `seen` is the last value
    /// of `rings`.
    pub(crate) fn wait_for_change(&self, seen: u32, timeout_ns: u64) {
        futex_wait(&self.bell[0].rings, seen, timeout_ns);
    }

    pub(crate) fn rings(&self) -> u32 {
        self.bell[0].rings.load(Ordering::Acquire)
    }
}

/// One worker's side of the control words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerControl<'a> {
    cell: &'a Cell,
    bell: &'a Bell,
}

impl WorkerControl<'_> {
    pub(crate) fn set_state(&self, state: State) {
        self.cell.state.store(state as u32, Ordering::Release);
        self.bell.rings.fetch_add(1, Ordering::AcqRel);
        futex_wake_all(&self.bell.rings);
    }

    pub(crate) fn order(&self) -> Order {
        match self.cell.order.load(Ordering::Relaxed) {
            0 => Order::None,
            1 => Order::Finish,
            2 => Order::Interrupt,
            _ => Order::Abandon,
        }
    }

    /// Says how many operations it had done when its time was up.
    pub(crate) fn say_reached(&self, operations: u64) {
        self.cell.reached.store(operations.saturating_add(1), Ordering::Release);
        self.bell.rings.fetch_add(1, Ordering::AcqRel);
        futex_wake_all(&self.bell.rings);
    }

    /// Waits until it is known how many operations the others have done; `None` if an order to stop
    /// comes.
    pub(crate) fn wait_for_goal(&self) -> Option<u64> {
        loop {
            if let Some(goal) = self.cell.goal.load(Ordering::Acquire).checked_sub(1) {
                return Some(goal);
            }
            if self.order() != Order::None {
                return None;
            }
            futex_wait(&self.cell.gate, self.cell.gate.load(Ordering::Acquire), GOAL_LOOK_NS);
        }
    }

    pub(crate) fn origin_ns(&self) -> u64 {
        self.bell.origin_ns.load(Ordering::Acquire)
    }

    pub(crate) fn snapshot_asked(&self) -> u32 {
        self.cell.snapshot_asked.load(Ordering::Relaxed)
    }

    pub(crate) fn answer_snapshot(&self, asked: u32) {
        self.cell.snapshot_answered.store(asked, Ordering::Release);
    }

    /// Waits until the gate is open that far, or an order to stop comes.
    pub(crate) fn wait_for_gate(&self, gate: u32) -> Order {
        loop {
            let now = self.cell.gate.load(Ordering::Acquire);
            let order = self.order();
            if now >= gate || order != Order::None {
                return order;
            }
            futex_wait(&self.cell.gate, now, 200_000_000);
        }
    }

    pub(crate) fn publish(&self, ios: &[u64; 3], bytes: &[u64; 3], measured_ns: u64) {
        let version = self.cell.version.load(Ordering::Relaxed);
        self.cell.version.store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        for index in 0..3 {
            self.cell.ios[index].store(ios[index], Ordering::Relaxed);
            self.cell.bytes[index].store(bytes[index], Ordering::Relaxed);
        }
        self.cell.measured_ns.store(measured_ns, Ordering::Relaxed);
        self.cell.version.store(version.wrapping_add(2), Ordering::Release);
    }
}
