//! Read, Write, Compare and Verify (Base, sections 6.6 to 6.16; NVM, section 3.2).

use std::sync::MutexGuard;

use iolab_nvme_spec::Status;
use iolab_nvme_spec::command::ReadWriteDword12;
use iolab_ssd_timing::{CommandKind, CompletionTime};

use super::{Execution, ExecutionStep, MediaAccess, Range, copy_error, media_error};
use crate::command_error::{CommandError, place};
use crate::data_window::{DataDirection, DataWindow};
use crate::namespace::Namespace;
use crate::zones::{Placement, ZoneTable, ZoneWrite};

/// A checked write into zones, and the lock that keeps the check valid.
pub(super) struct ZonedWrite<'a> {
    zones: MutexGuard<'a, ZoneTable>,
    write: ZoneWrite,
}

impl<'a> ZonedWrite<'a> {
    /// Checks a write; `None` if the namespace has no zones.
    #[inline]
    pub(super) fn check(
        namespace: &'a Namespace,
        range: Range,
        placement: Placement,
    ) -> Result<Option<ZonedWrite<'a>>, CommandError> {
        if !namespace.is_zoned() {
            return Ok(None);
        }
        let Some(zones) = namespace.zones() else { return Ok(None) };
        let write = zones.check_write(range.lba, range.blocks, placement)?;
        Ok(Some(ZonedWrite { zones, write }))
    }

    pub(super) fn lba(&self) -> u64 {
        self.write.lba
    }

    pub(super) fn commit(mut self) {
        self.zones.commit_write(self.write);
    }
}

impl<D: DataWindow> Execution<'_, D> {
    #[inline]
    pub(super) fn read(&mut self, namespace: &Namespace) -> Result<ExecutionStep, CommandError> {
        let range = self.range(namespace)?;
        self.locate(range, DataDirection::ToHost)?;
        self.check_readable(namespace, range)?;
        let at_ns = match self.schedule(namespace, range, CommandKind::Read) {
            CompletionTime::At(at_ns) => at_ns,
            CompletionTime::Retry { not_before_ns } => return Ok(ExecutionStep::Stall { not_before_ns }),
        };
        let extra_ns = self.meet_media_faults(Some(namespace), &range, MediaAccess::Read)?;
        self.copy(DataDirection::ToHost, range.offset(namespace), range.lba)?;
        self.executor.counters.count_read(range.bytes());
        Ok(ExecutionStep::Done { at_ns: at_ns + extra_ns, result: 0 })
    }

    #[inline]
    pub(super) fn write(&mut self, namespace: &Namespace) -> Result<ExecutionStep, CommandError> {
        // Directives are not supported (Base, section 9), so their type must be zero.
        if ReadWriteDword12(self.command.cdw(12)).dtype() != 0 {
            return Err(CommandError::field(place::CDW12 + 2, 4));
        }
        let range = self.range(namespace)?;
        self.write_data(namespace, range, Placement::Named)
    }

    /// Executes the common part of Write and Zone Append.
    #[inline]
    pub(super) fn write_data(
        &mut self,
        namespace: &Namespace,
        range: Range,
        placement: Placement,
    ) -> Result<ExecutionStep, CommandError> {
        self.locate(range, DataDirection::FromHost)?;
        self.check_writable(namespace)?;
        let zoned = ZonedWrite::check(namespace, range, placement)?;
        let range = Range { lba: zoned.as_ref().map_or(range.lba, ZonedWrite::lba), ..range };
        let at_ns = match self.schedule(namespace, range, CommandKind::Write) {
            CompletionTime::At(at_ns) => at_ns,
            CompletionTime::Retry { not_before_ns } => return Ok(ExecutionStep::Stall { not_before_ns }),
        };
        let extra_ns = self.meet_media_faults(Some(namespace), &range, MediaAccess::Write)?;
        self.copy(DataDirection::FromHost, range.offset(namespace), range.lba)?;
        namespace.clear_uncorrectable(range.lba, range.blocks);
        if let Some(zoned) = zoned {
            zoned.commit();
        }
        self.executor.counters.count_write(range.bytes());
        let result = if placement == Placement::Append { range.lba } else { 0 };
        Ok(ExecutionStep::Done { at_ns: at_ns + extra_ns, result })
    }

    #[inline]
    pub(super) fn check_readable(&self, namespace: &Namespace, range: Range) -> Result<(), CommandError> {
        if namespace.is_zoned()
            && let Some(zones) = namespace.zones()
        {
            zones.check_read(range.lba, range.blocks)?;
        }
        match namespace.first_uncorrectable(range.lba, range.blocks) {
            Some(lba) => Err(media_error(&self.executor.counters, Status::UNRECOVERED_READ_ERROR, lba)),
            None => Ok(()),
        }
    }

    pub(super) fn compare(&mut self, namespace: &Namespace) -> Result<ExecutionStep, CommandError> {
        let range = self.range(namespace)?;
        self.locate(range, DataDirection::FromHost)?;
        self.check_readable(namespace, range)?;
        let at_ns = match self.schedule(namespace, range, CommandKind::Read) {
            CompletionTime::At(at_ns) => at_ns,
            CompletionTime::Retry { not_before_ns } => return Ok(ExecutionStep::Stall { not_before_ns }),
        };
        let extra_ns = self.meet_media_faults(Some(namespace), &range, MediaAccess::Read)?;
        self.executor.counters.count_read(range.bytes());
        if !self.subsystem.media.is_null() && !self.is_equal(namespace, range)? {
            return Err(CommandError::permanent(Status::COMPARE_FAILURE).on_block(range.lba));
        }
        Ok(ExecutionStep::Done { at_ns: at_ns + extra_ns, result: 0 })
    }

    fn is_equal(&mut self, namespace: &Namespace, range: Range) -> Result<bool, CommandError> {
        let bytes = range.bytes() as usize;
        let executor = &mut *self.executor;
        executor.scratch.resize(2 * bytes, 0);
        let (theirs, ours) = executor.scratch.split_at_mut(bytes);
        executor.data.read(theirs)?;
        let read = self.subsystem.media.read(range.offset(namespace), ours);
        let is_equal = theirs == ours;
        read.map_err(|error| copy_error(&self.executor.counters, error, range.lba))?;
        Ok(is_equal)
    }

    pub(super) fn verify(&mut self, namespace: &Namespace) -> Result<ExecutionStep, CommandError> {
        let range = self.range(namespace)?;
        self.check_readable(namespace, range)?;
        let at_ns = match self.schedule(namespace, range, CommandKind::Read) {
            CompletionTime::At(at_ns) => at_ns,
            CompletionTime::Retry { not_before_ns } => return Ok(ExecutionStep::Stall { not_before_ns }),
        };
        let extra_ns = self.meet_media_faults(Some(namespace), &range, MediaAccess::Read)?;
        Ok(ExecutionStep::Done { at_ns: at_ns + extra_ns, result: 0 })
    }
}
