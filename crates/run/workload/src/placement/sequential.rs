//! Sequential offsets: each direction goes through each file separately.

use super::{Placement, Spot};
use crate::shape::Shape;

/// Without gaps, from the start of the extent to its last whole block.
#[derive(Debug, Clone)]
pub(crate) struct Sequential {
    next: Box<[[u64; 3]]>,
    lengths: Box<[u64]>,
    least: [u64; 3],
}

impl Sequential {
    pub(crate) fn new(shape: &Shape, lengths: &[u64]) -> Sequential {
        Sequential { next: vec![[0; 3]; lengths.len()].into(), lengths: lengths.into(), least: shape.least }
    }
}

impl Placement for Sequential {
    fn is_endless(&self) -> bool {
        false
    }

    #[inline(always)]
    fn place(&mut self, file: usize, direction: usize) -> Option<Spot> {
        let offset = self.next[file][direction];
        let room = self.lengths[file].saturating_sub(offset);
        (room >= self.least[direction]).then_some(Spot { offset, room, free: room, random: false })
    }

    #[inline]
    fn commit(&mut self, file: usize, direction: usize, offset: u64, length: u64) {
        self.next[file][direction] = offset + length;
    }

    fn reseed(&mut self, _seed: u64) {}

    fn begin(&mut self, file: usize, _seed: u64) {
        self.next[file] = [0; 3];
    }

    fn memory_bytes(&self) -> usize {
        self.lengths.len() * 32
    }
}

/// With a number added to each next offset (`rw=read:8k`): holes, or backwards if it is negative.
///
/// At the end of the file, forward streams begin again at its start. Backward streams begin one
/// step before its end, as in fio. Neither ever ends.
#[derive(Debug, Clone)]
pub(crate) struct Skipping {
    /// Where the last operation ended; `None` before the first.
    ends: Box<[[Option<u64>; 3]]>,
    lengths: Box<[u64]>,
    least: [u64; 3],
    skip_bytes: i64,
}

impl Skipping {
    pub(crate) fn new(shape: &Shape, lengths: &[u64], skip_bytes: i64) -> Skipping {
        let ends = vec![[None; 3]; lengths.len()].into();
        Skipping { ends, lengths: lengths.into(), least: shape.least, skip_bytes }
    }

    /// Where a stream begins.
    fn first(&self, length: u64, least: u64) -> u64 {
        let back = self.skip_bytes.unsigned_abs();
        if self.skip_bytes >= 0 || back <= least { 0 } else { length.saturating_sub(back) }
    }
}

impl Placement for Skipping {
    fn is_endless(&self) -> bool {
        true
    }

    #[inline(always)]
    fn place(&mut self, file: usize, direction: usize) -> Option<Spot> {
        let (length, least) = (self.lengths[file], self.least[direction]);
        let fits = |offset: &u64| offset.saturating_add(least) <= length;
        let stepped = self.ends[file][direction].and_then(|end| end.checked_add_signed(self.skip_bytes));
        let offset = match stepped.filter(fits) {
            Some(offset) => offset,
            None => self.first(length, least),
        };
        fits(&offset).then(|| Spot { offset, room: length - offset, free: length - offset, random: false })
    }

    #[inline]
    fn commit(&mut self, file: usize, direction: usize, offset: u64, length: u64) {
        self.ends[file][direction] = Some(offset + length);
    }

    fn reseed(&mut self, _seed: u64) {}

    fn begin(&mut self, file: usize, _seed: u64) {
        self.ends[file] = [None; 3];
    }

    fn memory_bytes(&self) -> usize {
        self.lengths.len() * 56
    }
}
