//! The ranges of a trim that has several (`num_range`).
//!
//! The loop sees one operation on as many bytes as all its ranges have; its offset names them. In a
//! random pattern, the ranges are scattered: a bijection of the blocks of the file says where each
//! block of the operation is. So every block is trimmed once in a pass, and nobody has to remember
//! ranges.

use iolab_random::{Permutation, SplitMix64};

use crate::{Extent, Op};

/// Where the ranges of trims are.
#[derive(Debug, Clone)]
pub struct TrimRanges {
    count: u32,
    files: Box<[FileRanges]>,
}

#[derive(Debug, Clone)]
struct FileRanges {
    start_bytes: u64,
    range_bytes: u64,
    blocks: u64,
    /// `None` for a sequential pattern, whose ranges follow each other.
    order: Option<Permutation>,
}

impl TrimRanges {
    /// Most ranges of one command (NVM Command Set Specification 1.1, section 3.3.3).
    pub const MOST: u32 = 256;

    /// `count` ranges of `range_bytes` for each trim; scattered by the seed, if there is one.
    pub fn new(count: u32, range_bytes: u64, files: &[Extent], seed: Option<u64>) -> TrimRanges {
        let count = count.clamp(1, TrimRanges::MOST);
        let of = |(number, file): (u64, &Extent)| {
            // Only whole operations: their blocks are those that are scattered.
            let blocks = file.length_bytes / range_bytes.max(1) / u64::from(count) * u64::from(count);
            let scattered = |seed: u64| {
                let mut numbers = SplitMix64::new(seed.wrapping_add(number));
                Permutation::new(blocks, || numbers.next())
            };
            FileRanges {
                start_bytes: file.start_bytes,
                range_bytes: range_bytes.max(1),
                blocks,
                order: seed.filter(|_| blocks > 0).map(scattered),
            }
        };
        TrimRanges { count, files: (0..).zip(files).map(of).collect() }
    }

    /// How many ranges a trim has.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Offset and length of each range of a trim, bytes. None for a file or a place that the job
    /// does not use.
    pub fn of(&self, op: &Op) -> impl Iterator<Item = (u64, u32)> + '_ {
        let file = self.files.get(op.file as usize);
        let first = file.map_or(0, |file| op.offset.saturating_sub(file.start_bytes) / file.range_bytes);
        let file = file.filter(|file| first + u64::from(self.count) <= file.blocks);
        file.into_iter().flat_map(move |file| {
            (first..first + u64::from(self.count)).map(move |block| {
                let block = file.order.as_ref().map_or(block, |order| order.image_below(block, file.blocks));
                (file.start_bytes + block * file.range_bytes, file.range_bytes as u32)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpKind;

    fn trim(offset: u64) -> Op {
        Op { offset, length: 8 * 4096, buffer_offset: 0, file: 0, slot: 0, kind: OpKind::Trim, priority: 0 }
    }

    #[test]
    fn a_pass_trims_every_block_once() {
        let extent = Extent { start_bytes: 1 << 20, length_bytes: 1003 * 4096 };
        for seed in [None, Some(7)] {
            let ranges = TrimRanges::new(8, 4096, &[extent], seed);
            let all: Vec<(u64, u32)> =
                (0..125).flat_map(|op| ranges.of(&trim((1 << 20) + op * 8 * 4096)).collect::<Vec<_>>()).collect();
            let mut sorted = all.clone();
            sorted.sort_unstable();
            let expected: Vec<(u64, u32)> = (0..1000).map(|block| ((1 << 20) + block * 4096, 4096)).collect();
            assert_eq!(sorted, expected);
            assert_eq!(all == sorted, seed.is_none(), "a random pattern scatters its ranges");
        }
        assert_eq!(TrimRanges::new(8, 4096, &[extent], None).of(&trim(9 << 20)).count(), 0);
    }
}
