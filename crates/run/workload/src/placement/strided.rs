//! `zonemode=strided`: a given number of bytes of I/O within a zone, then the next zone.
//!
//! ```text
//!   |── range ──|── skip ──|── range ──|── skip ──|── tail ─|
//! ```
//!
//! The inner placement sees each zone as a separate file; the last zone of a file may be shorter. A
//! zone begins again if its places are used up before its bytes. The first zone follows the last: a
//! file never ends.

use iolab_plan::StridePlan;

use super::{Placement, Spot};
use crate::random::{Role, derive};
use crate::shape::Shape;

/// Moves an inner placement from zone to zone.
pub(crate) struct Strided {
    within: Box<dyn Placement>,
    plan: StridePlan,
    least: u64,
    files: Box<[Position]>,
    seed: u64,
    /// Counts starts, so that each has its own seed.
    begun: u64,
}

#[derive(Debug, Clone, Copy)]
struct Position {
    length: u64,
    zone_start: u64,
    moved: u64,
}

impl Strided {
    /// File lengths for the inner placement: of a whole zone and of the tail, for each file.
    pub(crate) fn zone_lengths(plan: &StridePlan, least: u64, lengths: &[u64]) -> Vec<u64> {
        lengths.iter().flat_map(|length| [plan.range_bytes.min(*length), tail(plan, least, *length)]).collect()
    }

    pub(crate) fn new(plan: StridePlan, shape: &Shape, lengths: &[u64], within: Box<dyn Placement>) -> Strided {
        let files = lengths.iter().map(|length| Position { length: *length, zone_start: 0, moved: 0 }).collect();
        Strided { within, plan, least: shape.least_of_all(), files, seed: 0, begun: 0 }
    }

    fn step(&self) -> u64 {
        self.plan.range_bytes.saturating_add(self.plan.skip_bytes)
    }

    /// The inner placement's file number of the current zone.
    #[inline]
    fn zone_index(&self, file: usize) -> usize {
        let position = &self.files[file];
        let is_tail = position.zone_start > 0 && position.length - position.zone_start < self.plan.range_bytes;
        file * 2 + usize::from(is_tail)
    }

    fn advance(&mut self, file: usize) {
        let step = self.step();
        let least = self.least;
        let position = &mut self.files[file];
        position.moved = 0;
        let next = position.zone_start.saturating_add(step);
        position.zone_start = if next.saturating_add(least) <= position.length { next } else { 0 };
        self.begin_zone(file);
    }

    fn begin_zone(&mut self, file: usize) {
        self.begun += 1;
        let seed = derive(self.seed, Role::Map, self.begun);
        let zone = self.zone_index(file);
        self.within.begin(zone, seed);
    }
}

/// Length of the last zone if it is shorter than a whole one.
fn tail(plan: &StridePlan, least: u64, length: u64) -> u64 {
    let step = plan.range_bytes.saturating_add(plan.skip_bytes).max(1);
    let last = length.saturating_sub(least) / step * step;
    (length - last).min(plan.range_bytes)
}

impl Placement for Strided {
    fn is_endless(&self) -> bool {
        true
    }

    #[inline]
    fn place(&mut self, file: usize, direction: usize) -> Option<Spot> {
        let zone_bytes = if self.plan.zone_bytes == 0 { self.plan.range_bytes } else { self.plan.zone_bytes };
        if self.files[file].moved >= zone_bytes {
            self.advance(file);
        }
        let zone = self.zone_index(file);
        let mut spot = self.within.place(zone, direction);
        if spot.is_none() {
            self.begin_zone(file);
            spot = self.within.place(zone, direction);
        }
        let spot = spot?;
        Some(Spot { offset: spot.offset + self.files[file].zone_start, ..spot })
    }

    #[inline]
    fn commit(&mut self, file: usize, direction: usize, offset: u64, length: u64) {
        let zone = self.zone_index(file);
        let position = &mut self.files[file];
        position.moved += length;
        let within = offset - position.zone_start;
        self.within.commit(zone, direction, within, length);
    }

    fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        self.begun = 0;
        self.within.reseed(seed);
    }

    fn begin(&mut self, file: usize, seed: u64) {
        let position = &mut self.files[file];
        (position.zone_start, position.moved) = (0, 0);
        self.seed = seed;
        self.begin_zone(file);
    }

    fn memory_bytes(&self) -> usize {
        std::mem::size_of_val(&*self.files) + self.within.memory_bytes()
    }
}
