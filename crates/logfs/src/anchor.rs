//! The anchor: where reading the log begins (docs/logfs/format.md).

use crate::Layout;
use crate::bytes::{Put, Take};
use crate::checksum::crc32c;

const MAGIC: &[u8; 8] = b"IOLABANC";
const VERSION: u32 = 1;
/// Bytes that the checksum covers.
const ENCODED_BYTES: usize = 128;
const CLEAN: u32 = 1;

/// A place in the log where a frame starts, and what the frame there must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FramePlace {
    pub(crate) cluster: u32,
    pub(crate) offset: u32,
    pub(crate) sequence: u64,
    /// Checksum of the frame before.
    pub(crate) previous: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) number: u64,
    pub(crate) epoch: u64,
    pub(crate) start: FramePlace,
    /// The frame that holds the end of the checkpoint.
    pub(crate) checkpoint_end: u64,
    /// A frame that was durable, with all before it, when this was written.
    pub(crate) flushed: u64,
    /// Whether the file system was closed, and that frame the last.
    pub(crate) closed: bool,
    /// Highest inode number given.
    pub(crate) serial: u64,
}

impl Anchor {
    /// Where the anchor of this number goes.
    pub(crate) fn place(&self, layout: &Layout) -> u64 {
        Anchor::places(layout)[usize::from(self.number.is_multiple_of(2))]
    }

    pub(crate) fn places(layout: &Layout) -> [u64; 2] {
        let first = layout.start_of(layout.anchor_cluster());
        [1, 2].map(|block| first + u64::from(layout.block_bytes) * (block + 2 * u64::from(layout.domain)))
    }

    pub(crate) fn encode(&self, layout: &Layout) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.put(MAGIC);
        bytes.put_u32(VERSION);
        bytes.put_u32(0);
        bytes.put(&layout.id);
        bytes.put_u32(layout.domain);
        bytes.put_u32(if self.closed { CLEAN } else { 0 });
        bytes.put_all(&[self.number, self.epoch, u64::from(self.start.cluster)]);
        bytes.put_u32(self.start.offset);
        bytes.put_u32(self.start.previous);
        bytes.put_all(&[self.start.sequence, self.checkpoint_end, self.flushed, self.serial]);
        bytes.resize(ENCODED_BYTES, 0);
        let checksum = crc32c(&bytes);
        bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The same, where frames have got other checksums.
    pub(crate) fn renamed(self, new: impl Fn(u32) -> u32) -> Anchor {
        Anchor { start: FramePlace { previous: new(self.start.previous), ..self.start }, ..self }
    }

    pub(crate) fn decode(bytes: &[u8], layout: &Layout) -> Option<Anchor> {
        let mut covered = bytes.get(..ENCODED_BYTES)?.to_vec();
        let mut take = Take(bytes);
        let (magic, version, checksum) = (take.array::<8>()?, take.u32()?, take.u32()?);
        covered[12..16].fill(0);
        let (id, domain, flags) = (take.array::<16>()?, take.u32()?, take.u32()?);
        let known = magic == *MAGIC && version == VERSION && id == layout.id && domain == layout.domain;
        if !known || crc32c(&covered) != checksum {
            return None;
        }
        let (number, epoch, cluster) = (take.u64()?, take.u64()?, u32::try_from(take.u64()?).ok()?);
        let (offset, previous) = (take.u32()?, take.u32()?);
        let (sequence, checkpoint_end, flushed, serial) = (take.u64()?, take.u64()?, take.u64()?, take.u64()?);
        let start = FramePlace { cluster, offset, sequence, previous };
        let closed = flags & CLEAN != 0;
        let sensible = layout.is_usable(cluster) && offset < layout.cluster_bytes && sequence <= checkpoint_end;
        (sensible && offset.is_multiple_of(layout.block_bytes)).then_some(Anchor {
            number,
            epoch,
            start,
            checkpoint_end,
            flushed,
            closed,
            serial,
        })
    }
}
