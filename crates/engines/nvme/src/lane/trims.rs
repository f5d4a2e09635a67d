//! Trims of several ranges.

use iolab_engine::{Op, TrimRanges};

/// Where they are, and room for those of one command.
#[derive(Debug)]
pub(super) struct Trims {
    ranges: TrimRanges,
    blocks: Vec<(u64, u32)>,
}

impl Trims {
    pub(super) fn new(ranges: TrimRanges) -> Trims {
        Trims { blocks: Vec::with_capacity(ranges.count() as usize), ranges }
    }

    /// First block and blocks of each range of the operation.
    pub(super) fn of(&mut self, op: &Op, block_shift: u32) -> &[(u64, u32)] {
        self.blocks.clear();
        self.blocks.extend(self.ranges.of(op).map(|(offset, length)| (offset >> block_shift, length >> block_shift)));
        &self.blocks
    }
}
