//! Frames of the metadata log: what is written at once, with what proves its place in the order (docs/logfs/format.md).

use iolab_block::Buffer;

use crate::Layout;
use crate::anchor::FramePlace;
use crate::bytes::Take;
use crate::checksum::{crc32c, crc32c_of_parts};

const MAGIC: &[u8; 4] = b"LFFR";
/// Bytes before the payload.
pub(crate) const HEADER_BYTES: usize = 64;

/// What a frame says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) sequence: u64,
    pub(crate) epoch: u64,
    pub(crate) flushed: u64,
    pub(crate) previous: u32,
    pub(crate) next_cluster: u32,
    /// Changes in the frames before this one, counted from 1 on; 0 when nobody counted, as in version 1 of the format.
    pub(crate) changes: u32,
}

/// A frame as it was read.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) header: Header,
    pub(crate) checksum: u32,
    pub(crate) payload: &'a [u8],
}

impl Frame<'_> {
    /// Bytes on the disk, padding included.
    pub(crate) fn disk_bytes(&self, layout: &Layout) -> u32 {
        layout.blocks((HEADER_BYTES + self.payload.len()) as u64) as u32
    }
}

/// Makes a frame in `buffer`, which holds the payload behind room for the header; answers its checksum.
pub(crate) fn seal(buffer: &mut Buffer, payload_bytes: usize, header: &Header, layout: &Layout) -> u32 {
    let mut head = [0; HEADER_BYTES];
    head[..4].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(&layout.id[..8]);
    head[16..24].copy_from_slice(&header.sequence.to_le_bytes());
    head[24..32].copy_from_slice(&header.epoch.to_le_bytes());
    head[32..40].copy_from_slice(&header.flushed.to_le_bytes());
    head[40..44].copy_from_slice(&(payload_bytes as u32).to_le_bytes());
    head[44..48].copy_from_slice(&header.previous.to_le_bytes());
    head[48..56].copy_from_slice(&u64::from(header.next_cluster).to_le_bytes());
    head[56..60].copy_from_slice(&layout.domain.to_le_bytes());
    head[60..64].copy_from_slice(&header.changes.to_le_bytes());
    buffer[..HEADER_BYTES].copy_from_slice(&head);
    let checksum = crc32c(&buffer[..HEADER_BYTES + payload_bytes]);
    buffer[4..8].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

/// The frame at the start of `bytes`, if there is one of this file system and it is whole.
pub(crate) fn parse<'a>(bytes: &'a [u8], layout: &Layout) -> Option<Frame<'a>> {
    let mut take = Take(bytes);
    if take.array::<4>()? != *MAGIC {
        return None;
    }
    let (checksum, id) = (take.u32()?, take.array::<8>()?);
    let (sequence, epoch, flushed) = (take.u64()?, take.u64()?, take.u64()?);
    let (payload_bytes, previous) = (take.u32()? as usize, take.u32()?);
    let (next_cluster, domain, changes) = (u32::try_from(take.u64()?).ok()?, take.u32()?, take.u32()?);
    let whole = bytes.get(..HEADER_BYTES.checked_add(payload_bytes)?)?;
    // The checksum was made over a header whose checksum was zero.
    let computed = crc32c_of_parts(&[&whole[..4], &[0; 4], &whole[8..]]);
    if id != layout.id[..8] || domain != layout.domain || computed != checksum {
        return None;
    }
    let header = Header { sequence, epoch, flushed, previous, next_cluster, changes };
    Some(Frame { header, checksum, payload: &whole[HEADER_BYTES..] })
}

/// Whether `header` is that of the frame which belongs at `place`, of an epoch within the bounds.
pub(crate) fn belongs(header: &Header, place: &FramePlace, epochs: std::ops::RangeInclusive<u64>) -> bool {
    header.sequence == place.sequence && header.previous == place.previous && epochs.contains(&header.epoch)
}
