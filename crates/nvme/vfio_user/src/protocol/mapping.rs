//! Memory that the server may access: mapping and unmapping.

use super::{Fields, Payload};

const READABLE: u32 = 1;
const WRITABLE: u32 = 1 << 1;
/// A flag of the kernel's interface (`VFIO_DMA_UNMAP_FLAG_ALL`), which clients also send here.
const ALL: u32 = 1 << 1;
const MAP_BYTES: usize = 32;
const UNMAP_BYTES: usize = 24;

/// Memory of the client, at an address chosen by the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DmaMap {
    /// Whether the server may read it.
    pub is_readable: bool,
    /// Whether the server may write it.
    pub is_writable: bool,
    /// Offset in the file sent along.
    pub offset: u64,
    /// Address as seen by the device.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
}

impl DmaMap {
    /// The payload.
    pub fn encode(&self) -> Vec<u8> {
        let flags = (u32::from(self.is_readable) * READABLE) | (u32::from(self.is_writable) * WRITABLE);
        Payload::default().words(&[MAP_BYTES as u32, flags]).longs(&[self.offset, self.address, self.bytes]).0
    }

    /// Decodes a payload.
    pub fn decode(payload: &[u8]) -> Option<DmaMap> {
        let fields = Fields(payload);
        let flags = fields.u32(4)?;
        Some(DmaMap {
            is_readable: flags & READABLE != 0,
            is_writable: flags & WRITABLE != 0,
            offset: fields.u64(8)?,
            address: fields.u64(16)?,
            bytes: fields.u64(24)?,
        })
    }
}

/// Memory to unmap, exactly as it was mapped; the answer has the same payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DmaUnmap {
    /// Whether everything is unmapped.
    pub is_all: bool,
    /// Address as seen by the device.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
}

impl DmaUnmap {
    /// The payload.
    pub fn encode(&self) -> Vec<u8> {
        let flags = u32::from(self.is_all) * ALL;
        Payload::default().words(&[UNMAP_BYTES as u32, flags]).longs(&[self.address, self.bytes]).0
    }

    /// Decodes a payload.
    pub fn decode(payload: &[u8]) -> Option<DmaUnmap> {
        let fields = Fields(payload);
        let is_all = fields.u32(4)? & ALL != 0;
        Some(DmaUnmap { is_all, address: fields.u64(8)?, bytes: fields.u64(16)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_read_as_they_were_written() {
        let map = DmaMap { is_readable: true, is_writable: false, offset: 0x1000, address: 1 << 32, bytes: 0x2000 };
        let bytes = map.encode();
        assert_eq!(bytes.len(), MAP_BYTES);
        assert_eq!(bytes[..16], [32, 0, 0, 0, 1, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0]);
        assert_eq!((DmaMap::decode(&bytes), DmaMap::decode(&bytes[..31])), (Some(map), None));
        let unmap = DmaUnmap { is_all: false, address: 1 << 32, bytes: 0x2000 };
        let bytes = unmap.encode();
        assert_eq!(bytes.len(), UNMAP_BYTES);
        assert_eq!((DmaUnmap::decode(&bytes), DmaUnmap::decode(&bytes[..23])), (Some(unmap), None));
    }
}
