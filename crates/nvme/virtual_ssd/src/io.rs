//! Executes I/O commands: checks, data window, time, faults, copy.
//!
//! ```text
//! entry ─▶ namespace ─▶ range ─▶ data window ─▶ zones, marks ─▶ timing ─▶ faults ─▶ copy ─▶ answer
//!                                                                 └─▶ stall: ask again later
//! ```
//!
//! Guarantees: a command that fails a check or stalls has changed nothing. Reads and writes
//! allocate nothing. This module has no queues, and does not wait until the answer is due.

mod ranges;
mod read_write;
mod zoned;

use std::sync::Arc;

pub(crate) use ranges::{MOST_COPY_BLOCKS, MOST_COPY_RANGES};

use iolab_nvme_spec::{ALL_NAMESPACES, IoOpcode, Status, SubmissionEntry};
use iolab_ssd_timing::{CommandKind, CompletionTime, TimedCommand};

use crate::access::SubsystemPort;
use crate::command_error::{CommandError, place};
use crate::controller_record::ControllerRecord;
use crate::data_window::{DataDirection, DataWindow};
use crate::fault::{FaultKind, FaultPoint, Subject};
use crate::health::Counters;
use crate::media::{Copy, CopyError};
use crate::namespace::Namespace;
use crate::subsystem::Subsystem;

/// Executes I/O commands of one controller, for one thread of a front.
#[derive(Debug)]
pub struct IoExecutor<D> {
    /// The data window of the current command.
    pub data: D,
    controller: u16,
    port: Arc<SubsystemPort>,
    counters: Arc<Counters>,
    /// Whether reads and writes leave the copy in `deferred` to the front.
    pub(crate) defers_copies: bool,
    pub(crate) deferred: Option<Copy>,
    scratch: Vec<u8>,
}

impl<D: DataWindow> IoExecutor<D> {
    /// An executor for a controller of `subsystem`.
    pub fn new(subsystem: &Subsystem, controller: &ControllerRecord, data: D) -> IoExecutor<D> {
        IoExecutor {
            data,
            controller: controller.id(),
            port: Arc::clone(&controller.port),
            counters: subsystem.health.counters(),
            defers_copies: false,
            deferred: None,
            scratch: Vec::new(),
        }
    }

    /// Executes a command of submission queue `queue` as if it had arrived at `now_ns`.
    #[inline(always)]
    pub fn execute(
        &mut self,
        subsystem: &Subsystem,
        queue: u16,
        command: &SubmissionEntry,
        now_ns: u64,
    ) -> Result<ExecutionStep, CommandError> {
        Execution { executor: self, subsystem, command, queue, now_ns }.run()
    }
}

/// How a command was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionStep {
    /// It completes at this time with this result.
    Done {
        /// The time.
        at_ns: u64,
        /// The command specific result; for Zone Append the LBA.
        result: u64,
    },
    /// The medium accepts no more commands of this queue before this time. Nothing has changed:
    /// execute the command again at that time.
    Stall {
        /// The time.
        not_before_ns: u64,
    },
}

/// One command in execution.
struct Execution<'a, D> {
    executor: &'a mut IoExecutor<D>,
    subsystem: &'a Subsystem,
    command: &'a SubmissionEntry,
    queue: u16,
    now_ns: u64,
}

/// How a command accesses the media, which selects its faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MediaAccess {
    None,
    Read,
    Write,
}

/// A range of existing blocks of a namespace.
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

    /// Where the range is on the media.
    #[inline]
    fn offset(self, namespace: &Namespace) -> u64 {
        namespace.base + (self.lba << self.shift)
    }
}

impl<D: DataWindow> Execution<'_, D> {
    /// Executes the command.
    #[inline]
    fn run(&mut self) -> Result<ExecutionStep, CommandError> {
        if self.command.cdw0().fuse() != 0 {
            return Err(CommandError::field(place::FLAGS, 0));
        }
        let subsystem = self.subsystem;
        let opcode = IoOpcode(self.command.opc());
        let Some(namespace) = subsystem.namespace(self.command.nsid()) else {
            return self.apart().without_namespace(opcode);
        };
        if !namespace.is_attached(self.executor.controller) {
            return Err(CommandError::field(place::NSID, 0));
        }
        match opcode {
            IoOpcode::READ => self.read(namespace),
            IoOpcode::WRITE => self.write(namespace),
            IoOpcode::FLUSH => self.apart().flush(),
            _ => self.apart().run_rare(namespace, opcode),
        }
    }

    /// Returns a copy for functions that are not inlined. Only the address of the copy is taken, so
    /// the original stays in registers.
    #[inline(always)]
    fn apart(&mut self) -> Execution<'_, D> {
        let Execution { executor, subsystem, command, queue, now_ns } = self;
        Execution { executor, subsystem, command, queue: *queue, now_ns: *now_ns }
    }

    #[inline(never)]
    fn run_rare(&mut self, namespace: &Namespace, opcode: IoOpcode) -> Result<ExecutionStep, CommandError> {
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
            _ => Err(CommandError::permanent(Status::INVALID_OPCODE).at(place::OPCODE, 0)),
        }
    }

    #[cold]
    fn without_namespace(&mut self, opcode: IoOpcode) -> Result<ExecutionStep, CommandError> {
        // Flush may name all namespaces (Base, section 6.8; Identify reports this in VWC).
        if opcode == IoOpcode::FLUSH && self.command.nsid() == ALL_NAMESPACES {
            return self.flush();
        }
        Err(CommandError::permanent(Status::INVALID_NAMESPACE).at(place::NSID, 0))
    }

    #[inline(never)]
    fn flush(&mut self) -> Result<ExecutionStep, CommandError> {
        let request = TimedCommand::flush();
        let at_ns = match self.subsystem.timing.schedule(self.now_ns, &request) {
            CompletionTime::At(at_ns) => at_ns,
            CompletionTime::Retry { not_before_ns } => return Ok(ExecutionStep::Stall { not_before_ns }),
        };
        let extra_ns = self.meet_media_faults(None, &Range { lba: 0, blocks: 0, shift: 0 }, MediaAccess::None)?;
        self.subsystem.persist().map_err(|_| CommandError::transient(Status::WRITE_FAULT))?;
        Ok(ExecutionStep::Done { at_ns: at_ns + extra_ns, result: 0 })
    }

    /// The blocks of a command that names them in dwords 10 to 12, with NLB less one.
    #[inline]
    fn range(&self, namespace: &Namespace) -> Result<Range, CommandError> {
        self.range_of(namespace, self.command.slba(), u64::from(self.command.cdw(12) as u16) + 1)
    }

    #[inline]
    fn range_of(&self, namespace: &Namespace, lba: u64, blocks: u64) -> Result<Range, CommandError> {
        let shift = namespace.lba_shift();
        let end = lba.checked_add(blocks);
        if end.is_none_or(|end| end > namespace.blocks(shift)) {
            return Err(CommandError::permanent(Status::LBA_OUT_OF_RANGE).at(place::CDW10, 0).on_block(lba));
        }
        Ok(Range { lba, blocks, shift })
    }

    /// Finds the host's data for a range.
    #[inline]
    fn locate(&mut self, range: Range, direction: DataDirection) -> Result<(), CommandError> {
        let bytes = range.bytes();
        let most = self.subsystem.config.most_bytes;
        if most != 0 && bytes > most {
            return Err(CommandError::field(place::CDW12, 0));
        }
        self.locate_bytes(bytes as usize, direction)
    }

    #[inline]
    fn locate_bytes(&mut self, bytes: usize, direction: DataDirection) -> Result<(), CommandError> {
        self.executor.data.locate(self.command, direction, bytes)
    }

    /// Asks the timing model when an operation on a range completes.
    #[inline]
    fn schedule(&self, namespace: &Namespace, range: Range, kind: CommandKind) -> CompletionTime {
        let fua = self.command.cdw(12) >> 30 & 1 != 0;
        let request = TimedCommand { kind, offset_bytes: range.offset(namespace), length_bytes: range.bytes(), fua };
        self.subsystem.timing.schedule(self.now_ns, &request)
    }

    /// Refuses the command if the controller does not reach its namespace now.
    #[cold]
    fn meet_access(&self) -> Result<u64, CommandError> {
        self.executor.port.refusal().map_or(Ok(0), |status| Err(CommandError::transient(status)))
    }

    /// Applies the faults planned for the media: an error, or extra time.
    #[inline(always)]
    fn meet_media_faults(
        &mut self,
        namespace: Option<&Namespace>,
        range: &Range,
        access: MediaAccess,
    ) -> Result<u64, CommandError> {
        if self.subsystem.faults.is_none() {
            return Ok(0);
        }
        self.apart().strike_media(namespace.map_or(0, |namespace| namespace.id), *range, access)
    }

    #[cold]
    #[inline(never)]
    fn strike_media(&mut self, namespace: u32, range: Range, access: MediaAccess) -> Result<u64, CommandError> {
        let Some(faults) = &self.subsystem.faults else { return Ok(0) };
        let subject = Subject {
            queue: self.queue,
            opcode: self.command.opc(),
            namespace,
            lba: range.lba,
            blocks: range.blocks,
            lba_shift: range.shift,
            is_read: access == MediaAccess::Read,
            is_write: access == MediaAccess::Write,
        };
        match faults.strike(FaultPoint::Execute, &subject) {
            Some(FaultKind::Slow { extra_ns }) => Ok(extra_ns),
            Some(FaultKind::NoAccess) => self.meet_access(),
            Some(FaultKind::MediaError) => {
                let status =
                    if access == MediaAccess::Read { Status::UNRECOVERED_READ_ERROR } else { Status::WRITE_FAULT };
                Err(media_error(&self.executor.counters, status, range.lba))
            }
            _ => Ok(0),
        }
    }

    /// Copies the data of a range, or leaves the copy to the front. Media without content need
    /// neither.
    #[inline(always)]
    fn copy(&mut self, direction: DataDirection, offset: u64, lba: u64) -> Result<(), CommandError> {
        if self.subsystem.media.is_null() { Ok(()) } else { self.apart().copy_data(direction, offset, lba) }
    }

    #[inline(never)]
    fn copy_data(&mut self, direction: DataDirection, offset: u64, lba: u64) -> Result<(), CommandError> {
        let executor = &mut *self.executor;
        let through = self.command.cdw(12) >> 30 & 1 != 0;
        let copy = Copy { direction, offset, lba, through };
        if executor.defers_copies {
            executor.deferred = Some(copy);
            return Ok(());
        }
        let copied = copy.run(&self.subsystem.media, &mut executor.data);
        copied.map_err(|error| copy_error(&executor.counters, error, lba))
    }

    #[inline]
    fn check_writable(&self, namespace: &Namespace) -> Result<(), CommandError> {
        if namespace.is_write_protected() {
            return Err(CommandError::permanent(Status::NAMESPACE_WRITE_PROTECTED));
        }
        Ok(())
    }
}

#[cold]
fn media_error(counters: &Counters, status: Status, lba: u64) -> CommandError {
    counters.count_media_error();
    CommandError::permanent(status).on_block(lba)
}

#[cold]
fn copy_error(counters: &Counters, error: CopyError, lba: u64) -> CommandError {
    if error != CopyError::Host {
        counters.count_media_error();
    }
    error.command_error(lba)
}
