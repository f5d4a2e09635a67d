//! Uniform offsets: with repetitions, or each place once per pass.

use super::{Placement, Spot};
use crate::permutation::Walk;
use crate::random::{Generator, Role, derive};
use crate::shape::Shape;

/// Every aligned place with equal probability, independent of earlier visits (`norandommap`).
#[derive(Debug, Clone)]
pub(crate) struct Uniform {
    files: Box<[FilePlaces]>,
    align: [u64; 3],
    generator: Generator,
}

#[derive(Debug, Clone)]
struct FilePlaces {
    places: [u64; 3],
    length: u64,
}

impl Uniform {
    pub(crate) fn new(shape: &Shape, lengths: &[u64]) -> Uniform {
        let places = |length: u64| [0, 1, 2].map(|direction| shape.places(direction, length));
        let files = lengths.iter().map(|length| FilePlaces { places: places(*length), length: *length }).collect();
        Uniform { files, align: shape.align, generator: Generator::new(0) }
    }
}

impl Placement for Uniform {
    fn is_endless(&self) -> bool {
        true
    }

    #[inline(always)]
    fn place(&mut self, file: usize, direction: usize) -> Option<Spot> {
        let FilePlaces { places, length } = &self.files[file];
        let offset = self.generator.below(places[direction]) * self.align[direction];
        Some(Spot { offset, room: length - offset, free: length - offset, random: true })
    }

    #[inline]
    fn commit(&mut self, _file: usize, _direction: usize, _offset: u64, _length: u64) {}

    fn reseed(&mut self, seed: u64) {
        self.generator = Generator::new(derive(seed, Role::Offset, 0));
    }

    fn begin(&mut self, _file: usize, _seed: u64) {}

    fn memory_bytes(&self) -> usize {
        std::mem::size_of_val(&*self.files)
    }
}

/// Every aligned place once, in an order that needs no map.
///
/// Directions of equal shape share one walk, so that a mix covers each block once in total;
/// otherwise each direction covers its own.
#[derive(Debug, Clone)]
pub(crate) struct Once<W> {
    /// For each file, one walk or three.
    walks: Box<[W]>,
    per_file: usize,
    lengths: Box<[u64]>,
    shape: Shape,
}

impl<W: Walk> Once<W> {
    pub(crate) fn new(shape: &Shape, lengths: &[u64]) -> Once<W> {
        let per_file = if shape.is_alike() { 1 } else { 3 };
        let walks = lengths.iter().flat_map(|_| (0..per_file).map(|_| W::new(0, 0))).collect();
        Once { walks, per_file, lengths: lengths.into(), shape: shape.clone() }
    }
}

impl<W: Walk> Placement for Once<W> {
    fn is_endless(&self) -> bool {
        false
    }

    #[inline(always)]
    fn place(&mut self, file: usize, direction: usize) -> Option<Spot> {
        let walk = if self.per_file == 1 { file } else { file * 3 + direction };
        let offset = self.walks[walk].next()? * self.shape.align[direction];
        let room = self.lengths[file] - offset;
        Some(Spot { offset, room, free: room, random: true })
    }

    #[inline]
    fn commit(&mut self, _file: usize, _direction: usize, _offset: u64, _length: u64) {}

    fn reseed(&mut self, _seed: u64) {}

    fn begin(&mut self, file: usize, seed: u64) {
        let length = self.lengths[file];
        if self.per_file == 1 {
            let places = self.shape.used.first().map_or(0, |direction| self.shape.places(direction.index(), length));
            self.walks[file] = W::new(places, derive(seed, Role::Map, 0));
            return;
        }
        for direction in 0..3 {
            let places = self.shape.places(direction, length);
            self.walks[file * 3 + direction] = W::new(places, derive(seed, Role::Map, direction as u64));
        }
    }

    fn memory_bytes(&self) -> usize {
        std::mem::size_of_val(&*self.walks) + self.lengths.len() * 8
    }
}
