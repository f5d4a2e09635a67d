//! The hot part: operations go down their stack, in one step for each separate range at the bottom,
//! and complete when all steps have.
//!
//! Steps of one operation that end on different devices are in flight together. Two steps on the
//! same device follow each other, because a lane accepts a slot only once at a time. The lanes at
//! the bottom are polled in turns, as in SPDK's reactors. An operation that must be delayed waits
//! in a heap until its time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;

use iolab_clock::Clock;
use iolab_engine::{Completion, CompletionRow, Completions, Lane, LaneError, Op, OpKind, Submission, Wait};
use iolab_random::SplitMix64;

use crate::methods::Fault;
use crate::slots::Slots;
use crate::stack::{Bottom, Node, Stack, Step};

/// Polls between two readings of the clock.
const ROUNDS_PER_LOOK: u32 = 64;
/// How long a pending operation is held, like commands of the driver.
const PENDING_NS: u64 = 30_000_000_000;

/// A lane of another engine.
#[derive(Debug)]
pub(crate) enum LeafLane<N, A, U> {
    Nvme(N),
    Aio(A),
    Uring(U),
}

/// Calls the same function for each kind of lane.
macro_rules! of_leaf {
    ($leaf:expr, $lane:ident => $call:expr) => {
        match $leaf {
            LeafLane::Nvme($lane) => $call,
            LeafLane::Aio($lane) => $call,
            LeafLane::Uring($lane) => $call,
        }
    };
}
pub(crate) use of_leaf;

/// A leaf in use.
#[derive(Debug)]
pub(crate) struct Open<N, A, U> {
    lane: LeafLane<N, A, U>,
    in_flight: u32,
    /// Whether something was submitted since the last flush.
    is_dirty: bool,
}

/// The lane of [`crate::SpdkBdev`].
#[derive(Debug)]
pub struct BdevLane<N, A, U> {
    leaves: Box<[Open<N, A, U>]>,
    flights: Box<[Flight]>,
    /// The operation of each slot on each leaf: `slot * leaves + leaf`.
    children: Box<[Child]>,
    /// Slots whose next step was not accepted.
    stalled: Vec<u32>,
    finished: CompletionRow,
    late: BinaryHeap<Reverse<(u64, u32, i32)>>,
    in_flight: usize,
    scratch: Completions,
    stack: Stack,
    slots: Slots,
    random: SplitMix64,
    clock: Clock,
    notes: Vec<String>,
    /// Descriptors that the lanes use; declared after them, so that they are closed later.
    _files: Vec<File>,
}

/// The operation of a slot.
#[derive(Debug, Clone)]
struct Flight {
    op: Op,
    /// Bytes (or flushes) submitted, and the total.
    issued: u32,
    end: u32,
    /// Bytes from the beginning that are complete without a gap, if nothing failed.
    good: u32,
    error: i32,
    /// Earliest time of its completion.
    due_ns: u64,
    /// The leaves that have one of its steps.
    leaves: u64,
    /// A step that was not accepted.
    held: Option<Step>,
}

/// A step in flight.
#[derive(Debug, Clone, Copy, Default)]
struct Child {
    start: u32,
    length: u32,
    delay_ns: u64,
    corrupt: Option<(u32, u8)>,
}

/// The result of submitting the steps of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Issue {
    /// All are submitted.
    All,
    /// The next one waits for an earlier one on the same leaf.
    Waits,
    /// The leaf of the next one is full.
    Full,
}

/// The parts of a lane.
pub(crate) struct Parts<N, A, U> {
    pub(crate) leaves: Vec<LeafLane<N, A, U>>,
    pub(crate) files: Vec<File>,
    pub(crate) stack: Stack,
    pub(crate) slots: Slots,
    pub(crate) depth: usize,
    pub(crate) seed: u64,
    pub(crate) clock: Clock,
    pub(crate) notes: Vec<String>,
}

impl<N: Lane, A: Lane, U: Lane> BdevLane<N, A, U> {
    pub(crate) fn new(parts: Parts<N, A, U>) -> BdevLane<N, A, U> {
        let depth = parts.depth.max(1);
        let nothing = Op { offset: 0, length: 0, buffer_offset: 0, file: 0, slot: 0, kind: OpKind::Read, priority: 0 };
        let idle = Flight { op: nothing, issued: 0, end: 0, good: 0, error: 0, due_ns: 0, leaves: 0, held: None };
        let open = |lane| Open { lane, in_flight: 0, is_dirty: false };
        let leaves: Box<[_]> = parts.leaves.into_iter().map(open).collect();
        BdevLane {
            flights: vec![idle; depth].into(),
            children: vec![Child::default(); depth * leaves.len()].into(),
            leaves,
            stalled: Vec::with_capacity(depth),
            finished: CompletionRow::with_depth(depth),
            late: BinaryHeap::with_capacity(depth),
            in_flight: 0,
            scratch: Completions::with_room(depth),
            stack: parts.stack,
            slots: parts.slots,
            random: SplitMix64::new(parts.seed),
            clock: parts.clock,
            notes: parts.notes,
            _files: parts.files,
        }
    }

    /// Submits the steps of a slot's operation, as many as possible now.
    fn issue(&mut self, slot: u32) -> Issue {
        loop {
            let flight = &mut self.flights[slot as usize];
            if flight.issued == flight.end {
                return Issue::All;
            }
            let op = flight.op;
            let step = flight.held.take().unwrap_or_else(|| {
                let node = self.stack.roots[op.file as usize].node;
                let base = if op.kind.is_sync() { 0 } else { op.offset };
                let place = (base + u64::from(flight.issued), flight.end - flight.issued);
                self.stack.step(node, op.kind, place, &mut self.random)
            });
            let corrupt = match step.fault {
                Some(Fault::Corrupt { offset, value }) if offset < step.length => Some((offset, value)),
                _ => None,
            };
            let child = Child { start: flight.issued, length: step.length, delay_ns: step.delay_ns, corrupt };
            match step.fault {
                Some(Fault::Failure) => self.failed(slot, child, libc::EIO),
                Some(Fault::Pending) => {
                    self.failed(slot, Child { delay_ns: child.delay_ns + PENDING_NS, ..child }, libc::ETIMEDOUT);
                }
                _ => match step.bottom {
                    Bottom::Null => self.child_done(slot, child, Ok(step.length)),
                    Bottom::Memory(node) => {
                        let outcome = self.copy(&op, node, &step, &child);
                        self.child_done(slot, child, outcome);
                    }
                    Bottom::Leaf(leaf) => {
                        if let Some(stop) = self.send_down(slot, leaf, step, child) {
                            self.flights[slot as usize].held = Some(step);
                            return stop;
                        }
                    }
                },
            }
            self.flights[slot as usize].issued += step.length;
        }
    }

    /// Passes a step to its leaf, unless the step has to wait.
    fn send_down(&mut self, slot: u32, leaf: u32, step: Step, child: Child) -> Option<Issue> {
        let op = self.flights[slot as usize].op;
        if self.flights[slot as usize].leaves & (1 << leaf) != 0 {
            return Some(Issue::Waits);
        }
        if op.kind == OpKind::Write {
            self.corrupt(&op, &child);
        }
        let part = if op.kind.is_sync() {
            Op { offset: 0, length: 0, buffer_offset: 0, file: 0, kind: OpKind::Sync, ..op }
        } else {
            let buffer_offset = op.buffer_offset + child.start;
            Op { offset: step.offset, length: step.length, buffer_offset, file: 0, ..op }
        };
        let open = &mut self.leaves[leaf as usize];
        match of_leaf!(&mut open.lane, lane => lane.submit(&part)) {
            Submission::Full => return Some(Issue::Full),
            Submission::Refused(errno) => self.failed(slot, child, errno),
            Submission::Accepted => {
                open.in_flight += 1;
                open.is_dirty = true;
                self.flights[slot as usize].leaves |= 1 << leaf;
                self.children[slot as usize * self.leaves.len() + leaf as usize] = child;
            }
        }
        None
    }

    /// An operation on memory.
    fn copy(&self, op: &Op, node: u32, step: &Step, child: &Child) -> Result<u32, i32> {
        let Node::Memory(memory) = &self.stack.nodes[node as usize] else { return Err(libc::EIO) };
        let (at, length) = (step.offset as usize, step.length as usize);
        match op.kind {
            OpKind::Read | OpKind::Write => {
                let place = self.slots.place(op.slot, op.buffer_offset + child.start, step.length);
                let place = place.ok_or(libc::EFAULT)?;
                if op.kind == OpKind::Read {
                    memory.copy_to(at, &self.slots.bytes, place, length);
                } else {
                    self.corrupt(op, child);
                    self.slots.bytes.copy_to(place, memory, at, length);
                }
            }
            OpKind::Trim => memory.fill(at, length, 0),
            OpKind::Sync | OpKind::DataSync | OpKind::SyncFileRange => {}
        }
        Ok(step.length)
    }

    /// Changes the byte of an injected error.
    fn corrupt(&self, op: &Op, child: &Child) {
        let Some((offset, value)) = child.corrupt else { return };
        if let Some(place) = self.slots.place(op.slot, op.buffer_offset + child.start + offset, 1) {
            self.slots.bytes.write(place, &[value]);
        }
    }

    fn failed(&mut self, slot: u32, child: Child, errno: i32) {
        self.child_done(slot, child, Err(errno));
    }

    /// Records the result of a step.
    fn child_done(&mut self, slot: u32, child: Child, outcome: Result<u32, i32>) {
        let op = self.flights[slot as usize].op;
        if op.kind == OpKind::Read && outcome.is_ok() {
            self.corrupt(&op, &child);
        }
        let due_ns = if child.delay_ns > 0 { self.clock.now_ns().saturating_add(child.delay_ns) } else { 0 };
        let flight = &mut self.flights[slot as usize];
        flight.due_ns = flight.due_ns.max(due_ns);
        match outcome {
            Ok(moved) if moved < child.length => flight.good = flight.good.min(child.start + moved),
            Ok(_) => {}
            Err(errno) => flight.error = errno,
        }
    }

    /// Continues a slot, and completes it when all its steps are done.
    fn advance(&mut self, slot: u32) {
        match self.issue(slot) {
            Issue::Waits => return,
            Issue::Full => return self.stalled.push(slot),
            Issue::All => {}
        }
        let flight = &self.flights[slot as usize];
        if flight.leaves != 0 {
            return;
        }
        let result = match (flight.error, flight.op.kind) {
            (0, OpKind::Read | OpKind::Write) => flight.good as i32,
            (0, _) => 0,
            (errno, _) => -errno,
        };
        if flight.due_ns > 0 {
            self.late.push(Reverse((flight.due_ns, slot, result)));
        } else {
            self.finished.push(Completion { slot, result });
        }
    }

    /// Polls every leaf once, and reads the clock if an operation is delayed.
    fn collect(&mut self, out: &mut Completions) -> Result<usize, LaneError> {
        self.flush()?;
        for number in 0..self.leaves.len() {
            let open = &mut self.leaves[number];
            if open.in_flight == 0 {
                continue;
            }
            self.scratch.clear();
            let found = of_leaf!(&mut open.lane, lane => lane.reap(Wait::POLL, &mut self.scratch))?;
            open.in_flight -= found as u32;
            for place in 0..found {
                let Completion { slot, result } = self.scratch.as_slice()[place];
                let child = self.children[slot as usize * self.leaves.len() + number];
                let is_data = self.flights[slot as usize].op.kind.moves_data();
                let outcome = match result {
                    ..0 => Err(-result),
                    moved if is_data => Ok(moved as u32),
                    _ => Ok(child.length),
                };
                self.flights[slot as usize].leaves &= !(1 << number);
                self.child_done(slot, child, outcome);
                self.advance(slot);
            }
        }
        for _ in 0..self.stalled.len() {
            let slot = self.stalled.swap_remove(0);
            self.advance(slot);
        }
        if !self.late.is_empty() {
            let now_ns = self.clock.now_ns();
            while let Some(&Reverse((due_ns, slot, result))) = self.late.peek()
                && due_ns <= now_ns
            {
                self.late.pop();
                self.finished.push(Completion { slot, result });
            }
        }
        let found = self.finished.drain_into(out);
        self.in_flight -= found;
        Ok(found)
    }
}

impl<N: Lane, A: Lane, U: Lane> Lane for BdevLane<N, A, U> {
    const SYNCHRONOUS: bool = false;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        let Some(root) = self.stack.roots.get(op.file as usize) else { return Submission::Refused(libc::EBADF) };
        let Some(flight) = self.flights.get_mut(usize::from(op.slot)) else {
            return Submission::Full;
        };
        let end = if op.kind.is_sync() {
            root.flushes
        } else {
            let block = u64::from(root.block_bytes) - 1;
            let end = op.offset.saturating_add(u64::from(op.length));
            if (op.offset | u64::from(op.length)) & block != 0 || end > root.bytes {
                return Submission::Refused(libc::EINVAL);
            }
            op.length
        };
        *flight = Flight { op: *op, issued: 0, end, good: end, error: 0, due_ns: 0, leaves: 0, held: None };
        self.in_flight += 1;
        self.advance(u32::from(op.slot));
        Submission::Accepted
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        for open in self.leaves.iter_mut().filter(|open| open.is_dirty) {
            open.is_dirty = false;
            of_leaf!(&mut open.lane, lane => lane.flush())?;
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        let mut found = self.collect(out)?;
        let wanted = wait.at_least.min(found + self.in_flight).min(found + out.room_left());
        let mut deadline = None;
        let mut rounds = 0u32;
        while found < wanted {
            found += self.collect(out)?;
            rounds += 1;
            if rounds.is_multiple_of(ROUNDS_PER_LOOK) && found < wanted {
                let now_ns = self.clock.now_ns();
                if now_ns >= *deadline.get_or_insert(now_ns.saturating_add(wait.timeout_ns)) {
                    break;
                }
            }
            std::hint::spin_loop();
        }
        Ok(found)
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}
