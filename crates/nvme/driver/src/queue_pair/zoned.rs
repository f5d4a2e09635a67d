//! Commands of zoned namespaces (ZNS, section 3.4).

use iolab_nvme_spec::zone::{
    ReportedZones, ZoneDescriptor, ZoneReceive, ZoneReceiveAction, ZoneReportHeader, ZoneSend, ZoneSendAction,
};
use iolab_nvme_spec::{FromBytes, IoOpcode, SubmissionEntry};

use super::submit::Transfer;
use super::{QueuePair, Refusal, Submit};
use crate::namespace::Namespace;
use crate::transport::{DataWindow, SlotMemory, Transport};

impl<T: Transport> QueuePair<T> {
    /// Appends `blocks` to the zone that starts at `zone`. The result of the completion is the LBA
    /// at which they were written.
    pub fn append(&mut self, slot: u16, namespace: &Namespace, zone: u64, blocks: u32, data: DataWindow) -> Submit {
        if namespace.zones().is_none() {
            return Submit::Refused(Refusal::NotZoned);
        }
        if blocks > namespace.max_append_blocks {
            return Submit::Refused(Refusal::Length);
        }
        let opcode = IoOpcode::ZONE_APPEND;
        self.transfer(slot, Transfer { opcode, namespace, lba: zone, blocks, control: 0 }, data)
    }

    /// Changes the state of the zone that starts at `zone`. `None` means all zones to which the
    /// action applies.
    pub fn manage_zone(
        &mut self,
        slot: u16,
        namespace: &Namespace,
        zone: Option<u64>,
        action: ZoneSendAction,
    ) -> Submit {
        if namespace.zones().is_none() {
            return Submit::Refused(Refusal::NotZoned);
        }
        let dword = ZoneSend(0).with_zsa(action.0).with_select_all(zone.is_none());
        let entry = SubmissionEntry::new(IoOpcode::ZONE_MANAGEMENT_SEND.0, 0)
            .with_nsid(namespace.id)
            .with_slba(zone.unwrap_or(0))
            .with_cdw(13, dword.0);
        self.raw(slot, entry)
    }

    /// Reports as many zones as fit into `data`, beginning with the one that contains `lba`.
    /// [`ZoneReport`] decodes `data`.
    pub fn report_zones(
        &mut self,
        slot: u16,
        namespace: &Namespace,
        lba: u64,
        zones: ReportedZones,
        data: DataWindow,
    ) -> Submit {
        if namespace.zones().is_none() {
            return Submit::Refused(Refusal::NotZoned);
        }
        if data.bytes < size_of::<ZoneReportHeader>() as u32 || !data.bytes.is_multiple_of(4) {
            return Submit::Refused(Refusal::ShortData);
        }
        if u64::from(data.bytes) > self.longest_transfer() {
            return Submit::Refused(Refusal::Length);
        }
        self.raw_with_data(slot, report_entry(namespace, lba, zones, data.bytes), data)
    }

    /// As [`QueuePair::report_zones`], into memory of the slot.
    /// [`QueuePair::zones_reported`] reads it when the command is complete.
    pub fn report_zones_here(&mut self, slot: u16, namespace: &Namespace, lba: u64) -> Submit {
        if namespace.zones().is_none() {
            return Submit::Refused(Refusal::NotZoned);
        }
        if usize::from(slot) >= self.slots.len() {
            return Submit::Refused(Refusal::NoSlot);
        }
        let data = self.queue.slot_window(slot, REPORT_HERE as u32);
        self.raw_with_data(slot, report_entry(namespace, lba, ReportedZones::ALL, data.bytes), data)
    }

    /// The report that [`QueuePair::report_zones_here`] requested.
    pub fn zones_reported(&self, slot: u16) -> Option<ZoneReport> {
        let mut bytes = [0; REPORT_HERE];
        self.queue.read_slot(slot, &mut bytes);
        ZoneReport::parse(&bytes)
    }
}

/// Bytes of a report in the memory of a slot, which has at least a page.
const REPORT_HERE: usize = 4096;

fn report_entry(namespace: &Namespace, lba: u64, zones: ReportedZones, bytes: u32) -> SubmissionEntry {
    let dword = ZoneReceive(0).with_zra(ZoneReceiveAction::REPORT.0).with_zrasf(zones.0).with_partial(true);
    SubmissionEntry::new(IoOpcode::ZONE_MANAGEMENT_RECEIVE.0, 0)
        .with_nsid(namespace.id)
        .with_slba(lba)
        .with_cdw(12, bytes / 4 - 1)
        .with_cdw(13, dword.0)
}

/// A report of zones, read from the bytes that the device wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneReport {
    /// The zones, in the order of their addresses if the device sorts them.
    pub zones: Vec<ZoneDescriptor>,
}

impl ZoneReport {
    /// Decodes as many descriptors as the header counts and the bytes contain.
    pub fn parse(bytes: &[u8]) -> Option<ZoneReport> {
        let (header, rest) = ZoneReportHeader::read_from_prefix(bytes).ok()?;
        let fit = rest.len() / size_of::<ZoneDescriptor>();
        let count = usize::try_from(header.number_of_zones.get()).unwrap_or(usize::MAX).min(fit);
        let descriptors = rest.chunks_exact(size_of::<ZoneDescriptor>()).take(count);
        let zones = descriptors.filter_map(|bytes| ZoneDescriptor::read_from_bytes(bytes).ok()).collect();
        Some(ZoneReport { zones })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_nvme_spec::zone::ZoneState;

    #[test]
    fn a_report_is_no_longer_than_its_bytes() {
        let mut bytes = vec![0; 64 * 3];
        bytes[0] = 200;
        bytes[64 + 1] = 0x10;
        bytes[128 + 1] = 0xe0;
        let report = ZoneReport::parse(&bytes).unwrap();
        let states: Vec<ZoneState> = report.zones.iter().map(|zone| zone.state()).collect();
        assert_eq!(states, [ZoneState::EMPTY, ZoneState::FULL]);
        assert!(ZoneReport::parse(&bytes[..63]).is_none());
        bytes[0] = 1;
        assert_eq!(ZoneReport::parse(&bytes).unwrap().zones.len(), 1);
    }
}
