//! Zones of block devices: reported, reset and finished by ioctl (linux/blkzoned.h).
//!
//! Unsafe because the ioctls read and write structures by pointer. Sectors of these structures have
//! 512 bytes, whatever the block size of the device is.

use std::os::fd::RawFd;

use crate::file_calls::retry;
use crate::zones::{ZoneCall, ZoneKind, ZoneStatus};

const SECTOR: u64 = 512;

/// `_IOWR(0x12, 130, struct blk_zone_report)`.
const BLKREPORTZONE: libc::c_ulong = 3 << 30 | 16 << 16 | 0x12 << 8 | 130;
/// `_IOW(0x12, 131, struct blk_zone_range)`.
const BLKRESETZONE: libc::c_ulong = 1 << 30 | 16 << 16 | 0x12 << 8 | 131;
/// `_IOW(0x12, 136, struct blk_zone_range)`.
const BLKFINISHZONE: libc::c_ulong = 1 << 30 | 16 << 16 | 0x12 << 8 | 136;
/// `_IOR(0x12, 132, __u32)`: the length of a zone in sectors, 0 without zones.
const BLKGETZONESZ: libc::c_ulong = 2 << 30 | 4 << 16 | 0x12 << 8 | 132;
/// Flag of a report: zones have their capacities.
const HAS_CAPACITY: u32 = 1;

/// Zones of one report.
const AT_ONCE: usize = 256;

/// `struct blk_zone`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct BlkZone {
    start: u64,
    len: u64,
    wp: u64,
    kind: u8,
    condition: u8,
    non_sequential: u8,
    reset_recommended: u8,
    reserved: [u8; 4],
    capacity: u64,
    reserved_too: [u8; 24],
}

/// `struct blk_zone_report` with room for its zones.
#[derive(Debug)]
#[repr(C)]
struct BlkZoneReport {
    sector: u64,
    zones: u32,
    flags: u32,
    zone: [BlkZone; AT_ONCE],
}

const _: () = assert!(size_of::<BlkZone>() == 64 && std::mem::offset_of!(BlkZoneReport, zone) == 16);

const BLANK: BlkZone = BlkZone {
    start: 0,
    len: 0,
    wp: 0,
    kind: 0,
    condition: 0,
    non_sequential: 0,
    reset_recommended: 0,
    reserved: [0; 4],
    capacity: 0,
    reserved_too: [0; 24],
};

impl BlkZone {
    fn status(&self, has_capacity: bool) -> ZoneStatus {
        // `enum blk_zone_type` and `enum blk_zone_cond`.
        const CONVENTIONAL: u8 = 1;
        const READ_ONLY: u8 = 0xd;
        const FULL: u8 = 0xe;
        const OFFLINE: u8 = 0xf;
        let sectors = if has_capacity && self.capacity > 0 { self.capacity } else { self.len };
        let capacity_bytes = sectors * SECTOR;
        let kind = match (self.kind, self.condition) {
            (_, READ_ONLY | OFFLINE) => ZoneKind::Unusable,
            (CONVENTIONAL, _) => ZoneKind::Conventional,
            _ => ZoneKind::Sequential,
        };
        let written_bytes = match (kind, self.condition) {
            (ZoneKind::Conventional, _) | (_, FULL) => capacity_bytes,
            _ => (self.wp.saturating_sub(self.start) * SECTOR).min(capacity_bytes),
        };
        ZoneStatus { start_bytes: self.start * SECTOR, capacity_bytes, written_bytes, kind }
    }
}

/// Does what is asked of a zoned block device. The error is an errno: `ENOTTY` or `EOPNOTSUPP` of a
/// device without zones.
pub fn zone_call(fd: RawFd, call: ZoneCall<'_>) -> Result<(), i32> {
    match call {
        ZoneCall::Report { start_bytes, end_bytes, zones } => report(fd, start_bytes, end_bytes, zones),
        ZoneCall::Reset { start_bytes, length_bytes } => outcome(reset_zones(fd, start_bytes, length_bytes)),
        ZoneCall::Finish { start_bytes, length_bytes } => {
            outcome(range_call(fd, BLKFINISHZONE, start_bytes, length_bytes))
        }
    }
}

/// Whether a block device has zones.
pub(super) fn is_zoned(fd: RawFd) -> bool {
    let mut sectors: u32 = 0;
    let address: *mut u32 = &mut sectors;
    // SAFETY: the request writes one u32 to the address given, which is that of a live one.
    let result = retry(|| unsafe { libc::ioctl(fd, BLKGETZONESZ as _, address) } as isize);
    result == 0 && sectors > 0
}

/// Empties the zones of a range, which begins and ends with a zone. 0 or a negative errno.
pub(super) fn reset_zones(fd: RawFd, start_bytes: u64, length_bytes: u64) -> i32 {
    range_call(fd, BLKRESETZONE, start_bytes, length_bytes)
}

fn outcome(result: i32) -> Result<(), i32> {
    if result < 0 { Err(-result) } else { Ok(()) }
}

fn range_call(fd: RawFd, request: libc::c_ulong, start_bytes: u64, length_bytes: u64) -> i32 {
    let range: [u64; 2] = [start_bytes / SECTOR, length_bytes / SECTOR];
    // SAFETY: these requests read two u64 (`struct blk_zone_range`) from the address given, which
    // is that of a live array of two.
    retry(|| unsafe { libc::ioctl(fd, request as _, range.as_ptr()) } as isize)
}

fn report(fd: RawFd, start_bytes: u64, end_bytes: u64, zones: &mut Vec<ZoneStatus>) -> Result<(), i32> {
    let mut at = start_bytes / SECTOR;
    let mut report = Box::new(BlkZoneReport { sector: 0, zones: 0, flags: 0, zone: [BLANK; AT_ONCE] });
    while at < end_bytes / SECTOR {
        (report.sector, report.zones, report.flags) = (at, AT_ONCE as u32, 0);
        let address: *mut BlkZoneReport = &mut *report;
        // SAFETY: BLKREPORTZONE reads the head of a `struct blk_zone_report` and writes it and at
        // most as many zones as the head says, which is how many the structure has room for.
        outcome(retry(|| unsafe { libc::ioctl(fd, BLKREPORTZONE as _, address) } as isize))?;
        let found = report.zone.iter().take(report.zones as usize);
        let before = at;
        for zone in found.take_while(|zone| zone.start < end_bytes / SECTOR) {
            zones.push(zone.status(report.flags & HAS_CAPACITY != 0));
            at = at.max(zone.start.saturating_add(zone.len));
        }
        if at == before {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_zone_is_read_as_the_kernel_describes_it() {
        let zone =
            |kind, condition, wp| BlkZone { start: 2048, len: 2048, wp, kind, condition, capacity: 1536, ..BLANK };
        let cases = [
            (zone(2, 1, 2048), ZoneKind::Sequential, 0),
            (zone(2, 2, 2056), ZoneKind::Sequential, 4096),
            // The write pointer of a full zone means nothing.
            (zone(2, 0xe, u64::MAX), ZoneKind::Sequential, 1536 * SECTOR),
            (zone(1, 0, u64::MAX), ZoneKind::Conventional, 1536 * SECTOR),
            (zone(2, 0xd, 2048), ZoneKind::Unusable, 0),
            (zone(1, 0xf, 2048), ZoneKind::Unusable, 0),
        ];
        for (zone, kind, written_bytes) in cases {
            let status = zone.status(true);
            let expected = ZoneStatus { start_bytes: 1 << 20, capacity_bytes: 1536 * SECTOR, written_bytes, kind };
            assert_eq!(status, expected, "{zone:?}");
        }
        assert_eq!(zone(2, 1, 2048).status(false).capacity_bytes, 1 << 20);
    }

    #[test]
    fn a_file_has_no_zones() {
        let file = tempfile::tempfile().unwrap();
        let fd = file.as_raw_fd();
        let mut zones = Vec::new();
        let report = ZoneCall::Report { start_bytes: 0, end_bytes: 1 << 20, zones: &mut zones };
        assert_eq!(zone_call(fd, report), Err(libc::ENOTTY));
        for call in [
            ZoneCall::Reset { start_bytes: 0, length_bytes: 4096 },
            ZoneCall::Finish { start_bytes: 0, length_bytes: 4096 },
        ] {
            assert_eq!(zone_call(fd, call), Err(libc::ENOTTY));
        }
        assert!(zones.is_empty());
    }
}
