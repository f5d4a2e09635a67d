//! Information about a device and its parts.

use super::{Fields, Payload};

const DEVICE_RESET: u32 = 1;
const DEVICE_PCI: u32 = 1 << 1;
const DEVICE_BYTES: u32 = 16;
const REGION_BYTES: u32 = 32;
const IO_FDS_BYTES: u32 = 16;
/// `VFIO_REGION_INFO_CAP_SPARSE_MMAP`, version 1.
const SPARSE: u32 = 1 | 1 << 16;
/// The most areas of a region that a client accepts.
const MOST_AREAS: u32 = 64;
/// The most capabilities that a client searches.
const MOST_CAPABILITIES: usize = 16;

/// The kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Whether it can be reset.
    pub has_reset: bool,
    /// Whether it is a PCI function.
    pub is_pci: bool,
    /// Its regions.
    pub regions: u32,
    /// The number of kinds of interrupts.
    pub interrupt_kinds: u32,
}

impl DeviceInfo {
    /// The payload of the request.
    pub fn query() -> Vec<u8> {
        Payload::default().words(&[DEVICE_BYTES, 0, 0, 0]).0
    }

    /// The payload of the answer.
    pub fn encode(&self) -> Vec<u8> {
        let flags = (u32::from(self.has_reset) * DEVICE_RESET) | (u32::from(self.is_pci) * DEVICE_PCI);
        Payload::default().words(&[DEVICE_BYTES, flags, self.regions, self.interrupt_kinds]).0
    }

    /// Decodes the answer.
    pub fn decode(payload: &[u8]) -> Option<DeviceInfo> {
        let fields = Fields(payload);
        let flags = fields.u32(4)?;
        Some(DeviceInfo {
            has_reset: flags & DEVICE_RESET != 0,
            is_pci: flags & DEVICE_PCI != 0,
            regions: fields.u32(8)?,
            interrupt_kinds: fields.u32(12)?,
        })
    }
}

/// A request for a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionQuery {
    /// Most bytes of the answer.
    pub most_bytes: u32,
    /// The region.
    pub index: u32,
}

impl RegionQuery {
    /// The payload.
    pub fn encode(&self) -> Vec<u8> {
        Payload::default().words(&[self.most_bytes, 0, self.index, 0]).longs(&[0, 0]).0
    }

    /// Decodes a payload, also of [`super::MessageCommand::RegionIoFds`].
    pub fn decode(payload: &[u8]) -> Option<RegionQuery> {
        let fields = Fields(payload);
        Some(RegionQuery { most_bytes: fields.u32(0)?, index: fields.u32(8)? })
    }
}

/// The allowed operations on a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RegionFlags(pub u32);

impl RegionFlags {
    /// It can be read.
    pub const READ: RegionFlags = RegionFlags(1);
    /// It can be written.
    pub const WRITE: RegionFlags = RegionFlags(1 << 1);
    /// It can be mapped, or its areas can; the answer has a descriptor.
    pub const MAP: RegionFlags = RegionFlags(1 << 2);
    /// The answer has capabilities.
    const CAPABILITIES: RegionFlags = RegionFlags(1 << 3);

    /// The union of both.
    #[must_use]
    pub const fn and(self, other: RegionFlags) -> RegionFlags {
        RegionFlags(self.0 | other.0)
    }

    /// Whether it contains all flags of the other.
    pub const fn has(self, other: RegionFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A mappable part of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionArea {
    /// Offset in the region.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
}

/// A region.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RegionInfo {
    /// The allowed operations.
    pub flags: RegionFlags,
    /// The index of the region.
    pub index: u32,
    /// Its size; 0 if it does not exist.
    pub bytes: u64,
    /// Offset in the file sent along.
    pub offset: u64,
    /// Its mappable parts; if empty, the whole region.
    pub areas: Vec<RegionArea>,
}

impl RegionInfo {
    /// The payload of an answer of at most `most_bytes`, without areas if they do not fit. The
    /// payload contains its full size.
    pub fn encode(&self, most_bytes: u32) -> Vec<u8> {
        let mut needed = REGION_BYTES;
        let mut flags = self.flags;
        if !self.areas.is_empty() {
            needed += 16 + 16 * self.areas.len() as u32;
            flags = flags.and(RegionFlags::CAPABILITIES);
        }
        let fits = needed <= most_bytes;
        let has_areas = fits && !self.areas.is_empty();
        // Clients need a valid offset even for areas that did not fit.
        let start = if self.areas.is_empty() { 0 } else { REGION_BYTES };
        let head = [needed, flags.0, self.index, start];
        let mut payload = Payload::default().words(&head).longs(&[self.bytes, self.offset]);
        if has_areas {
            payload = payload.words(&[SPARSE, 0, self.areas.len() as u32, 0]);
            for area in &self.areas {
                payload = payload.longs(&[area.offset, area.bytes]);
            }
        }
        payload.0
    }

    /// Decodes an answer and its full size. `None` if it is inconsistent.
    pub fn decode(payload: &[u8]) -> Option<(RegionInfo, u32)> {
        let fields = Fields(payload);
        let flags = RegionFlags(fields.u32(4)?);
        let mut info = RegionInfo {
            flags,
            index: fields.u32(8)?,
            bytes: fields.u64(16)?,
            offset: fields.u64(24)?,
            areas: Vec::new(),
        };
        let needed = fields.u32(0)?;
        let is_whole = needed as usize <= payload.len();
        let mut next = if is_whole && flags.has(RegionFlags::CAPABILITIES) { fields.u32(12)? as usize } else { 0 };
        for _ in 0..MOST_CAPABILITIES {
            if next == 0 {
                return Some((info, needed));
            }
            if fields.u32(next)? == SPARSE {
                let count = fields.u32(next + 8)?;
                if count > MOST_AREAS {
                    return None;
                }
                for number in 0..count as usize {
                    let at = next + 16 + 16 * number;
                    info.areas.push(RegionArea { offset: fields.u64(at)?, bytes: fields.u64(at + 8)? });
                }
            }
            next = fields.u32(next + 4)? as usize;
        }
        None
    }
}

/// Descriptors that replace accesses to a region: this server has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoFdsInfo {
    /// The region.
    pub index: u32,
}

impl IoFdsInfo {
    /// The payload of the answer.
    pub fn encode(&self) -> Vec<u8> {
        Payload::default().words(&[IO_FDS_BYTES, 0, self.index, 0]).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_read_as_they_were_written() {
        let flags = RegionFlags::READ.and(RegionFlags::WRITE).and(RegionFlags::MAP);
        let areas = vec![RegionArea { offset: 0x1000, bytes: 0x1000 }, RegionArea { offset: 0x3000, bytes: 0x1000 }];
        let region = RegionInfo { flags, index: 0, bytes: 0x4000, offset: 0, areas };
        let bytes = region.encode(4096);
        assert_eq!(bytes.len(), 32 + 16 + 32);
        let (read, needed) = RegionInfo::decode(&bytes).unwrap();
        let with = RegionFlags(flags.0 | 8);
        assert_eq!((&read, needed), (&RegionInfo { flags: with, ..region.clone() }, 80));
        // A client with little room learns the full size.
        let short = region.encode(32);
        let (read, needed) = RegionInfo::decode(&short).unwrap();
        assert_eq!((short.len(), read.areas.len(), needed), (32, 0, 80));
        assert!((0..32).all(|cut| RegionInfo::decode(&bytes[..cut]).is_none()), "cut off");
        assert!((32..80).all(|cut| RegionInfo::decode(&bytes[..cut]).unwrap().0.areas.is_empty()), "cut off");
    }

    #[test]
    fn lists_without_end_and_without_measure_are_refused() {
        let area = RegionArea { offset: 0, bytes: 4096 };
        let region = RegionInfo { flags: RegionFlags::MAP, areas: vec![area], ..RegionInfo::default() };
        let mut circle = region.encode(4096);
        circle[36..40].copy_from_slice(&32u32.to_le_bytes());
        assert_eq!(RegionInfo::decode(&circle), None);
        let mut many = region.encode(4096);
        many[40..44].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(RegionInfo::decode(&many), None);
        let mut far = region.encode(4096);
        far[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(RegionInfo::decode(&far), None);
    }

    #[test]
    fn devices_are_read_as_they_were_written() {
        let device = DeviceInfo { has_reset: true, is_pci: true, regions: 9, interrupt_kinds: 5 };
        assert_eq!(device.encode(), [16, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(DeviceInfo::decode(&device.encode()), Some(device));
        let query = RegionQuery { most_bytes: 32, index: 7 };
        assert_eq!(RegionQuery::decode(&query.encode()), Some(query));
        assert_eq!(IoFdsInfo { index: 2 }.encode(), [16, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    }
}
