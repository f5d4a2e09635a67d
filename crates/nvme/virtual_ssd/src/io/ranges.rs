//! Commands on ranges without data of their own: Write Zeroes, Write Uncorrectable, Dataset
//! Management, Copy (Base, sections 6.7, 6.16 and 6.17; NVM, section 3.2).

use iolab_nvme_spec::command::{CopyDescriptor, CopyDword12, DatasetAttributes, DatasetRange};
use iolab_nvme_spec::{FromBytes, Status};
use iolab_ssd_timing::{CommandKind, CompletionTime};

use super::read_write::ZonedWrite;
use super::{Execution, ExecutionStep, MediaAccess, Range, copy_error};
use crate::command_error::{CommandError, place};
use crate::data_window::{DataDirection, DataWindow};
use crate::namespace::Namespace;
use crate::zones::Placement;

/// The most source ranges of Copy (MSRC).
pub(crate) const MOST_COPY_RANGES: usize = 128;
/// The most blocks of one source range (MSSRL) and of all (MCL).
pub(crate) const MOST_COPY_BLOCKS: u64 = 4096;

impl<D: DataWindow> Execution<'_, D> {
    pub(super) fn write_zeroes(&mut self, namespace: &Namespace) -> Result<ExecutionStep, CommandError> {
        let range = self.range(namespace)?;
        self.check_writable(namespace)?;
        let zoned = ZonedWrite::check(namespace, range, Placement::Named)?;
        let at_ns = match self.schedule(namespace, range, CommandKind::WriteZeroes) {
            CompletionTime::At(at_ns) => at_ns,
            CompletionTime::Retry { not_before_ns } => return Ok(ExecutionStep::Stall { not_before_ns }),
        };
        let extra_ns = self.meet_media_faults(Some(namespace), &range, MediaAccess::Write)?;
        let done = self.subsystem.media.discard(range.offset(namespace), range.bytes());
        done.map_err(|error| copy_error(&self.executor.counters, error, range.lba))?;
        namespace.clear_uncorrectable(range.lba, range.blocks);
        if let Some(zoned) = zoned {
            zoned.commit();
        }
        self.executor.counters.count_write(0);
        Ok(ExecutionStep::Done { at_ns: at_ns + extra_ns, result: 0 })
    }

    pub(super) fn write_uncorrectable(&mut self, namespace: &Namespace) -> Result<ExecutionStep, CommandError> {
        let range = self.range(namespace)?;
        self.check_writable(namespace)?;
        let zoned = ZonedWrite::check(namespace, range, Placement::Named)?;
        namespace.set_uncorrectable(range.lba, range.blocks);
        if let Some(zoned) = zoned {
            zoned.commit();
        }
        Ok(ExecutionStep::Done { at_ns: self.now_ns, result: 0 })
    }

    /// Executes Dataset Management: deallocates. The access hints have no effect.
    pub(super) fn manage_dataset(&mut self, namespace: &Namespace) -> Result<ExecutionStep, CommandError> {
        let count = usize::from(self.command.cdw(10) as u8) + 1;
        let mut raw = [0; DatasetRange::MAX * size_of::<DatasetRange>()];
        let raw = &mut raw[..count * size_of::<DatasetRange>()];
        self.locate_bytes(raw.len(), DataDirection::FromHost)?;
        self.executor.data.read(raw)?;
        let deallocates = DatasetAttributes(self.command.cdw(11)).ad();
        if deallocates {
            self.check_writable(namespace)?;
        }
        // All ranges are checked before the first one is changed.
        let ranges =
            || raw.chunks_exact(size_of::<DatasetRange>()).filter_map(|raw| DatasetRange::read_from_bytes(raw).ok());
        for entry in ranges() {
            self.range_of(namespace, entry.slba.get(), u64::from(entry.nlb.get()))?;
        }
        let mut at_ns = self.now_ns;
        for entry in ranges().filter(|entry| deallocates && entry.nlb.get() > 0) {
            let range = self.range_of(namespace, entry.slba.get(), u64::from(entry.nlb.get()))?;
            at_ns = at_ns.max(self.time(namespace, range, CommandKind::Trim));
            at_ns = at_ns.saturating_add(self.meet_media_faults(Some(namespace), &range, MediaAccess::Write)?);
            let done = self.subsystem.media.discard(range.offset(namespace), range.bytes());
            done.map_err(|error| copy_error(&self.executor.counters, error, range.lba))?;
            namespace.clear_uncorrectable(range.lba, range.blocks);
        }
        Ok(ExecutionStep::Done { at_ns, result: 0 })
    }

    /// The completion time of one part of a command that has already begun. If the medium is full,
    /// the part waits for it.
    pub(super) fn time(&self, namespace: &Namespace, range: Range, kind: CommandKind) -> u64 {
        match self.schedule(namespace, range, kind) {
            CompletionTime::At(at_ns) => at_ns,
            CompletionTime::Retry { not_before_ns } => not_before_ns,
        }
    }

    pub(super) fn copy_ranges(&mut self, namespace: &Namespace) -> Result<ExecutionStep, CommandError> {
        let dword = CopyDword12(self.command.cdw(12));
        // Format 0: ranges of this namespace without protection information (NVM, section 3.2.2).
        if dword.df() != 0 {
            return Err(CommandError::field(place::CDW12 + 1, 0));
        }
        let count = usize::from(dword.nr()) + 1;
        if count > MOST_COPY_RANGES {
            return Err(CommandError::permanent(Status::COMMAND_SIZE_LIMIT_EXCEEDED).at(place::CDW12, 0));
        }
        let mut raw = [0; MOST_COPY_RANGES * size_of::<CopyDescriptor>()];
        let raw = &mut raw[..count * size_of::<CopyDescriptor>()];
        self.locate_bytes(raw.len(), DataDirection::FromHost)?;
        self.executor.data.read(raw)?;
        let mut total = 0;
        let sources = || {
            raw.chunks_exact(size_of::<CopyDescriptor>()).filter_map(|raw| CopyDescriptor::read_from_bytes(raw).ok())
        };
        for source in sources() {
            let blocks = u64::from(source.nlb.get()) + 1;
            if blocks > MOST_COPY_BLOCKS {
                return Err(CommandError::permanent(Status::COMMAND_SIZE_LIMIT_EXCEEDED));
            }
            let range = self.range_of(namespace, source.slba.get(), blocks)?;
            self.check_readable(namespace, range)?;
            total += blocks;
        }
        if total > MOST_COPY_BLOCKS {
            return Err(CommandError::permanent(Status::COMMAND_SIZE_LIMIT_EXCEEDED));
        }
        let target = self.range_of(namespace, self.command.slba(), total)?;
        self.check_writable(namespace)?;
        let zoned = ZonedWrite::check(namespace, target, Placement::Named)?;
        let mut read_ns = self.now_ns;
        let mut part = target;
        for source in sources() {
            part.blocks = u64::from(source.nlb.get()) + 1;
            let range = Range { lba: source.slba.get(), ..part };
            read_ns = read_ns.max(self.time(namespace, range, CommandKind::Read));
            let (from, to) = (range.offset(namespace), part.offset(namespace));
            let copied = self.subsystem.media.copy_within(from, to, part.bytes());
            copied.map_err(|error| copy_error(&self.executor.counters, error, range.lba))?;
            part.lba += part.blocks;
        }
        let at_ns = read_ns.max(self.time(namespace, target, CommandKind::Write));
        let extra_ns = self.meet_media_faults(Some(namespace), &target, MediaAccess::Write)?;
        namespace.clear_uncorrectable(target.lba, target.blocks);
        if let Some(zoned) = zoned {
            zoned.commit();
        }
        self.executor.counters.count_write(target.bytes());
        Ok(ExecutionStep::Done { at_ns: at_ns + extra_ns, result: 0 })
    }
}
