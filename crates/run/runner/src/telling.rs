//! `--debug`: a job tells what it does, line by line, while it does it.
//!
//! ```text
//!  io       4711  queue: io_u 3: off=0x2000,len=0x1000,ddir=1,file=f
//!  random   4711  off rand 2
//! ```
//!
//! This is a checker around a job's own, so that a job that tells nothing pays nothing. A job that
//! tells writes each line at once, with a system call, so that nothing is missing when it hangs or
//! dies; its measurements then say little about the device.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use iolab_engine::{Lane, Op, OpKind};
use iolab_process::thread_id;
use iolab_recording::VerificationRecording;

use crate::hot_loop::checker::{Checker, Placed};
use crate::noting::Notes;
use crate::task::Task;
use crate::verification::verifier::{Verifier, Verifies};

/// What can be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToldKind {
    /// Operations on their way.
    Io,
    /// Offsets that were drawn.
    Random,
    /// Buffers filled and examined.
    Verify,
    /// The search of `latency_target`.
    Rate,
    /// The samples of `steadystate`.
    SteadyState,
}

impl ToldKind {
    /// Every kind.
    pub const ALL: [ToldKind; 5] =
        [ToldKind::Io, ToldKind::Random, ToldKind::Verify, ToldKind::Rate, ToldKind::SteadyState];

    /// Its word on the command line and in each line.
    pub const fn word(self) -> &'static str {
        match self {
            ToldKind::Io => "io",
            ToldKind::Random => "random",
            ToldKind::Verify => "verify",
            ToldKind::Rate => "rate",
            ToldKind::SteadyState => "steadystate",
        }
    }
}

/// What a run tells, and where.
#[derive(Debug, Clone)]
pub struct Telling {
    /// Receives the lines; each is written by one call.
    pub file: Arc<File>,
    /// What is told of.
    pub kinds: Vec<ToldKind>,
    /// The worker that tells, counted from 1; `None`: all do.
    pub only: Option<u32>,
}

/// One line as fio prints it: kind, process or thread, text.
pub fn told_line(kind: &str, id: u32, text: &str) -> String {
    format!("{kind:<8} {id:<5} {text}\n")
}

/// What one worker tells.
#[derive(Debug, Clone)]
pub(crate) struct Teller<'a> {
    telling: &'a Telling,
    names: Vec<&'a str>,
    blocks: [u64; 3],
    is_random: bool,
    verify: &'a str,
    /// The operation that was offered last: it is told of once, however often it is offered.
    offered: Option<Op>,
    /// Operations are those of reading back, which nobody draws.
    reads_back: bool,
}

impl<'a> Teller<'a> {
    /// The teller of a worker, if it tells of this kind.
    pub(crate) fn of(task: &Task<'a>, kinds: &[ToldKind]) -> Option<Teller<'a>> {
        let plan = task.plan;
        let telling = task.telling.filter(|telling| telling.only.is_none_or(|only| only == plan.number + 1))?;
        kinds.iter().any(|kind| telling.kinds.contains(kind)).then(|| Teller {
            telling,
            names: plan.files.iter().map(|file| file.path.to_str().unwrap_or("?")).collect(),
            blocks: [0, 1, 2].map(|direction| plan.workload.align_bytes[direction].max(1)),
            is_random: plan.workload.pattern.word.contains("rand"),
            verify: plan.verify.as_ref().map_or("", |verify| verify.kind.name()),
            offered: None,
            reads_back: false,
        })
    }

    /// As [`Teller::of`], for what is told of each operation.
    pub(crate) fn of_operations(task: &Task<'a>) -> Option<Teller<'a>> {
        Teller::of(task, &[ToldKind::Io, ToldKind::Random, ToldKind::Verify])
    }

    /// Tells something, if it is of a kind that is told of.
    pub(crate) fn tell(&self, kind: ToldKind, text: &str) {
        if self.telling.kinds.contains(&kind) {
            // Nobody can be told that this failed.
            let _ = (&*self.telling.file).write_all(told_line(kind.word(), thread_id(), text).as_bytes());
        }
    }

    fn of_op(&self, step: &str, op: &Op) {
        let direction = match op.kind {
            OpKind::Read => 0,
            OpKind::Write => 1,
            OpKind::Trim => 2,
            OpKind::Sync => 3,
            OpKind::DataSync => 4,
            OpKind::SyncFileRange => 5,
        };
        let (offset, length) = if op.kind.is_sync() { (0, 0) } else { (op.offset, op.length) };
        let name = self.names.get(op.file as usize).unwrap_or(&"");
        let slot = op.slot;
        self.tell(
            ToldKind::Io,
            &format!("{step}: io_u {slot}: off={offset:#x},len={length:#x},ddir={direction},file={name}"),
        );
    }

    fn offers(&mut self, op: &Op) {
        if self.offered.replace(*op) == Some(*op) {
            return;
        }
        if let Some(direction) = op.kind.direction().filter(|_| self.is_random && !self.reads_back) {
            self.tell(ToldKind::Random, &format!("off rand {}", op.offset / self.blocks[direction.index()]));
        }
        let steps = ["fill", "prep", "queue"];
        steps[usize::from(self.reads_back)..].iter().for_each(|step| self.of_op(step, op));
    }
}

/// Tells what the loop does, around a checker.
pub(crate) struct Told<'a, C> {
    pub(crate) inner: C,
    pub(crate) teller: Teller<'a>,
}

impl<C: Checker> Checker for Told<'_, C> {
    const CHECKS: bool = true;
    const FILLS: bool = C::FILLS;
    const PLACES: bool = C::PLACES;

    fn place<L: Lane>(&mut self, op: &Op, lane: &mut L) -> Placed {
        self.inner.place(op, lane)
    }

    fn discarded(&mut self, file: u32, offset: u64, length: u64) {
        self.inner.discarded(file, offset, length);
    }

    fn zone_resets(&self) -> Option<u64> {
        self.inner.zone_resets()
    }

    fn check(&mut self, read: &Op, bytes: &[u8]) -> Result<(), i32> {
        if C::CHECKS && !self.teller.verify.is_empty() {
            let (kind, slot, length) = (self.teller.verify, read.slot, bytes.len());
            self.teller.tell(ToldKind::Verify, &format!("{kind} verify io_u {slot}, len {length}"));
        }
        let checked = self.inner.check(read, bytes);
        if checked.is_err() {
            let (slot, offset) = (read.slot, read.offset);
            self.teller.tell(ToldKind::Verify, &format!("bad data: io_u {slot}, off {offset}"));
        }
        checked
    }

    fn admit(&mut self, op: &Op) -> bool {
        self.inner.admit(op)
    }

    fn prepare(&mut self, op: &Op, buffer: &mut [u8]) {
        if C::FILLS && op.kind == OpKind::Write && self.teller.offered != Some(*op) {
            let (kind, slot, length) = (self.teller.verify, op.slot, op.length);
            self.teller.tell(ToldKind::Verify, &format!("fill {kind} io_u {slot}, len {length}"));
        }
        self.inner.prepare(op, buffer);
        self.teller.offers(op);
    }

    fn accepted(&mut self, op: &Op, begun_ns: u64) {
        self.teller.offered = None;
        self.inner.accepted(op, begun_ns);
    }

    fn done(&mut self, op: &Op, succeeded: bool) {
        self.teller.of_op(if succeeded { "complete" } else { "error" }, op);
        self.inner.done(op, succeeded);
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
        self.inner.finish()
    }
}

impl<'a> Verifies<'a> for Told<'_, Verifier<'a>> {
    fn verifier(&mut self) -> &mut Verifier<'a> {
        &mut self.inner
    }

    fn set_reads_back(&mut self, reads_back: bool) {
        let text = if reads_back { "starting loop" } else { "exiting loop" };
        self.teller.tell(ToldKind::Verify, text);
        self.teller.reads_back = reads_back;
        self.inner.set_reads_back(reads_back);
    }
}

/// A job that tells may note its operations, too.
impl Checker for Option<Notes> {
    const CHECKS: bool = true;
    const FILLS: bool = false;

    fn check(&mut self, _read: &Op, _bytes: &[u8]) -> Result<(), i32> {
        Ok(())
    }

    fn accepted(&mut self, op: &Op, begun_ns: u64) {
        if let Some(notes) = self {
            notes.accepted(op, begun_ns);
        }
    }

    fn lost(&mut self) -> Option<String> {
        self.as_mut().and_then(Notes::lost)
    }
}
