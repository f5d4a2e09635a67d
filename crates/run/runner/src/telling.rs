//! `--debug`: a job tells what it does, line by line, while it does it.
//!
//! ```text
//!  io       4711  queue: io_u 3: off=0x2000,len=0x1000,ddir=1,file=f
//!  random   4711  off rand 2
//! ```
//!
//! Each line is written at once, with a system call, so that nothing is missing when a job hangs or
//! dies; its measurements then say little about the device. `told.rs` tells of operations.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use iolab_engine::{Op, OpKind};
use iolab_plan::WorkerPlan;
use iolab_process::thread_id;

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
    pub(crate) verify: &'a str,
    /// The operation that was offered last: it is told of once, however often it is offered.
    pub(crate) offered: Option<Op>,
    /// Operations are those of reading back, which nobody draws.
    pub(crate) reads_back: bool,
}

impl<'a> Teller<'a> {
    /// The teller of a worker, if it tells of this kind.
    pub(crate) fn of(plan: &'a WorkerPlan, telling: Option<&'a Telling>, kinds: &[ToldKind]) -> Option<Teller<'a>> {
        let telling = telling.filter(|telling| telling.only.is_none_or(|only| only == plan.number + 1))?;
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
    pub(crate) fn of_operations(plan: &'a WorkerPlan, telling: Option<&'a Telling>) -> Option<Teller<'a>> {
        Teller::of(plan, telling, &[ToldKind::Io, ToldKind::Random, ToldKind::Verify])
    }

    /// Tells something, if it is of a kind that is told of.
    pub(crate) fn tell(&self, kind: ToldKind, text: &str) {
        if self.telling.kinds.contains(&kind) {
            // Nobody can be told that this failed.
            let _ = (&*self.telling.file).write_all(told_line(kind.word(), thread_id(), text).as_bytes());
        }
    }

    pub(crate) fn of_op(&self, step: &str, op: &Op) {
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

    pub(crate) fn offers(&mut self, op: &Op) {
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
