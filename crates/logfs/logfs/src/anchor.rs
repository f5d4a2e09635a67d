//! The anchor: where reading the log begins (docs/logfs/format.md).

use iolab_checksum::crc32c;

use crate::Layout;
use crate::bytes::{Put, Take};

const MAGIC: &[u8; 8] = b"IOLABANC";
/// The version that is written.
const VERSION: u32 = 2;
/// Bytes covered by the checksum, now and in version 1.
pub(crate) const ENCODED_BYTES: usize = 256;
const FIRST_BYTES: usize = 128;
const CLEAN: u32 = 1;

/// A place in the log where a frame starts, and what identifies the frame expected there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FramePlace {
    pub(crate) cluster: u32,
    pub(crate) offset: u32,
    pub(crate) sequence: u64,
    /// Checksum of the previous frame.
    pub(crate) previous: u32,
}

/// A checkpoint: where reading it begins, and the frame that it ends in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Generation {
    pub(crate) start: FramePlace,
    pub(crate) end: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) number: u64,
    pub(crate) epoch: u64,
    pub(crate) newest: Generation,
    /// The previous checkpoint, which is kept together with the log that follows it.
    pub(crate) before: Option<Generation>,
    /// A frame that was durable, with all frames before it, when this anchor was written.
    pub(crate) flushed: u64,
    /// Whether the file system was closed, so that `flushed` is the last frame.
    pub(crate) closed: bool,
    /// Highest inode number assigned.
    pub(crate) serial: u64,
    /// Changes in all frames up to `flushed`, counted as in the frames.
    pub(crate) changes: u32,
}

impl Anchor {
    /// Where the two copies go, in the order in which they are written. The order alternates from
    /// one anchor to the next.
    pub(crate) fn places_in_turn(&self, layout: &Layout) -> [u64; 2] {
        let [one, other] = Anchor::places(layout);
        if self.number.is_multiple_of(2) { [other, one] } else { [one, other] }
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
        let Generation { start, end } = self.newest;
        bytes.put_all(&[self.number, self.epoch, u64::from(start.cluster)]);
        bytes.put_u32(start.offset);
        bytes.put_u32(start.previous);
        bytes.put_all(&[start.sequence, end, self.flushed, self.serial]);
        let none = Generation { start: FramePlace::default(), end: 0 };
        let Generation { start, end } = self.before.unwrap_or(none);
        [start.cluster, start.offset, start.previous, self.changes].iter().for_each(|field| bytes.put_u32(*field));
        bytes.put_all(&[start.sequence, end]);
        bytes.resize(ENCODED_BYTES, 0);
        let checksum = crc32c(&bytes);
        bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The same anchor, with the checksums of frames replaced by `new`.
    pub(crate) fn renamed(self, new: impl Fn(u32) -> u32) -> Anchor {
        let renamed = |generation: Generation| {
            let previous = new(generation.start.previous);
            Generation { start: FramePlace { previous, ..generation.start }, ..generation }
        };
        Anchor { newest: renamed(self.newest), before: self.before.map(renamed), ..self }
    }

    pub(crate) fn decode(bytes: &[u8], layout: &Layout) -> Option<Anchor> {
        let mut take = Take(bytes);
        let (magic, version, checksum) = (take.array::<8>()?, take.u32()?, take.u32()?);
        let length = if version == 1 { FIRST_BYTES } else { ENCODED_BYTES };
        let mut covered = bytes.get(..length)?.to_vec();
        covered[12..16].fill(0);
        let (id, domain, flags) = (take.array::<16>()?, take.u32()?, take.u32()?);
        let is_known = (1..=VERSION).contains(&version);
        let ours = magic == *MAGIC && is_known && id == layout.id && domain == layout.domain;
        if !ours || crc32c(&covered) != checksum {
            return None;
        }
        let (number, epoch, cluster) = (take.u64()?, take.u64()?, u32::try_from(take.u64()?).ok()?);
        let (offset, previous) = (take.u32()?, take.u32()?);
        let (sequence, end, flushed, serial) = (take.u64()?, take.u64()?, take.u64()?, take.u64()?);
        let start = FramePlace { cluster, offset, sequence, previous };
        let newest = Generation { start, end }.sensible(layout)?;
        let (before, changes) = if version == 1 { (None, 0) } else { take_older(&mut take)? };
        let before = before.and_then(|before| before.sensible(layout));
        Some(Anchor { changes, number, epoch, newest, before, flushed, closed: flags & CLEAN != 0, serial })
    }
}

/// The previous checkpoint (`None` when its cluster is 0), and the number of changes.
fn take_older(take: &mut Take<'_>) -> Option<(Option<Generation>, u32)> {
    let (cluster, offset, previous, changes) = (take.u32()?, take.u32()?, take.u32()?, take.u32()?);
    let (sequence, end) = (take.u64()?, take.u64()?);
    let generation = Generation { start: FramePlace { cluster, offset, sequence, previous }, end };
    Some(((cluster > 0).then_some(generation), changes))
}

impl Generation {
    fn sensible(self, layout: &Layout) -> Option<Generation> {
        let FramePlace { cluster, offset, sequence, .. } = self.start;
        let is_place = layout.is_usable(cluster) && offset < layout.cluster_bytes;
        // Numbers near the maximum are refused, so that later frames can still be numbered.
        let is_order = sequence > 0 && sequence <= self.end && self.end < 1 << 62;
        (is_place && is_order && offset.is_multiple_of(layout.block_bytes)).then_some(self)
    }
}
