//! Turns requests of any alignment into operations of a lane, one slot each.
//!
//! ```text
//!  slot of an unaligned write, blocks written as B:
//!
//!  |<lead>|payload, moved here|<tail>|  one block of room  |
//!  |     B     |  ...  |      B      |          B          |
//!     ▲                          ▲        │ read, then
//!     └──────────────────────────┴────────┘ copied from here
//! ```
//!
//! Guarantees: every request that was started is returned as finished exactly once; the lane alone
//! transfers aligned reads and writes; a short transfer is continued; writes of partial blocks lose
//! no other data. Allocates nothing after construction. It does not order overlapping whole-block
//! writes in flight, and it passes a device's refusal on as an errno.

mod locking;
mod steps;
mod tally;
mod work;

pub use tally::ServedCounts;

use std::collections::VecDeque;

use iolab_engine::{Completions, Lane, LaneError, Op, Submission, Wait};
use iolab_memory::SlotPool;

use crate::{ExportRequest, Finished, PoolMismatch, RequestKind, SharedRanges, Size, payload_bytes};
use locking::Locking;
use work::Work;

/// After this number of fruitless polls of the lane, the server waits in it for short times
/// instead.
const PATIENCE_ROUNDS: u32 = 20_000;
/// Such a short time: how long a new request may have to wait while a slow operation is in flight.
const MOMENT: Wait = Wait { at_least: 1, timeout_ns: 50_000 };

/// The limits of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneLimits {
    /// Longest read or write in one operation, bytes, rounded down to whole blocks; 0 for no limit.
    pub transfer_bytes: u32,
    /// Whether trimmed ranges read as zeroes. If not, requests for zeroes write them.
    pub trim_zeroes: bool,
}

/// Serves requests through one lane.
#[derive(Debug)]
pub struct Exporter<'a, L: Lane> {
    lane: L,
    pool: &'a mut SlotPool,
    size: Size,
    limits: LaneLimits,
    works: Box<[Work]>,
    lock: Locking,
    in_flight: usize,
    /// Slots whose operation the lane has no room for yet.
    unsent: VecDeque<u16>,
    /// Slots that the range lock has just released.
    runnable: Vec<u16>,
    finished: VecDeque<Finished>,
    completions: Completions,
    tally: ServedCounts,
    /// Rounds in which neither the lane nor the kernel had anything to do.
    fruitless: u32,
}

impl<'a, L: Lane> Exporter<'a, L> {
    /// Serves a device of `size` through `lane`, which was opened on `pool` with as many operations
    /// in flight as the pool has slots.
    pub fn new(
        lane: L,
        pool: &'a mut SlotPool,
        size: Size,
        limits: LaneLimits,
    ) -> Result<Exporter<'a, L>, PoolMismatch> {
        let (slots, slot_bytes) = (pool.view().slots(), pool.view().slot_bytes());
        if payload_bytes(slot_bytes) == 0 || slots > usize::from(u16::MAX) + 1 {
            return Err(PoolMismatch { slot_bytes, slots });
        }
        let transfer_bytes = match limits.transfer_bytes / size.block_bytes() * size.block_bytes() {
            0 => u32::MAX / size.block_bytes() * size.block_bytes(),
            bytes => bytes,
        };
        Ok(Exporter {
            lane,
            pool,
            size,
            limits: LaneLimits { transfer_bytes, ..limits },
            works: vec![Work::IDLE; slots].into(),
            lock: Locking::alone(slots),
            in_flight: 0,
            unsent: VecDeque::with_capacity(slots),
            runnable: Vec::with_capacity(slots),
            finished: VecDeque::with_capacity(slots),
            completions: Completions::with_room(slots),
            tally: ServedCounts::default(),
            fruitless: 0,
        })
    }

    /// Makes it number `place` of several exporters that serve the device together, each on its
    /// thread: changes of partial blocks exclude each other across all of them. To be called before
    /// the first request.
    pub fn sharing(mut self, ranges: &SharedRanges, place: usize) -> Result<Exporter<'a, L>, PoolMismatch> {
        let (slots, slot_bytes) = (self.slots(), self.pool.view().slot_bytes());
        let share = ranges.share(place, slots).ok_or(PoolMismatch { slot_bytes, slots })?;
        self.lock = Locking::Shared(share);
        Ok(self)
    }

    /// The largest payload of a request.
    pub fn payload_bytes(&self) -> usize {
        payload_bytes(self.pool.view().slot_bytes())
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.works.len()
    }

    /// The device's size.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The payload of a slot that belongs to the caller: before `start`, or after the request was
    /// returned as finished.
    #[inline]
    pub fn payload(&mut self, slot: u16) -> &mut [u8] {
        let bytes = self.payload_bytes();
        &mut self.pool.slot_mut(usize::from(slot))[..bytes]
    }

    /// The address of that payload, for a kernel interface that reads and writes it itself.
    pub fn payload_address(&self, slot: u16) -> u64 {
        self.pool.view().slot_ptr(usize::from(slot)) as u64
    }

    /// Takes a request; the data of a write are in the slot's payload. The slot belongs to the
    /// exporter until `next_finished` returns the request.
    #[inline]
    pub fn start(&mut self, slot: u16, request: ExportRequest) {
        assert!(self.works[usize::from(slot)].is_idle(), "slot {slot} was given a request while it had one");
        let (offset, length) = self.size.clip(request.offset, request.length);
        let request = ExportRequest { offset, length, ..request };
        self.works[usize::from(slot)] = Work::of(request);
        if request.kind == RequestKind::Flush {
            return self.begin(slot);
        }
        if length == 0 {
            // Beyond the end: a read has nothing to return, a write has no space, and everything
            // else reads as zeroes anyway.
            let result = if request.kind == RequestKind::Write { -libc::ENOSPC } else { 0 };
            return self.finish(slot, result);
        }
        let moves = matches!(request.kind, RequestKind::Read | RequestKind::Write);
        if moves && length > self.payload_bytes() as u64 {
            return self.finish(slot, -libc::EINVAL);
        }
        let end = offset + length;
        if request.kind.changes_data() {
            let span = self.size.span(offset, end);
            let partial = request.kind != RequestKind::Discard && !self.size.is_aligned(offset, end);
            if !self.lock.enter(slot, (span.start, span.end), partial) {
                return;
            }
        }
        self.begin(slot);
    }

    /// Whether requests are with the lane, or wait for another exporter of the device, so that
    /// [`Exporter::work`] has to be called again.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.is_sending() || self.lock.is_waiting()
    }

    fn is_sending(&self) -> bool {
        self.in_flight > 0 || !self.unsent.is_empty()
    }

    /// Lets the lane work, and collects completions as `wait` says.
    pub fn advance(&mut self, wait: Wait) -> Result<(), LaneError> {
        while let Some(slot) = self.unsent.pop_front() {
            if !self.offer(slot) {
                self.unsent.push_front(slot);
                break;
            }
        }
        if self.in_flight == 0 {
            return Ok(());
        }
        let wait = Wait { at_least: wait.at_least.min(self.in_flight), ..wait };
        self.lane.flush_and_reap(wait, &mut self.completions)?;
        for place in 0..self.completions.as_slice().len() {
            let completion = self.completions.as_slice()[place];
            self.in_flight -= 1;
            self.completed(completion.slot as u16, completion.result);
        }
        self.completions.clear();
        Ok(())
    }

    /// One round of a server: lets the lane work if necessary, without waiting unless it has been
    /// idle for long. `arrived` says whether the kernel had something in this round.
    #[inline]
    pub fn work(&mut self, arrived: bool) -> Result<(), LaneError> {
        if !self.is_busy() {
            self.fruitless = 0;
            return Ok(());
        }
        if self.lock.is_waiting() {
            self.lock.collect(&mut self.runnable);
            self.begin_runnable();
        }
        self.fruitless = if arrived { 0 } else { self.fruitless.saturating_add(1) };
        let wait = if self.fruitless > PATIENCE_ROUNDS { MOMENT } else { Wait::POLL };
        self.advance(wait)?;
        if !self.finished.is_empty() {
            self.fruitless = 0;
        }
        Ok(())
    }

    /// Waits until the lane has finished all operations, so that its buffers are free, and drops
    /// the results and the requests that wait for another exporter.
    pub fn drain(&mut self) -> Result<(), LaneError> {
        while self.is_sending() {
            self.advance(Wait { at_least: 1, timeout_ns: u64::MAX })?;
        }
        self.finished.clear();
        Ok(())
    }

    /// The next finished request; its slot belongs to the caller again.
    #[inline]
    pub fn next_finished(&mut self) -> Option<Finished> {
        self.finished.pop_front()
    }

    /// What has been served so far.
    pub fn tally(&self) -> ServedCounts {
        self.tally
    }

    /// Submits the rest of the slot's transfer to the lane.
    #[inline]
    fn send(&mut self, slot: u16) {
        // Transfers that wait for room go first.
        if !self.unsent.is_empty() || !self.offer(slot) {
            self.unsent.push_back(slot);
        }
    }

    /// Whether the lane took it, or refused it for good.
    #[inline]
    fn offer(&mut self, slot: u16) -> bool {
        let transfer = self.works[usize::from(slot)].transfer;
        let op = Op {
            offset: transfer.offset + u64::from(transfer.done),
            length: transfer.left(self.limits.transfer_bytes),
            buffer_offset: transfer.buffer_offset(),
            file: 0,
            slot,
            kind: transfer.kind,
            priority: 0,
        };
        match self.lane.submit(&op) {
            Submission::Accepted => self.in_flight += 1,
            Submission::Full => return false,
            Submission::Refused(errno) => self.finish(slot, -errno.abs()),
        }
        true
    }

    /// Finishes the request, and begins those that waited for it.
    fn finish(&mut self, slot: u16, result: i32) {
        let work = &mut self.works[usize::from(slot)];
        let request = work.request;
        *work = Work::IDLE;
        self.finished.push_back(Finished { slot, request, result });
        let aligned = self.size.is_aligned(request.offset, request.offset + request.length);
        self.tally.count(&request, result, aligned);
        if request.kind.changes_data() {
            self.lock.leave(slot, &mut self.runnable);
            self.begin_runnable();
        }
    }

    /// Begins the requests that the range lock has released.
    fn begin_runnable(&mut self) {
        while let Some(freed) = self.runnable.pop() {
            self.begin(freed);
        }
    }
}
