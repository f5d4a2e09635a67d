//! Each block once, in varying sizes: random starts, a map of visited blocks, operations cut to the
//! free range.
//!
//! The unit of the map is the alignment. A start is drawn; if it has been visited, the next free
//! one is taken, wrapping around the end. If the free range is shorter than the drawn size, the
//! operation takes the free range, even if no such size was requested. Choosing among the sizes
//! that fit would turn the second half of every pass into the smallest size. Directions of equal
//! alignment share a map; otherwise each has its own.
//!
//! A map of a large file is larger than the caches, and each access would wait for memory.
//! Therefore random numbers are drawn for several operations at once and their places in the map
//! are read one right after the other, only to bring them into the cache: these waits then overlap.
//! This does not affect which blocks are chosen.

use std::hint::black_box;

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
    dice: Dice,
    /// There is a single map, and it is large.
    looks_ahead: bool,
}

/// The number of operations to draw random numbers for at once. More cache misses than a core can
/// have in flight bring no gain.
const AHEAD: usize = 16;

/// Maps of at least this size are read ahead. Smaller ones stay in the second-level cache, where
/// reading twice costs more than waiting.
const LARGE_BYTES: usize = 1 << 20;

/// Random numbers drawn ahead.
#[derive(Debug, Clone)]
struct Dice {
    thrown: [u64; AHEAD],
    used: usize,
    generator: Generator,
}

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice { thrown: [0; AHEAD], used: AHEAD, generator: Generator::new(seed) }
    }

    /// Uniform in the map's units. `ahead` says whether to read the places of later numbers in this
    /// map.
    #[inline]
    fn unit(&mut self, map: &Bitmap, ahead: bool) -> u64 {
        if self.used == AHEAD {
            self.throw(map, ahead);
        }
        let dice = self.thrown[self.used % AHEAD];
        self.used += 1;
        scaled(dice, map.count())
    }

    #[inline(never)]
    fn throw(&mut self, map: &Bitmap, ahead: bool) {
        self.thrown = std::array::from_fn(|_| self.generator.next());
        self.used = 0;
        if ahead {
            // First read all words of the drawn places, without a branch to wait for; then the
            // words that full ones lead to.
            let units = self.thrown.map(|dice| scaled(dice, map.count()));
            black_box(units.map(|unit| map.word_of(unit)));
            black_box(units.map(|unit| map.next_free(unit)));
        }
    }
}

/// A random number below `bound`.
#[inline]
fn scaled(dice: u64, bound: u64) -> u64 {
    ((u128::from(dice) * u128::from(bound)) >> 64) as u64
}

impl Mapped {
    pub(crate) fn new(shape: &Shape, lengths: &[u64]) -> Mapped {
        let shared = shape.common_align();
        let least = shape.least_of_all();
        let maps: Box<[Bitmap]> = lengths
            .iter()
            .flat_map(|length| match shared {
                Some(align) => vec![Bitmap::new(places(*length, least, align))],
                None => (0..3).map(|direction| Bitmap::new(map_size(shape, direction, *length))).collect(),
            })
            .collect();
        Mapped {
            looks_ahead: matches!(&*maps, [only] if only.memory_bytes() >= LARGE_BYTES),
            maps,
            per_file: if shared.is_some() { 1 } else { 3 },
            lengths: lengths.into(),
            align: shape.align,
            most_units: [0, 1, 2].map(|direction: usize| shape.most[direction].div_ceil(shape.align[direction])),
            dice: Dice::new(0),
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
        let unit = self.dice.unit(map, self.looks_ahead);
        let unit = map.next_free(unit).or_else(|| map.next_free(0))?;
        let align = self.align[direction];
        let free = map.free_run(unit, self.most_units[direction]);
        let offset = unit * align;
        let room = self.lengths[file] - offset;
        // Past the last unit there is less than a block, which the last operation may use.
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
        self.dice = Dice::new(derive(seed, Role::Offset, 0));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_ahead_changes_no_choice() {
        for count in [1, 63, 5_000, 100_003] {
            let mut map = Bitmap::new(count);
            for ahead in [false, true] {
                let (mut dice, mut generator) = (Dice::new(7), Generator::new(7));
                for _ in 0..5 * AHEAD {
                    let unit = dice.unit(&map, ahead);
                    assert_eq!(unit, generator.below(count));
                    map.set(unit, 1);
                }
            }
        }
    }
}
