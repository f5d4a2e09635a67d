//! Read, Write, Compare and Verify (Base, sections 6.6 to 6.16; NVM, section 3.2).

use std::sync::MutexGuard;

use iolab_nvme_spec::Status;
use iolab_nvme_spec::command::ReadWriteDword12;
use iolab_pci_device::HostMemory;
use iolab_ssd_timing::{Kind, Verdict};

use super::{Execution, Range, Step, copy_error, media_error};
use crate::namespace::Namespace;
use crate::refusal::{Refusal, place};
use crate::transfer::{Direction, read_pieces};
use crate::zones::{Placement, ZoneTable, ZoneWrite};

/// A write into zones that has been checked, and the lock under which that stays true.
pub(super) struct ZonedWrite<'a> {
    zones: MutexGuard<'a, ZoneTable>,
    write: ZoneWrite,
}

impl<'a> ZonedWrite<'a> {
    /// `None` in a namespace without zones.
    #[inline]
    pub(super) fn check(
        namespace: &'a Namespace,
        range: Range,
        placement: Placement,
    ) -> Result<Option<ZonedWrite<'a>>, Refusal> {
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

impl<M: HostMemory> Execution<'_, M> {
    #[inline]
    pub(super) fn read(&mut self, namespace: &Namespace) -> Result<Step, Refusal> {
        let range = self.range(namespace)?;
        self.locate(range, Direction::ToHost)?;
        self.check_readable(namespace, range)?;
        let at_ns = match self.schedule(namespace, range, Kind::Read) {
            Verdict::At(at_ns) => at_ns,
            Verdict::Retry { not_before_ns } => return Ok(Step::Stall { not_before_ns }),
        };
        let extra_ns = self.strike(Some(namespace), &range, (true, false))?;
        self.copy(Direction::ToHost, range.offset(namespace), range.lba)?;
        self.bench.counters.count_read(range.bytes());
        Ok(Step::Done { at_ns: at_ns + extra_ns, result: 0 })
    }

    #[inline]
    pub(super) fn write(&mut self, namespace: &Namespace) -> Result<Step, Refusal> {
        // No directives (Base, section 9): their type must be zero.
        if ReadWriteDword12(self.command.cdw(12)).dtype() != 0 {
            return Err(Refusal::field(place::CDW12 + 2, 4));
        }
        let range = self.range(namespace)?;
        self.write_data(namespace, range, Placement::Named)
    }

    /// Write and Zone Append from their data pointer on.
    #[inline]
    pub(super) fn write_data(
        &mut self,
        namespace: &Namespace,
        range: Range,
        placement: Placement,
    ) -> Result<Step, Refusal> {
        self.locate(range, Direction::FromHost)?;
        self.check_writable(namespace)?;
        let zoned = ZonedWrite::check(namespace, range, placement)?;
        let range = Range { lba: zoned.as_ref().map_or(range.lba, ZonedWrite::lba), ..range };
        let at_ns = match self.schedule(namespace, range, Kind::Write) {
            Verdict::At(at_ns) => at_ns,
            Verdict::Retry { not_before_ns } => return Ok(Step::Stall { not_before_ns }),
        };
        let extra_ns = self.strike(Some(namespace), &range, (false, true))?;
        self.copy(Direction::FromHost, range.offset(namespace), range.lba)?;
        namespace.clear_uncorrectable(range.lba, range.blocks);
        if let Some(zoned) = zoned {
            zoned.commit();
        }
        self.bench.counters.count_write(range.bytes());
        let result = if placement == Placement::Append { range.lba } else { 0 };
        Ok(Step::Done { at_ns: at_ns + extra_ns, result })
    }

    #[inline]
    pub(super) fn check_readable(&self, namespace: &Namespace, range: Range) -> Result<(), Refusal> {
        if namespace.is_zoned()
            && let Some(zones) = namespace.zones()
        {
            zones.check_read(range.lba, range.blocks)?;
        }
        match namespace.first_uncorrectable(range.lba, range.blocks) {
            Some(lba) => Err(media_error(&self.bench.counters, Status::UNRECOVERED_READ_ERROR, lba)),
            None => Ok(()),
        }
    }

    pub(super) fn compare(&mut self, namespace: &Namespace) -> Result<Step, Refusal> {
        let range = self.range(namespace)?;
        self.locate(range, Direction::FromHost)?;
        self.check_readable(namespace, range)?;
        let at_ns = match self.schedule(namespace, range, Kind::Read) {
            Verdict::At(at_ns) => at_ns,
            Verdict::Retry { not_before_ns } => return Ok(Step::Stall { not_before_ns }),
        };
        let extra_ns = self.strike(Some(namespace), &range, (true, false))?;
        self.bench.counters.count_read(range.bytes());
        if !self.subsystem.media.is_null() && !self.is_equal(namespace, range)? {
            return Err(Refusal::lasting(Status::COMPARE_FAILURE).on_block(range.lba));
        }
        Ok(Step::Done { at_ns: at_ns + extra_ns, result: 0 })
    }

    fn is_equal(&mut self, namespace: &Namespace, range: Range) -> Result<bool, Refusal> {
        let bytes = range.bytes() as usize;
        let bench = &mut *self.bench;
        bench.scratch.resize(2 * bytes, 0);
        let (theirs, ours) = bench.scratch.split_at_mut(bytes);
        read_pieces(&mut bench.memory, &bench.pieces, theirs)?;
        let read = self.subsystem.media.read(range.offset(namespace), ours);
        let is_equal = theirs == ours;
        read.map_err(|error| copy_error(&self.bench.counters, error, range.lba))?;
        Ok(is_equal)
    }

    pub(super) fn verify(&mut self, namespace: &Namespace) -> Result<Step, Refusal> {
        let range = self.range(namespace)?;
        self.check_readable(namespace, range)?;
        let at_ns = match self.schedule(namespace, range, Kind::Read) {
            Verdict::At(at_ns) => at_ns,
            Verdict::Retry { not_before_ns } => return Ok(Step::Stall { not_before_ns }),
        };
        let extra_ns = self.strike(Some(namespace), &range, (true, false))?;
        Ok(Step::Done { at_ns: at_ns + extra_ns, result: 0 })
    }
}
