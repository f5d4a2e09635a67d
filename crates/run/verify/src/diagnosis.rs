//! The kind of corruption of a block, as far as its bytes show it.

use std::fmt;
use std::ops::Range;

use crate::content::{Origin, SECTOR};
use crate::header::Header;

/// The place of an interval: its file, and its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Number of the file in its worker.
    pub file: u32,
    /// Where it begins, bytes.
    pub offset: u64,
}

/// The expected content of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedContent {
    /// Anything written there with the same options.
    Valid,
    /// Content of this run, of this generation.
    Generation(u32),
    /// Content of this generation, by an earlier run of the same job.
    EarlierRun(u32),
    /// Zeroes.
    Zeroes,
}

/// More differing bits than this are not called flipped.
const MOST_FLIPS: u32 = 32;

/// The kind of damage of an interval. Positions are bytes from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockDamage {
    /// Zeroes where there must be data.
    Zeroes(Range<usize>),
    /// Content of an earlier write: the last one is lost.
    Stale {
        /// The generation that is there.
        generation: u32,
        /// It is of an earlier run.
        earlier_run: bool,
    },
    /// Content of another place.
    OtherOffset {
        /// The place it belongs to, bytes from the beginning of the file.
        offset: u64,
    },
    /// Parts of two blocks.
    Torn {
        /// Where one ends and the other begins; a multiple of 512.
        at: usize,
        /// The part that is wrong.
        wrong: Range<usize>,
        /// What the wrong part is.
        with: Box<BlockDamage>,
    },
    /// Few bits differ.
    BitFlips {
        /// How many.
        bits: u32,
        /// The first byte with a flipped bit.
        at: usize,
    },
    /// The data is right, the header is not.
    Header,
    /// Made by a job with other options: another kind, seed or interval.
    OtherOptions,
    /// Data instead of zeroes.
    NotDiscarded,
    /// Bytes of unknown origin.
    Foreign(Range<usize>),
}

/// Compares `found` with the expected content, if that is known. `origin` is the expected writer,
/// if the content has stamps.
pub(crate) fn diagnose(
    at: Interval,
    wanted: WantedContent,
    found: &[u8],
    must: Option<&[u8]>,
    header: Option<&Header>,
    origin: Option<Origin>,
) -> BlockDamage {
    if wanted == WantedContent::Zeroes {
        return BlockDamage::NotDiscarded;
    }
    if found.iter().all(|byte| *byte == 0) {
        return BlockDamage::Zeroes(0..found.len());
    }
    let Some(must) = must else { return without_model(found, header, at) };
    let wrong = wrong_sectors(found, must);
    if let Some(whole) = header.and_then(|header| whole_block(at, wanted, header, wrong.len() * SECTOR >= found.len()))
    {
        return whole;
    }
    let (Some(first), Some(last)) = (wrong.first(), wrong.last()) else { return BlockDamage::Header };
    let range = first * SECTOR..((last + 1) * SECTOR).min(found.len());
    let bits: u32 = found.iter().zip(must).map(|(found, must)| (found ^ must).count_ones()).sum();
    if bits <= MOST_FLIPS {
        let at = found.iter().zip(must).position(|(found, must)| found != must).unwrap_or(0);
        return BlockDamage::BitFlips { bits, at };
    }
    let what = part(at, found, &range, origin, wrong.len() == last - first + 1);
    let is_part = range.len() < found.len();
    match what {
        BlockDamage::Foreign(_) | BlockDamage::Zeroes(_) if !is_part => what,
        BlockDamage::Foreign(_) => what,
        what if is_part => {
            let boundary = if range.start > 0 { range.start } else { range.end };
            BlockDamage::Torn { at: boundary, wrong: range, with: Box::new(what) }
        }
        what => what,
    }
}

/// Without the expected content: what the block says about itself.
fn without_model(found: &[u8], header: Option<&Header>, at: Interval) -> BlockDamage {
    match header {
        Some(header) if header.offset != at.offset => BlockDamage::OtherOffset { offset: header.offset },
        Some(_) => BlockDamage::OtherOptions,
        None => {
            let zeroes = found.chunks(SECTOR).take_while(|sector| sector.iter().all(|byte| *byte == 0)).count();
            if zeroes > 0 {
                BlockDamage::Zeroes(0..(zeroes * SECTOR).min(found.len()))
            } else {
                BlockDamage::Foreign(0..found.len())
            }
        }
    }
}

fn wrong_sectors(found: &[u8], must: &[u8]) -> Vec<usize> {
    let pairs = found.chunks(SECTOR).zip(must.chunks(SECTOR)).enumerate();
    pairs.filter(|(_, (found, must))| found != must).map(|(index, _)| index).collect()
}

/// A whole block of another writer, according to its header.
fn whole_block(at: Interval, wanted: WantedContent, header: &Header, all_wrong: bool) -> Option<BlockDamage> {
    if header.offset != at.offset {
        return all_wrong.then_some(BlockDamage::OtherOffset { offset: header.offset });
    }
    let generation = match wanted {
        WantedContent::Generation(generation) | WantedContent::EarlierRun(generation) => generation,
        _ => return None,
    };
    let stale = header.generation != generation;
    if all_wrong && (stale || matches!(wanted, WantedContent::Generation(_))) {
        return Some(BlockDamage::Stale { generation: header.generation, earlier_run: !stale });
    }
    None
}

/// The kind of the wrong part of a block.
fn part(at: Interval, found: &[u8], range: &Range<usize>, origin: Option<Origin>, contiguous: bool) -> BlockDamage {
    let wrong = &found[range.clone()];
    if wrong.iter().all(|byte| *byte == 0) {
        return BlockDamage::Zeroes(range.clone());
    }
    let Some(origin) = origin.filter(|_| contiguous) else { return BlockDamage::Foreign(range.clone()) };
    // The first sector may hold the header in place of its stamp.
    let stamped = wrong.chunks(SECTOR).enumerate().rev().find_map(|(index, sector)| {
        let stamp = u64::from_le_bytes(*sector.first_chunk()?);
        let here = at.offset + (range.start + index * SECTOR) as u64;
        let (place, generation) = origin.read_stamp(stamp);
        Some((place, generation, here))
    });
    match stamped {
        Some((place, generation, here)) if place == here && generation != origin.generation => {
            BlockDamage::Stale { generation, earlier_run: false }
        }
        // A place must be plausible: a multiple of a sector within some tebibytes.
        Some((place, _, here)) if place != here && place % SECTOR as u64 == here % SECTOR as u64 && place < 1 << 46 => {
            BlockDamage::OtherOffset { offset: place }
        }
        _ => BlockDamage::Foreign(range.clone()),
    }
}

impl fmt::Display for BlockDamage {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockDamage::Zeroes(range) => write!(text, "zeroes (bytes {} to {})", range.start, range.end),
            BlockDamage::Stale { earlier_run: true, .. } => {
                text.write_str("a stale block of an earlier run: the write is lost")
            }
            BlockDamage::Stale { generation, .. } => {
                write!(text, "a stale block, of generation {generation}: a later write is lost")
            }
            BlockDamage::OtherOffset { offset } => write!(text, "a block of another place, offset {offset}"),
            BlockDamage::Torn { at, wrong, with } => {
                let unit = if at.is_multiple_of(4096) { 4096 } else { SECTOR };
                let (from, to) = (wrong.start, wrong.end);
                write!(text, "a torn block (at {at}, a multiple of {unit}): bytes {from} to {to} are {with}")
            }
            BlockDamage::BitFlips { bits, at } => write!(text, "bit flips: {bits} bits differ, the first at byte {at}"),
            BlockDamage::Header => text.write_str("a damaged header in front of the right data"),
            BlockDamage::OtherOptions => text.write_str("a block of a job with other options"),
            BlockDamage::NotDiscarded => text.write_str("data that was to be discarded"),
            BlockDamage::Foreign(range) => write!(text, "foreign bytes ({} to {})", range.start, range.end),
        }
    }
}
