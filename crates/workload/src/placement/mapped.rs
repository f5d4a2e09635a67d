//! Each block once where sizes vary: random starts, a map of what has been visited, operations cut to what is free.
//!
//! The unit of the map is the alignment. A start is drawn; if it has been visited, the next free one is taken, around
//! the end. A size that finds less free than it needs takes what there is, even where no such size was asked for:
//! choosing among the sizes that fit would turn the second half of every pass into the smallest size. Directions of
//! equal alignment share a map, else each has its own.

use super::{Placement, Spot};
use crate::bitmap::Bitmap;
use crate::random::{Generator, Role, derive};
use crate::shape::{Shape, places};

/// Maps of all files.
#[derive(Debug, Clone)]
pub(crate) struct Mapped {
    /// For each file, one map or three.
    maps: Box<[Bitmap]>,
    per_file: usize,
    lengths: Box<[u64]>,
    align: [u64; 3],
    /// The longest operation, in units.
    most_units: [u64; 3],
    generator: Generator,
}

impl Mapped {
    pub(crate) fn new(shape: &Shape, lengths: &[u64]) -> Mapped {
        let shared = shape.common_align();
        let least = shape.least_of_all();
        let maps = lengths.iter().flat_map(|length| match shared {
            Some(align) => vec![Bitmap::new(places(*length, least, align))],
            None => (0..3).map(|direction| Bitmap::new(map_size(shape, direction, *length))).collect(),
        });
        Mapped {
            maps: maps.collect(),
            per_file: if shared.is_some() { 1 } else { 3 },
            lengths: lengths.into(),
            align: shape.align,
            most_units: [0, 1, 2].map(|direction: usize| shape.most[direction].div_ceil(shape.align[direction])),
            generator: Generator::new(0),
        }
    }

    #[inline]
    fn map_of(&self, file: usize, direction: usize) -> usize {
        if self.per_file == 1 { file } else { file * 3 + direction }
    }
}

/// Directions that do not occur need no map.
fn map_size(shape: &Shape, direction: usize, length: u64) -> u64 {
    let used = shape.used.iter().any(|used| used.index() == direction);
    if used { shape.places(direction, length) } else { 0 }
}

impl Placement for Mapped {
    fn is_endless(&self) -> bool {
        false
    }

    #[inline]
    fn place(&mut self, file: usize, direction: usize) -> Option<Spot> {
        let map = &self.maps[if self.per_file == 1 { file } else { file * 3 + direction }];
        let unit = self.generator.below(map.count());
        let unit = map.next_free(unit).or_else(|| map.next_free(0))?;
        let align = self.align[direction];
        let free = map.free_run(unit, self.most_units[direction]);
        let offset = unit * align;
        let room = self.lengths[file] - offset;
        // Past the last unit there is less than a block, which the last operation may have.
        let free = if unit + free == map.count() { room } else { room.min(free * align) };
        Some(Spot { offset, room, free, random: true })
    }

    #[inline]
    fn commit(&mut self, file: usize, direction: usize, offset: u64, length: u64) {
        let align = self.align[direction];
        let map = self.map_of(file, direction);
        self.maps[map].set(offset / align, length.div_ceil(align));
    }

    fn reseed(&mut self, seed: u64) {
        self.generator = Generator::new(derive(seed, Role::Offset, 0));
    }

    fn begin(&mut self, file: usize, _seed: u64) {
        for map in &mut self.maps[file * self.per_file..(file + 1) * self.per_file] {
            map.clear();
        }
    }

    fn memory_bytes(&self) -> usize {
        self.maps.iter().map(Bitmap::memory_bytes).sum::<usize>() + self.lengths.len() * 8
    }
}
