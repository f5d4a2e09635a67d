//! Zone reports: what Zone Management Receive returns (ZNS, section 3.4.2).
//!
//! Guarantees: a report is never longer than the host's buffer. Its contents are consistent: it is
//! created under the lock of the zones. Descriptor extensions are not reported, because these zones
//! have none.

use iolab_nvme_spec::IntoBytes;
use iolab_nvme_spec::le::U64;
use iolab_nvme_spec::zone::{
    ReportedZones, ZoneDescriptor, ZoneReceive, ZoneReceiveAction, ZoneReportHeader, ZoneState, ZoneType,
};

use super::ZoneTable;
use crate::command_error::{CommandError, place};

const HEADER_BYTES: usize = size_of::<ZoneReportHeader>();
const DESCRIPTOR_BYTES: usize = size_of::<ZoneDescriptor>();

/// The parameters of a report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Report {
    /// The zones to report begin with the one that contains this block.
    pub(crate) lba: u64,
    /// Bytes of the host's buffer.
    pub(crate) bytes: usize,
    /// Command dword 13.
    pub(crate) request: ZoneReceive,
}

impl ZoneTable {
    /// Creates the report, without the zeroes after its end.
    pub(crate) fn report(&self, report: Report) -> Result<Vec<u8>, CommandError> {
        // There are no extended reports, because there are no extensions (ZNS, section 3.4.2.1).
        if ZoneReceiveAction(report.request.zra()) != ZoneReceiveAction::REPORT {
            return Err(CommandError::field(place::CDW13, 0));
        }
        let wanted = ReportedZones(report.request.zrasf());
        if wanted.name().is_none() {
            return Err(CommandError::field(place::CDW13 + 1, 0));
        }
        let first = self.zone_of(report.lba)?;
        let room = report.bytes.saturating_sub(HEADER_BYTES) / DESCRIPTOR_BYTES;
        let mut matching = 0u64;
        let mut answer = vec![0; HEADER_BYTES];
        for number in first..self.zones.len() {
            if !matches(wanted, self.zones[number].state) {
                continue;
            }
            if matching < room as u64 {
                answer.extend_from_slice(self.descriptor(number).as_bytes());
            } else if report.request.partial() {
                break;
            }
            matching += 1;
        }
        let header = ZoneReportHeader { number_of_zones: U64::new(matching), reserved: [0; 56] };
        answer[..HEADER_BYTES].copy_from_slice(header.as_bytes());
        answer.truncate(report.bytes);
        Ok(answer)
    }

    fn descriptor(&self, number: usize) -> ZoneDescriptor {
        let zone = self.zones[number];
        let has_pointer = !matches!(zone.state, ZoneState::FULL | ZoneState::READ_ONLY | ZoneState::OFFLINE);
        let pointer = if has_pointer { self.start(number) + zone.written } else { u64::MAX };
        ZoneDescriptor {
            zt: ZoneType::SEQUENTIAL_WRITE_REQUIRED.0,
            zs: zone.state.0 << 4,
            za: 0,
            zai: 0,
            reserved4: [0; 4],
            zcap: U64::new(self.capacity_blocks()),
            zslba: U64::new(self.start(number)),
            wp: U64::new(pointer),
            reserved32: [0; 32],
        }
    }
}

fn matches(wanted: ReportedZones, state: ZoneState) -> bool {
    match wanted {
        ReportedZones::EMPTY => state == ZoneState::EMPTY,
        ReportedZones::IMPLICITLY_OPENED => state == ZoneState::IMPLICITLY_OPENED,
        ReportedZones::EXPLICITLY_OPENED => state == ZoneState::EXPLICITLY_OPENED,
        ReportedZones::CLOSED => state == ZoneState::CLOSED,
        ReportedZones::FULL => state == ZoneState::FULL,
        ReportedZones::READ_ONLY => state == ZoneState::READ_ONLY,
        ReportedZones::OFFLINE => state == ZoneState::OFFLINE,
        _ => true,
    }
}
