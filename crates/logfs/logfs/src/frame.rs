//! Frames of the metadata log: the unit of writing, with the data that proves its place in the
//! order (docs/logfs/format.md).

use iolab_checksum::{crc32c, crc32c_of_parts};
use iolab_disk::Buffer;

use crate::Layout;
use crate::anchor::FramePlace;
use crate::bytes::Take;

const MAGIC: &[u8; 4] = b"LFFR";
/// Bytes before the payload.
pub(crate) const HEADER_BYTES: usize = 64;

/// Counting never reaches this sequence or epoch; above it there is room for many more numbers, and
/// for anchors that name them.
const UNCOUNTED: u64 = 1 << 61;

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) sequence: u64,
    pub(crate) epoch: u64,
    pub(crate) flushed: u64,
    pub(crate) previous: u32,
    pub(crate) next_cluster: u32,
    /// Changes in the frames before this one, counted from 1; 0 when unknown, as in version 1 of
    /// the format.
    pub(crate) changes: u32,
}

/// A frame that was read.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) header: Header,
    pub(crate) checksum: u32,
    pub(crate) payload: &'a [u8],
}

impl Frame<'_> {
    /// Bytes on the disk, including padding.
    pub(crate) fn disk_bytes(&self, layout: &Layout) -> u32 {
        layout.blocks((HEADER_BYTES + self.payload.len()) as u64) as u32
    }
}

/// Makes a frame in `buffer`, which holds the payload after room for the header; returns its
/// checksum.
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

/// The frame at the start of `bytes`, if it is whole and of this file system.
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
    let is_counted = sequence.max(epoch).max(flushed) < UNCOUNTED;
    if id != layout.id[..8] || domain != layout.domain || !is_counted {
        return None;
    }
    // The checksum covers the header with its checksum field set to zero.
    let computed = crc32c_of_parts(&[&whole[..4], &[0; 4], &whole[8..]]);
    if computed != checksum {
        return None;
    }
    let header = Header { sequence, epoch, flushed, previous, next_cluster, changes };
    Some(Frame { header, checksum, payload: &whole[HEADER_BYTES..] })
}

/// The frames of a cluster from an offset on, at any block.
///
/// Whole frames do not overlap, nor do damaged ones that once were frames. Data that claims
/// otherwise was forged: the search ends when more bytes have been checksummed in vain than frames
/// and damage can account for, so that its cost is bounded by the cluster's length.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    bytes: &'a [u8],
    layout: Layout,
    at: usize,
    /// Bytes whose checksum was computed and did not match.
    in_vain: usize,
}

impl<'a> Search<'a> {
    pub(crate) fn new(bytes: &'a [u8], offset: u32, layout: &Layout) -> Search<'a> {
        Search { bytes, layout: *layout, at: offset as usize, in_vain: 0 }
    }

    /// The length that a possible frame here claims, if its checksum would have to be computed.
    fn claimed(here: &[u8], layout: &Layout) -> usize {
        let is_ours = here.starts_with(MAGIC) && here.get(8..16) == Some(&layout.id[..8]);
        let length = here.get(40..44).filter(|_| is_ours).and_then(|bytes| Take(bytes).u32());
        let claimed = length.map_or(0, |length| (length as usize).saturating_add(HEADER_BYTES));
        if claimed <= here.len() { claimed } else { 0 }
    }
}

impl<'a> Iterator for Search<'a> {
    type Item = (u32, Frame<'a>);

    fn next(&mut self) -> Option<(u32, Frame<'a>)> {
        let (bytes, layout) = (self.bytes, self.layout);
        while self.at + HEADER_BYTES <= bytes.len() {
            let (at, here) = (self.at, &bytes[self.at..]);
            let claimed = Search::claimed(here, &layout);
            if claimed > 0 && self.in_vain + claimed > bytes.len() {
                // Ends the search for good.
                self.at = bytes.len();
                return None;
            }
            if let Some(frame) = parse(here, &layout) {
                self.at += frame.disk_bytes(&layout) as usize;
                return Some((at as u32, frame));
            }
            self.in_vain += claimed;
            self.at += layout.block_bytes as usize;
        }
        None
    }
}

/// Whether `header` is that of the frame expected at `place`, with an epoch within the bounds.
pub(crate) fn belongs(header: &Header, place: &FramePlace, epochs: std::ops::RangeInclusive<u64>) -> bool {
    header.sequence == place.sequence && header.previous == place.previous && epochs.contains(&header.epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = 512;

    fn layout() -> Layout {
        let sample = Layout::decode(&crate::hostile::sample()[..4096]).expect("a sample has a bootstrap record");
        Layout { cluster_bytes: 16 << 20, ..sample }
    }

    fn put(cluster: &mut [u8], at: usize, payload_bytes: usize, sequence: u64, layout: &Layout) {
        let header = Header { sequence, epoch: 1, flushed: 0, previous: 0, next_cluster: 2, changes: 1 };
        let mut frame = Buffer::zeroed(HEADER_BYTES + payload_bytes);
        seal(&mut frame, payload_bytes, &header, layout);
        cluster[at..at + frame.len()].copy_from_slice(&frame);
    }

    #[test]
    fn a_search_finds_frames_behind_damage() {
        let (layout, mut cluster) = (layout(), vec![0; 1 << 20]);
        for (number, at) in (0..1 << 20).step_by(1 << 15).enumerate() {
            put(&mut cluster, at, (1 << 15) - HEADER_BYTES, number as u64, &layout);
        }
        // Every frame except each fourth is damaged; the damaged ones do not hide the others.
        (0..1 << 20).step_by(1 << 15).filter(|at| at % (1 << 17) > 0).for_each(|at| cluster[at + 100] = 1);
        let found = Search::new(&cluster, 512, &layout).map(|(at, frame)| (at, frame.header.sequence));
        assert_eq!(found.collect::<Vec<_>>(), (1..8).map(|four| (four << 17, u64::from(four) * 4)).collect::<Vec<_>>());
    }

    #[test]
    fn a_search_checksums_no_more_than_a_cluster_in_vain_however_many_frames_are_claimed() {
        let layout = layout();
        let mut cluster = vec![0; layout.cluster_bytes as usize];
        let length = cluster.len();
        for at in (0..length).step_by(BLOCK) {
            put(&mut cluster, at, 0, 1, &layout);
            // Each claims to reach the end of the cluster.
            let claimed = (length - at - HEADER_BYTES) as u32;
            cluster[at + 40..at + 44].copy_from_slice(&claimed.to_le_bytes());
        }
        let mut search = Search::new(&cluster, 0, &layout);
        assert!(search.next().is_none());
        assert!(search.in_vain <= length, "{} of {length} bytes", search.in_vain);
        assert!(search.next().is_none() && search.at >= length, "and it has ended");
    }
}
