//! One I/O command from its entry to its answer: checks, data pointer, time, copy.
//!
//! ```text
//! entry ─▶ namespace ─▶ range ─▶ pieces of host memory ─▶ zones, marks ─▶ timing ─▶ faults ─▶ copy ─▶ answer
//!                                                                           └─▶ stall: ask again later
//! ```
//!
//! Guarantees: a command that is refused or stalls has changed nothing; nothing is allocated for reads and writes.
//! Deliberately not here: queues, and waiting for the time of the answer.

mod ranges;
mod read_write;
mod zoned;

use std::sync::Arc;

pub(crate) use ranges::{MOST_COPY_BLOCKS, MOST_COPY_RANGES};

use iolab_nvme_spec::{ALL_NAMESPACES, IoOpcode, Status, SubmissionEntry};
use iolab_pci_device::HostMemory;
use iolab_ssd_timing::{Kind, Request, Verdict};

use crate::copier::Copy;
use crate::fault::{FaultKind, Seam, Subject};
use crate::health::Counters;
use crate::media::CopyError;
use crate::namespace::Namespace;
use crate::refusal::{Refusal, place};
use crate::subsystem::Subsystem;
use crate::transfer::{Direction, Piece, resolve};

/// What one dispatcher keeps from command to command, so that nothing is allocated for them.
#[derive(Debug)]
pub(crate) struct Workbench<M> {
    pub(crate) memory: M,
    pub(crate) controller: u16,
    pub(crate) page_shift: u32,
    pub(crate) counters: Arc<Counters>,
    pub(crate) pieces: Vec<Piece>,
    /// Whether reads and writes leave their copy to the dispatcher, in `deferred`.
    pub(crate) defers_copies: bool,
    pub(crate) deferred: Option<Copy>,
    scratch: Vec<u8>,
}

impl<M: HostMemory> Workbench<M> {
    pub(crate) fn new(memory: M, controller: u16, counters: Arc<Counters>) -> Workbench<M> {
        Workbench {
            memory,
            controller,
            page_shift: 12,
            counters,
            pieces: Vec::new(),
            defers_copies: false,
            deferred: None,
            scratch: Vec::new(),
        }
    }
}

/// What became of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It completes at this time with this result.
    Done { at_ns: u64, result: u64 },
    /// The medium takes nothing more of this queue before this time.
    Stall { not_before_ns: u64 },
}

/// One command on the workbench.
pub(crate) struct Execution<'a, M> {
    pub(crate) bench: &'a mut Workbench<M>,
    pub(crate) subsystem: &'a Subsystem,
    pub(crate) command: &'a SubmissionEntry,
    pub(crate) queue: u16,
    pub(crate) now_ns: u64,
}

/// Blocks of a namespace, which exist.
#[derive(Debug, Clone, Copy)]
struct Range {
    lba: u64,
    blocks: u64,
    shift: u32,
}

impl Range {
    #[inline]
    fn bytes(self) -> u64 {
        self.blocks << self.shift
    }

    /// Where it is on the media.
    #[inline]
    fn offset(self, namespace: &Namespace) -> u64 {
        namespace.base + (self.lba << self.shift)
    }
}

impl<M: HostMemory> Execution<'_, M> {
    /// Executes the command.
    #[inline]
    pub(crate) fn run(&mut self) -> Result<Step, Refusal> {
        if self.command.cdw0().fuse() != 0 {
            return Err(Refusal::field(place::FLAGS, 0));
        }
        let subsystem = self.subsystem;
        let opcode = IoOpcode(self.command.opc());
        let Some(namespace) = subsystem.namespace(self.command.nsid()) else {
            return self.apart().without_namespace(opcode);
        };
        if !namespace.is_attached(self.bench.controller) {
            return Err(Refusal::field(place::NSID, 0));
        }
        match opcode {
            IoOpcode::READ => self.read(namespace),
            IoOpcode::WRITE => self.write(namespace),
            IoOpcode::FLUSH => self.apart().flush(),
            _ => self.apart().run_rare(namespace, opcode),
        }
    }

    /// The same again, for what is not inlined: only this one has an address, and the original stays in registers.
    #[inline(always)]
    fn apart(&mut self) -> Execution<'_, M> {
        let Execution { bench, subsystem, command, queue, now_ns } = self;
        Execution { bench, subsystem, command, queue: *queue, now_ns: *now_ns }
    }

    #[inline(never)]
    fn run_rare(&mut self, namespace: &Namespace, opcode: IoOpcode) -> Result<Step, Refusal> {
        match opcode {
            IoOpcode::WRITE_UNCORRECTABLE => self.write_uncorrectable(namespace),
            IoOpcode::COMPARE => self.compare(namespace),
            IoOpcode::WRITE_ZEROES => self.write_zeroes(namespace),
            IoOpcode::DATASET_MANAGEMENT => self.manage_dataset(namespace),
            IoOpcode::VERIFY => self.verify(namespace),
            IoOpcode::COPY => self.copy_ranges(namespace),
            IoOpcode::ZONE_MANAGEMENT_SEND if namespace.is_zoned() => self.send_zone_action(namespace),
            IoOpcode::ZONE_MANAGEMENT_RECEIVE if namespace.is_zoned() => self.receive_zone_report(namespace),
            IoOpcode::ZONE_APPEND if namespace.is_zoned() => self.append(namespace),
            _ => Err(Refusal::lasting(Status::INVALID_OPCODE).at(place::OPCODE, 0)),
        }
    }

    #[cold]
    fn without_namespace(&mut self, opcode: IoOpcode) -> Result<Step, Refusal> {
        // Flush may name all namespaces (Base, section 6.8; Identify says so in VWC).
        if opcode == IoOpcode::FLUSH && self.command.nsid() == ALL_NAMESPACES {
            return self.flush();
        }
        Err(Refusal::lasting(Status::INVALID_NAMESPACE).at(place::NSID, 0))
    }

    #[inline(never)]
    fn flush(&mut self) -> Result<Step, Refusal> {
        let request = Request::flush();
        let at_ns = match self.subsystem.timing.schedule(self.now_ns, &request) {
            Verdict::At(at_ns) => at_ns,
            Verdict::Retry { not_before_ns } => return Ok(Step::Stall { not_before_ns }),
        };
        let extra_ns = self.strike(None, &Range { lba: 0, blocks: 0, shift: 0 }, (false, false))?;
        self.subsystem.persist().map_err(|_| Refusal::passing(Status::WRITE_FAULT))?;
        Ok(Step::Done { at_ns: at_ns + extra_ns, result: 0 })
    }

    /// The blocks of a command that names them in dwords 10 to 12, NLB less one.
    #[inline]
    fn range(&self, namespace: &Namespace) -> Result<Range, Refusal> {
        self.range_of(namespace, self.command.slba(), u64::from(self.command.cdw(12) as u16) + 1)
    }

    #[inline]
    fn range_of(&self, namespace: &Namespace, lba: u64, blocks: u64) -> Result<Range, Refusal> {
        let shift = namespace.lba_shift();
        let end = lba.checked_add(blocks);
        if end.is_none_or(|end| end > namespace.blocks(shift)) {
            return Err(Refusal::lasting(Status::LBA_OUT_OF_RANGE).at(place::CDW10, 0).on_block(lba));
        }
        Ok(Range { lba, blocks, shift })
    }

    /// Finds the host's memory for the data of a range.
    #[inline]
    fn locate(&mut self, range: Range, direction: Direction) -> Result<(), Refusal> {
        let bytes = range.bytes();
        let most = self.subsystem.config.most_bytes;
        if most != 0 && bytes > most {
            return Err(Refusal::field(place::CDW12, 0));
        }
        self.locate_bytes(bytes as usize, direction)
    }

    #[inline]
    fn locate_bytes(&mut self, bytes: usize, direction: Direction) -> Result<(), Refusal> {
        let bench = &mut *self.bench;
        resolve(&mut bench.memory, self.command, (direction, bytes), bench.page_shift, &mut bench.pieces)
    }

    /// When work on a range is done; `Err` is when to ask again.
    #[inline]
    fn schedule(&self, namespace: &Namespace, range: Range, kind: Kind) -> Verdict {
        let fua = self.command.cdw(12) >> 30 & 1 != 0;
        let request = Request { kind, offset_bytes: range.offset(namespace), length_bytes: range.bytes(), fua };
        self.subsystem.timing.schedule(self.now_ns, &request)
    }

    /// Meets the faults that are planned for the media: an error, or extra time.
    #[inline]
    fn strike(
        &self,
        namespace: Option<&Namespace>,
        range: &Range,
        (is_read, is_write): (bool, bool),
    ) -> Result<u64, Refusal> {
        let Some(faults) = &self.subsystem.faults else { return Ok(0) };
        let subject = Subject {
            queue: self.queue,
            opcode: self.command.opc(),
            namespace: namespace.map_or(0, |namespace| namespace.id),
            lba: range.lba,
            blocks: range.blocks,
            lba_shift: range.shift,
            is_read,
            is_write,
        };
        match faults.strike(Seam::Execute, &subject) {
            Some(FaultKind::Slow { extra_ns }) => Ok(extra_ns),
            Some(FaultKind::MediaError) => {
                let status = if is_read { Status::UNRECOVERED_READ_ERROR } else { Status::WRITE_FAULT };
                Err(media_error(&self.bench.counters, status, range.lba))
            }
            _ => Ok(0),
        }
    }

    /// Copies the data of a range, or leaves that to a copier. Media that keep nothing need neither.
    #[inline(always)]
    fn copy(&mut self, direction: Direction, offset: u64, lba: u64) -> Result<(), Refusal> {
        if self.subsystem.media.is_null() { Ok(()) } else { self.apart().copy_data(direction, offset, lba) }
    }

    #[inline(never)]
    fn copy_data(&mut self, direction: Direction, offset: u64, lba: u64) -> Result<(), Refusal> {
        let bench = &mut *self.bench;
        let copy = Copy { direction, offset, lba };
        if bench.defers_copies {
            bench.deferred = Some(copy);
            return Ok(());
        }
        let copied = copy.run(&self.subsystem.media, &mut bench.memory, &bench.pieces);
        copied.map_err(|error| copy_error(&bench.counters, error, lba))
    }

    #[inline]
    fn check_writable(&self, namespace: &Namespace) -> Result<(), Refusal> {
        if namespace.is_write_protected() {
            return Err(Refusal::lasting(Status::NAMESPACE_WRITE_PROTECTED));
        }
        Ok(())
    }
}

#[cold]
fn media_error(counters: &Counters, status: Status, lba: u64) -> Refusal {
    counters.count_media_error();
    Refusal::lasting(status).on_block(lba)
}

#[cold]
fn copy_error(counters: &Counters, error: CopyError, lba: u64) -> Refusal {
    if error != CopyError::Host {
        counters.count_media_error();
    }
    error.refusal(lba)
}
