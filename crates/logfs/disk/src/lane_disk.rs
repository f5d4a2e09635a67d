//! A lane of any engine as a disk: io_uring, libaio, the user-space NVMe driver, memory.
//!
//! Bytes are copied between a request's buffer and the lane's slots, because engines register their
//! slots with the kernel or device when they open. A request longer than a slot is cut into pieces
//! that are in flight together; a short transfer continues where it stopped. Requests are not
//! ordered, as the interface allows.

use std::collections::VecDeque;

use iolab_engine::{Completions, Lane, Op, OpKind, PoolView, SlotPool, Submission, Wait};

use crate::{Action, ActionKind, BlockDevice, DeviceError, DiskCompletion, DiskRequest, Geometry};

/// `EIO` of errno(3).
const EIO: i32 = 5;

/// A lane and its slots.
pub struct LaneDisk<L> {
    // Declared before the pool, so that the lane is dropped while its slots still exist.
    lane: L,
    pool: SlotPool,
    geometry: Geometry,
    slots: Vec<Option<Piece>>,
    free: Vec<u16>,
    jobs: Vec<Option<Job>>,
    /// Jobs with pieces that have no slot yet.
    waiting: VecDeque<usize>,
    batch: Completions,
    finished: Vec<DiskCompletion>,
    gone: bool,
}

/// The content of a slot.
#[derive(Debug, Clone, Copy)]
struct Piece {
    job: usize,
    start: u64,
    length: u32,
    moved: u32,
}

struct Job {
    request: DiskRequest,
    /// The end of the pieces cut so far.
    cut: u64,
    pieces_out: u32,
    result: Result<(), DeviceError>,
}

impl Job {
    fn is_cut(&self) -> bool {
        self.result.is_err() || (self.cut >= self.request.action.range().1 && self.cut > 0)
    }
}

impl<L: Lane> LaneDisk<L> {
    /// Opens a lane over the slots of `pool` with `open`, and makes a disk of it.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn new<E>(
        pool: SlotPool,
        geometry: Geometry,
        open: impl FnOnce(PoolView) -> Result<L, E>,
    ) -> Result<LaneDisk<L>, E> {
        let slots = pool.view().slots().min(usize::from(u16::MAX));
        Ok(LaneDisk {
            lane: open(pool.view())?,
            geometry,
            slots: vec![None; slots],
            free: (0..slots as u16).rev().collect(),
            jobs: Vec::new(),
            waiting: VecDeque::new(),
            batch: Completions::with_room(slots),
            finished: Vec::new(),
            gone: false,
            pool,
        })
    }

    /// Fills free slots with pieces of waiting jobs.
    fn pump(&mut self) {
        while let Some(&number) = self.waiting.front() {
            if self.jobs[number].as_ref().is_none_or(Job::is_cut) {
                self.waiting.pop_front();
                self.settle(number);
                continue;
            }
            let Some(slot) = self.free.pop() else { return };
            let Some(piece) = self.cut(number, slot) else { continue };
            self.slots[usize::from(slot)] = Some(piece);
            if !self.send(slot) {
                self.uncut(slot);
                return;
            }
        }
    }

    /// The next piece of a job, with its bytes in the slot when it is a write.
    fn cut(&mut self, number: usize, slot: u16) -> Option<Piece> {
        let job = self.jobs[number].as_mut()?;
        let (_, total) = job.request.action.range();
        let most = match job.request.action.kind() {
            // A discard transfers no bytes, so that only the width of an op's length limits it.
            ActionKind::Discard => u64::from(u32::MAX - u32::MAX % self.geometry.block_bytes),
            _ => self.pool.view().slot_bytes() as u64,
        };
        let (start, length) = (job.cut, most.min(total - job.cut));
        if let Action::Write { buffer, .. } = &job.request.action {
            let bytes = &buffer[start as usize..(start + length) as usize];
            self.pool.slot_mut(usize::from(slot))[..bytes.len()].copy_from_slice(bytes);
        }
        // A flush has no bytes: one piece marks it as cut.
        job.cut += length.max(1);
        job.pieces_out += 1;
        Some(Piece { job: number, start, length: length as u32, moved: 0 })
    }

    /// Undoes `cut` when the lane had no room.
    fn uncut(&mut self, slot: u16) {
        if let Some(piece) = self.slots[usize::from(slot)].take()
            && let Some(job) = self.jobs[piece.job].as_mut()
        {
            job.cut = piece.start;
            job.pieces_out -= 1;
        }
        self.free.push(slot);
    }

    /// Submits the rest of a slot's piece; returns false when the lane is full.
    fn send(&mut self, slot: u16) -> bool {
        let Some(piece) = self.slots[usize::from(slot)] else { return true };
        let Some(job) = &self.jobs[piece.job] else { return true };
        let kind = match job.request.action.kind() {
            ActionKind::Read => OpKind::Read,
            ActionKind::Write => OpKind::Write,
            ActionKind::Flush => OpKind::DataSync,
            ActionKind::Discard => OpKind::Trim,
        };
        let op = Op {
            offset: job.request.action.range().0 + piece.start + u64::from(piece.moved),
            length: piece.length - piece.moved,
            buffer_offset: piece.moved,
            file: 0,
            slot,
            kind,
            priority: 0,
        };
        match self.lane.submit(&op) {
            Submission::Accepted => true,
            Submission::Full => false,
            Submission::Refused(errno) => {
                self.end_piece(slot, Err(DeviceError::Failed(errno)));
                true
            }
        }
    }

    /// Handles one completion of the lane. A short transfer stays in its slot until the lane takes
    /// the rest.
    fn take(&mut self, slot: u16, result: i32, unsent: &mut Vec<u16>) {
        let Some(piece) = self.slots[usize::from(slot)].as_mut() else { return };
        if result < 0 {
            return self.end_piece(slot, Err(DeviceError::Failed(-result)));
        }
        let kind = self.jobs[piece.job].as_ref().map(|job| job.request.action.kind());
        let moves = matches!(kind, Some(ActionKind::Read | ActionKind::Write));
        piece.moved = (piece.moved + result as u32).min(piece.length);
        if !moves || piece.moved == piece.length {
            self.end_piece(slot, Ok(()));
        } else if result == 0 {
            // No bytes and no error: the device is shorter than its geometry says.
            self.end_piece(slot, Err(DeviceError::Failed(EIO)));
        } else {
            unsent.push(slot);
        }
    }

    fn end_piece(&mut self, slot: u16, result: Result<(), DeviceError>) {
        let Some(piece) = self.slots[usize::from(slot)].take() else { return };
        self.free.push(slot);
        let Some(job) = self.jobs[piece.job].as_mut() else { return };
        job.pieces_out -= 1;
        job.result = job.result.and(result);
        if let (Action::Read { buffer, .. }, Ok(())) = (&mut job.request.action, result) {
            let bytes = &mut buffer[piece.start as usize..][..piece.length as usize];
            bytes.copy_from_slice(&self.pool.slot_mut(usize::from(slot))[..bytes.len()]);
        }
        self.settle(piece.job);
    }

    /// Completes a job when all of it has been cut and all pieces have completed.
    fn settle(&mut self, number: usize) {
        if self.jobs[number].as_ref().is_some_and(|job| job.pieces_out == 0 && job.is_cut())
            && let Some(job) = self.jobs[number].take()
        {
            self.finished.push(job.request.complete(job.result));
        }
    }

    /// The lane is broken: everything in flight ends.
    fn lose(&mut self) {
        self.gone = true;
        self.waiting.clear();
        for job in self.jobs.drain(..).flatten() {
            self.finished.push(job.request.complete(Err(DeviceError::Gone)));
        }
    }
}

impl<L: Lane> BlockDevice for LaneDisk<L> {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        let answer = if self.gone { Some(Err(DeviceError::Gone)) } else { self.geometry.answer(&request.action) };
        if let Some(result) = answer {
            self.finished.push(request.complete(result));
            return Ok(());
        }
        let number = self.jobs.iter().position(Option::is_none).unwrap_or_else(|| {
            self.jobs.push(None);
            self.jobs.len() - 1
        });
        self.jobs[number] = Some(Job { request, cut: 0, pieces_out: 0, result: Ok(()) });
        self.waiting.push_back(number);
        Ok(())
    }

    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>) {
        let before = done.len();
        let mut unsent = Vec::new();
        loop {
            self.pump();
            done.append(&mut self.finished);
            let in_flight = self.slots.iter().any(Option::is_some);
            if self.gone || !in_flight {
                return;
            }
            let at_least = usize::from(wait && done.len() == before && unsent.is_empty());
            let wait_for = Wait { at_least, timeout_ns: if at_least == 0 { 0 } else { u64::MAX } };
            self.batch.clear();
            if self.lane.flush_and_reap(wait_for, &mut self.batch).is_err() {
                self.lose();
                continue;
            }
            for index in 0..self.batch.as_slice().len() {
                let completion = self.batch.as_slice()[index];
                self.take(completion.slot as u16, completion.result, &mut unsent);
            }
            unsent.retain(|&slot| !self.send(slot));
            done.append(&mut self.finished);
            if unsent.is_empty() && (!wait || done.len() > before) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
