//! Reading and writing by messages: regions of the device, and memory of the client.

use super::{Fields, Payload};

const ACCESS_BYTES: usize = 16;
/// One of several writes: offset, region, count, and room for 8 bytes.
const WRITE_BYTES: usize = 24;

/// An access to a region; its data, if any, follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionAccess {
    /// Offset in the region.
    pub offset: u64,
    /// The region.
    pub region: u32,
    /// Bytes.
    pub count: u32,
}

impl RegionAccess {
    /// The payload, with the data of a write or of the answer to a read.
    pub fn encode(&self, data: &[u8]) -> Vec<u8> {
        let mut payload = Payload::default().longs(&[self.offset]).words(&[self.region, self.count]).0;
        payload.extend_from_slice(data);
        payload
    }

    /// Decodes a payload, and its data.
    pub fn decode(payload: &[u8]) -> Option<(RegionAccess, &[u8])> {
        let fields = Fields(payload);
        let access = RegionAccess { offset: fields.u64(0)?, region: fields.u32(8)?, count: fields.u32(12)? };
        Some((access, payload.get(ACCESS_BYTES..)?))
    }
}

/// An access to memory of the client; its data, if any, follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DmaAccess {
    /// Address as seen by the device.
    pub address: u64,
    /// Bytes.
    pub count: u64,
}

impl DmaAccess {
    /// The payload, with the data of a write or of the answer to a read.
    pub fn encode(&self, data: &[u8]) -> Vec<u8> {
        let mut payload = Payload::default().longs(&[self.address, self.count]).0;
        payload.extend_from_slice(data);
        payload
    }

    /// Decodes a payload, and its data. The answer to a write may have a count of 4 bytes.
    pub fn decode(payload: &[u8]) -> Option<(DmaAccess, &[u8])> {
        let fields = Fields(payload);
        let count = fields.u64(8).or_else(|| fields.u32(8).map(u64::from))?;
        Some((DmaAccess { address: fields.u64(0)?, count }, payload.get(ACCESS_BYTES..).unwrap_or(&[])))
    }
}

/// Several writes to regions, of up to 8 bytes each.
#[derive(Debug, Clone, Copy)]
pub struct RegionWrites<'a>(&'a [u8]);

impl<'a> RegionWrites<'a> {
    /// Decodes a payload; `None` if it has fewer writes than its count, or if a write has more
    /// bytes than there is room for.
    pub fn decode(payload: &'a [u8]) -> Option<RegionWrites<'a>> {
        let count = usize::try_from(Fields(payload).u64(0)?).ok()?;
        let writes = RegionWrites(payload.get(8..)?.get(..count.checked_mul(WRITE_BYTES)?)?);
        writes.each().all(|(access, data)| access.count as usize <= data.len()).then_some(writes)
    }

    /// The writes in order, each with 8 bytes of which the first `count` are valid.
    pub fn each(self) -> impl Iterator<Item = (RegionAccess, &'a [u8])> {
        self.0.chunks_exact(WRITE_BYTES).filter_map(RegionAccess::decode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_read_as_they_were_written() {
        let access = RegionAccess { offset: 0x14, region: 0, count: 4 };
        let bytes = access.encode(&[1, 2, 3, 4]);
        assert_eq!(bytes, [0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4]);
        assert_eq!(RegionAccess::decode(&bytes), Some((access, &[1, 2, 3, 4][..])));
        assert_eq!(RegionAccess::decode(&bytes[..15]), None);
        let access = DmaAccess { address: 1 << 40, count: 2 };
        assert_eq!(DmaAccess::decode(&access.encode(&[5, 6])), Some((access, &[5, 6][..])));
        assert_eq!(DmaAccess::decode(&access.encode(&[])[..12]), Some((access, &[][..])), "a short count");
    }

    #[test]
    fn several_writes_are_as_many_as_they_say() {
        let write = |count| RegionAccess { offset: 0x1000, region: 0, count }.encode(&[1, 2, 3, 4, 5, 6, 7, 8]);
        let payload = |count: u64, writes: &[Vec<u8>]| [&count.to_le_bytes()[..], &writes.concat()].concat();
        let bytes = payload(2, &[write(4), write(8)]);
        let read: Vec<_> = RegionWrites::decode(&bytes).unwrap().each().collect();
        assert_eq!((read.len(), read[1].0.count, read[0].1), (2, 8, &[1, 2, 3, 4, 5, 6, 7, 8][..]));
        for wrong in [payload(3, &[write(4), write(4)]), payload(u64::MAX, &[write(4)]), payload(1, &[write(9)])] {
            assert!(RegionWrites::decode(&wrong).is_none());
        }
    }
}
