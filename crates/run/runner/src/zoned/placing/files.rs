//! The files of a worker as zones, and the calls that ask the device about them.

use std::os::fd::RawFd;

use iolab_engine::{Lane, Op, OpKind, TargetFile, ZoneCall, ZoneKind, ZoneStatus, file_calls};
use iolab_plan::{Direction, WorkerPlan, ZonePlan};

use crate::trouble::{Fatal, errno_text};
use crate::zoned::table::{Zone, ZoneTable};

/// How the zones of a device are reached.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// They exist in this program only.
    Emulated,
    /// By the descriptor of a block device.
    Descriptor(RawFd),
    /// By the lane.
    Lane,
}

impl Way {
    fn of(plan: &ZonePlan, target: Option<&TargetFile>) -> Way {
        match target.map(|target| target.fd) {
            _ if plan.emulated => Way::Emulated,
            Some(fd) if fd >= 0 => Way::Descriptor(fd),
            _ => Way::Lane,
        }
    }

    fn call<L: Lane>(self, file: u32, call: ZoneCall<'_>, lane: &mut L) -> Result<(), i32> {
        match self {
            Way::Emulated => Ok(()),
            Way::Descriptor(fd) => file_calls::zone_call(fd, call),
            Way::Lane => lane.zone_call(file, call),
        }
    }
}

/// One file of a worker.
#[derive(Debug)]
pub(super) struct ZonedFile {
    pub(super) table: ZoneTable,
    /// Its zones: from this one to the one before `last`.
    pub(super) first: usize,
    pub(super) last: usize,
    /// The offsets last drawn for a write or trim, and for a read.
    pub(super) last_offset: [u64; 2],
    way: Way,
}

impl ZonedFile {
    pub(super) fn all(
        worker: &WorkerPlan,
        plan: &ZonePlan,
        tables: &[ZoneTable],
        targets: &[TargetFile],
    ) -> Box<[ZonedFile]> {
        let files = worker.files.iter().zip(tables).enumerate();
        let each = files.map(|(index, (file, table))| {
            let end = file.start_bytes + file.length_bytes;
            ZonedFile {
                first: table.zone_of(file.start_bytes),
                // A zone that the file ends within is not used.
                last: (0..=table.count()).rev().find(|zone| table.start_of(*zone) <= end).unwrap_or(0),
                table: table.clone(),
                last_offset: [u64::MAX; 2],
                way: Way::of(plan, targets.get(index)),
            }
        });
        each.collect()
    }

    pub(super) fn range_bytes(&self) -> u64 {
        (self.last - self.first) as u64 * self.table.zone_bytes()
    }

    /// Whether a sequential pattern has been in this zone before, and has not begun again.
    pub(super) fn goes_on(&self, op: &Op, zone: usize) -> bool {
        let before = self.last_offset[usize::from(op.kind == OpKind::Read)];
        before < op.offset && self.table.zone_of(before) == zone
    }

    /// A zone with at least as much data: this one, or the next, or else the one before that has
    /// it.
    pub(super) fn with_data(&self, asked: usize, bytes: u64) -> Option<(usize, Zone)> {
        let after = (asked..self.last).chain((self.first..asked).rev());
        after
            .map(|zone| (zone, self.table.look(zone)))
            .find(|(_, zone)| zone.kind != ZoneKind::Unusable && zone.written_bytes >= bytes)
    }

    pub(super) fn call<L: Lane>(&mut self, file: u32, call: ZoneCall<'_>, lane: &mut L) -> Result<(), i32> {
        self.way.call(file, call, lane)
    }

    /// Takes the write pointer of a zone from the device.
    pub(super) fn ask_pointer<L: Lane>(&mut self, file: u32, zone: usize, lane: &mut L) -> Result<(), i32> {
        if matches!(self.way, Way::Emulated) {
            return Ok(());
        }
        let (start_bytes, zone_bytes) = (self.table.start_of(zone), self.table.zone_bytes());
        let mut zones = Vec::with_capacity(1);
        let end_bytes = start_bytes + zone_bytes;
        self.call(file, ZoneCall::Report { start_bytes, end_bytes, zones: &mut zones }, lane)?;
        let status = zones.first().ok_or(libc::EIO)?;
        self.table.set_written(zone, status.written_bytes);
        Ok(())
    }
}

/// Fills the tables of a worker's files.
pub(crate) fn begin<L: Lane>(
    worker: &WorkerPlan,
    tables: &[ZoneTable],
    targets: &[TargetFile],
    lane: &mut L,
) -> Result<(), Fatal> {
    let Some(plan) = &worker.workload.zones else { return Ok(()) };
    for (index, (table, file)) in tables.iter().zip(&worker.files).enumerate() {
        let way = Way::of(plan, targets.get(index));
        let fail = |message: String| Fatal { errno: libc::EIO, message: format!("{}: {message}", file.path.display()) };
        let filled = table.fill(|table, zones| {
            if plan.emulated {
                zones.extend(emulated(table, plan));
                return Ok(());
            }
            let end_bytes = table.start_of(table.count());
            let call = ZoneCall::Report { start_bytes: table.start_of(0), end_bytes, zones };
            let failed = |errno| format!("its zones could not be reported: {}", errno_text(errno));
            way.call(index as u32, call, lane).map_err(failed)
        });
        filled.map_err(fail)?;
        let least = worker.workload.block_sizes[Direction::Write.index()].min();
        let smallest = (0..table.count()).map(|zone| table.look(zone)).filter(|zone| zone.kind == ZoneKind::Sequential);
        if let Some(capacity) = smallest.map(|zone| zone.capacity_bytes).min().filter(|capacity| *capacity < least)
            && worker.workload.pattern.directions.contains(&Direction::Write)
        {
            return Err(Fatal {
                errno: libc::EINVAL,
                ..fail(format!("bs={least} is more than a zone can hold ({capacity} bytes)"))
            });
        }
        // Trims of this lane reset zones from its first call on, whoever filled the table.
        if matches!(way, Way::Lane) {
            let mut nothing = Vec::new();
            let call = ZoneCall::Report { start_bytes: 0, end_bytes: 0, zones: &mut nothing };
            way.call(index as u32, call, lane).map_err(|errno| fail(errno_text(errno)))?;
        }
    }
    Ok(())
}

fn emulated(table: &ZoneTable, plan: &ZonePlan) -> impl Iterator<Item = ZoneStatus> {
    (0..table.count()).map(|zone| ZoneStatus {
        start_bytes: table.start_of(zone),
        capacity_bytes: plan.capacity_bytes,
        written_bytes: 0,
        kind: ZoneKind::Sequential,
    })
}
