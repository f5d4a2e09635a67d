//! The checker of a job on zones: decides where each operation goes, and keeps the write pointers.
//!
//! It wraps the job's own checker, which sees operations where they are sent.

mod choosing;
mod files;
mod reading;

use iolab_engine::{Lane, Op, OpKind, ZoneCall, ZoneKind};
use iolab_plan::{Direction, WorkerPlan, ZonePlan};
use iolab_recording::VerificationRecording;

use self::choosing::Choice;
use self::files::ZonedFile;
pub(crate) use self::files::begin;
use self::reading::cut;
use super::table::{Zone, ZoneTable};
use crate::hot_loop::checker::{Checker, Placed};
use crate::verification::verifier::{Verifier, Verifies};

/// A zone that an operation holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    file: u32,
    zone: usize,
    /// It reads; otherwise it owns the zone.
    reads: bool,
}

/// A placed operation that has not been accepted yet.
#[derive(Debug, Clone, Copy)]
struct Pending {
    asked: Op,
    placed: Op,
    held: Option<Held>,
}

/// What must be done before a zone that the worker owns is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Debt {
    /// Its rest is shorter than a block: finish it.
    Finish,
    /// A write failed: ask the device for its write pointer.
    AskPointer,
}

/// Places operations of one worker.
pub(crate) struct Placing<'a, C> {
    inner: C,
    plan: &'a ZonePlan,
    files: Box<[ZonedFile]>,
    /// How the worker owns zones.
    owner: u64,
    /// The shortest write, bytes.
    least_bytes: u64,
    /// Verified writes begin at multiples of this from the start of a zone, bytes.
    align_bytes: u64,
    is_random: bool,
    writes: bool,
    pending: Option<Pending>,
    slots: Box<[Option<Held>]>,
    debts: Vec<(u32, usize, Debt)>,
    /// Open zones that this worker writes to, if it has a limit of its own.
    opened: Vec<(u32, usize)>,
    /// How often in a row no zone could be chosen.
    fruitless: u32,
    /// Writes since the last reset that `zone_reset_frequency` asked for.
    writes_since_reset: u64,
    resets: u64,
    /// Written data is read back: reads go where they are asked to.
    reads_back: bool,
}

impl<'a, C: Checker> Placing<'a, C> {
    /// For a worker with these tables, one for each file, which have been filled.
    pub(crate) fn new(
        inner: C,
        worker: &'a WorkerPlan,
        plan: &'a ZonePlan,
        tables: &[ZoneTable],
        targets: &[iolab_engine::TargetFile],
    ) -> Placing<'a, C> {
        let load = &worker.workload;
        let sizes = &load.block_sizes;
        let write = Direction::Write.index();
        let least_bytes =
            if load.sizes_by_randomness { sizes[0].min().min(sizes[1].min()) } else { sizes[write].min() };
        let files = ZonedFile::all(worker, plan, tables, targets);
        let zones: usize = files.iter().map(|file| file.last - file.first).sum();
        let depth = worker.queue.depth as usize;
        let most = (plan.job_most_open as usize).min(zones);
        Placing {
            inner,
            plan,
            files,
            owner: ZoneTable::owner(worker.number),
            least_bytes: least_bytes.max(1),
            align_bytes: worker.verify.as_ref().map_or(1, |verify| verify.interval_bytes.max(1)),
            is_random: load.pattern.random,
            writes: load.pattern.directions.contains(&Direction::Write),
            pending: None,
            slots: vec![None; depth].into_boxed_slice(),
            debts: Vec::with_capacity(depth),
            opened: Vec::with_capacity(most),
            fruitless: 0,
            writes_since_reset: 0,
            resets: 0,
            reads_back: false,
        }
    }

    fn file(&self, op: &Op) -> &ZonedFile {
        &self.files[op.file as usize]
    }

    /// The operation that a pending one was placed for is not sent.
    fn give_up_pending(&mut self) {
        if let Some(Pending { held: Some(held), .. }) = self.pending.take() {
            self.give_back(held);
        }
    }

    fn give_back(&self, held: Held) {
        let table = &self.files[held.file as usize].table;
        if held.reads { table.end_read(held.zone) } else { table.release(held.zone) }
    }

    fn placed(&mut self, asked: &Op, placed: Op, held: Option<Held>) -> Placed {
        self.files[asked.file as usize].last_offset[usize::from(asked.kind == OpKind::Read)] = asked.offset;
        self.pending = Some(Pending { asked: *asked, placed, held });
        Placed::At(placed)
    }

    /// No operation is sent for this one.
    fn nowhere(&mut self, asked: &Op) -> Placed {
        self.files[asked.file as usize].last_offset[usize::from(asked.kind == OpKind::Read)] = asked.offset;
        Placed::Nowhere
    }

    fn place_write<L: Lane>(&mut self, op: &Op, lane: &mut L) -> Placed {
        let file = self.file(op);
        let asked = file.table.zone_of(op.offset);
        let there = file.table.look(asked);
        match there.kind {
            ZoneKind::Unusable => return self.nowhere(op),
            ZoneKind::Conventional => {
                let room = there.start_bytes + file.table.zone_bytes() - op.offset;
                return self.placed(op, cut(op, op.offset, room), None);
            }
            ZoneKind::Sequential => {}
        }
        // A sequential pattern visits a zone once, for as many bytes as it holds.
        if !self.is_random && self.is_full(&there) && file.goes_on(op, asked) {
            return self.nowhere(op);
        }
        let zone = match self.choose(op.file, asked) {
            Choice::Zone(zone) => zone,
            Choice::Later => return Placed::Later,
            Choice::Never => return Placed::Refused(libc::ETOOMANYREFS),
        };
        let table = self.file(op).table.clone();
        let mut at = table.look(zone);
        if at.written_bytes > 0 && (self.is_full(&at) || self.reset_is_due(op.file)) {
            match self.reset(op.file, zone, lane) {
                Ok(true) => at.written_bytes = 0,
                Ok(false) => {
                    table.release(zone);
                    return Placed::Later;
                }
                Err(errno) => {
                    table.release(zone);
                    return Placed::Refused(errno);
                }
            }
        }
        let mut length = at.left_bytes().min(u64::from(op.length));
        if length < u64::from(op.length) && length >= self.least_bytes {
            length -= length % self.least_bytes;
        }
        if length < self.least_bytes && !(self.plan.fills_rest && length > 0) {
            table.release(zone);
            return Placed::Refused(libc::ENOSPC);
        }
        if self.plan.resets.is_some() {
            self.writes_since_reset += 1;
        }
        let placed = Op { offset: at.start_bytes + at.written_bytes, length: length as u32, ..*op };
        self.placed(op, placed, Some(Held { file: op.file, zone, reads: false }))
    }

    /// Whether no further write fits, or none that could be verified.
    fn is_full(&self, zone: &Zone) -> bool {
        let left = zone.left_bytes();
        if !zone.written_bytes.is_multiple_of(self.align_bytes) {
            return true;
        }
        if self.plan.fills_rest { left == 0 } else { left < self.least_bytes }
    }

    /// Whether `zone_reset_frequency` asks for a reset now.
    fn reset_is_due(&mut self, file: u32) -> bool {
        let Some(resets) = &self.plan.resets else { return false };
        let file = &self.files[file as usize];
        let filled = file.table.total_bytes() as f64 >= resets.threshold * file.range_bytes() as f64;
        if !filled {
            self.writes_since_reset = 0;
        }
        filled && self.writes_since_reset >= resets.every
    }

    /// Empties a zone that the worker owns; `false` if somebody reads it.
    fn reset<L: Lane>(&mut self, file: u32, zone: usize, lane: &mut L) -> Result<bool, i32> {
        let zoned = &mut self.files[file as usize];
        if !zoned.table.keep_readers_out(zone) {
            return Ok(false);
        }
        let (start_bytes, length_bytes) = (zoned.table.start_of(zone), zoned.table.zone_bytes());
        let call = ZoneCall::Reset { start_bytes, length_bytes };
        zoned.call(file, call, lane)?;
        zoned.table.set_written(zone, 0);
        zoned.table.let_readers_in(zone);
        self.inner.discarded(file, start_bytes, length_bytes);
        self.writes_since_reset = 0;
        self.resets += 1;
        Ok(true)
    }

    /// Pays what is owed to zones. The error is that of the device.
    fn pay_debts<L: Lane>(&mut self, lane: &mut L) -> Result<(), i32> {
        while let Some((file, zone, debt)) = self.debts.pop() {
            let zoned = &mut self.files[file as usize];
            let (start_bytes, length_bytes) = (zoned.table.start_of(zone), zoned.table.zone_bytes());
            let paid = match debt {
                Debt::Finish => zoned.call(file, ZoneCall::Finish { start_bytes, length_bytes }, lane),
                Debt::AskPointer => zoned.ask_pointer(file, zone, lane),
            };
            zoned.table.release(zone);
            paid?;
        }
        Ok(())
    }

    /// A write has ended. The zone is given back, unless something is owed.
    fn written(&mut self, op: &Op, held: Held, succeeded: bool) {
        let table = self.files[held.file as usize].table.clone();
        let start = table.start_of(held.zone);
        let end = op.offset + if succeeded { u64::from(op.length) } else { 0 };
        table.set_written(held.zone, end - start);
        let zone = table.look(held.zone);
        if self.is_full(&zone) {
            self.close(held);
        }
        let debt = if !succeeded && self.plan.recovers {
            Some(Debt::AskPointer)
        } else if self.is_full(&zone) && zone.left_bytes() > 0 && !self.plan.emulated {
            Some(Debt::Finish)
        } else {
            None
        };
        match debt {
            Some(debt) => self.debts.push((held.file, held.zone, debt)),
            None => table.release(held.zone),
        }
    }

    fn trimmed(&mut self, held: Held, succeeded: bool) {
        let table = self.files[held.file as usize].table.clone();
        if succeeded {
            table.set_written(held.zone, 0);
            self.close(held);
        }
        table.release(held.zone);
    }

    /// Gives back everything, at the end.
    fn let_go(&mut self) {
        self.give_up_pending();
        let unfinished = self.slots.iter().flatten().any(|held| held.reads);
        for file in &self.files {
            file.table.release_all(self.owner, unfinished);
        }
        self.slots.fill(None);
        self.debts.clear();
    }
}

impl<C: Checker> Checker for Placing<'_, C> {
    const CHECKS: bool = true;
    const FILLS: bool = C::FILLS;
    const PLACES: bool = true;

    fn place<L: Lane>(&mut self, op: &Op, lane: &mut L) -> Placed {
        match &self.pending {
            Some(pending) if pending.asked == *op => return Placed::At(pending.placed),
            // The engine refused the operation that was placed.
            Some(_) => self.give_up_pending(),
            None => {}
        }
        if let Err(errno) = self.pay_debts(lane) {
            return Placed::Refused(errno);
        }
        match op.kind {
            OpKind::Write => self.place_write(op, lane),
            OpKind::Read => self.place_read(op),
            OpKind::Trim => self.place_trim(op),
            OpKind::Sync | OpKind::DataSync | OpKind::SyncFileRange => Placed::At(*op),
        }
    }

    fn zone_resets(&self) -> Option<u64> {
        Some(self.resets)
    }

    fn admit(&mut self, op: &Op) -> bool {
        self.inner.admit(op)
    }

    fn check(&mut self, read: &Op, bytes: &[u8]) -> Result<(), i32> {
        if C::CHECKS { self.inner.check(read, bytes) } else { Ok(()) }
    }

    fn prepare(&mut self, op: &Op, buffer: &mut [u8]) {
        self.inner.prepare(op, buffer);
    }

    fn accepted(&mut self, op: &Op, begun_ns: u64) {
        if let Some(pending) = self.pending.take() {
            self.slots[usize::from(op.slot)] = pending.held;
        }
        self.inner.accepted(op, begun_ns);
    }

    fn done(&mut self, op: &Op, succeeded: bool) {
        self.inner.done(op, succeeded);
        let Some(held) = self.slots[usize::from(op.slot)].take() else { return };
        match op.kind {
            OpKind::Write => self.written(op, held, succeeded),
            OpKind::Trim => self.trimmed(held, succeeded),
            _ => self.give_back(held),
        }
    }

    fn complaint(&mut self, slot: u32) -> Option<String> {
        self.inner.complaint(slot)
    }

    fn settle(&mut self) -> Vec<String> {
        self.inner.settle()
    }

    fn flushed(&mut self) {
        self.inner.flushed();
    }

    fn lost(&mut self) -> Option<String> {
        self.inner.lost()
    }

    fn finish(&mut self) -> Option<VerificationRecording> {
        self.let_go();
        self.inner.finish()
    }
}

impl<'a> Verifies<'a> for Placing<'_, Verifier<'a>> {
    fn verifier(&mut self) -> &mut Verifier<'a> {
        &mut self.inner
    }

    fn set_reads_back(&mut self, reads_back: bool) {
        self.reads_back = reads_back;
    }
}

impl<C> Drop for Placing<'_, C> {
    /// Zones are given back also when the worker fails.
    fn drop(&mut self) {
        for file in &self.files {
            file.table.release_all(self.owner, false);
        }
    }
}
