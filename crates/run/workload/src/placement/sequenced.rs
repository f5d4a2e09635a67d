//! Combines random and sequential offsets: `:N` with `rw_sequencer`, and `percentage_random`.
//!
//! One operation in N asks the inner placement, with the probability of `percentage_random`. The
//! others follow the last operation of their file and direction, or repeat its offset. As in fio,
//! they do not count as visits in a random map.

use iolab_plan::{Sequencer, WorkloadPlan};

use super::{Placement, Spot};
use crate::random::{Chance, Generator, Role, derive};
use crate::shape::Shape;

/// The inner placement, and the rule between its decisions.
pub(crate) struct Sequenced {
    within: Box<dyn Placement>,
    /// Start and end of the last operation.
    last: Box<[[(u64, u64); 3]]>,
    lengths: Box<[u64]>,
    least: [u64; 3],
    every: u32,
    /// Operations before the next decision.
    left: u32,
    sequencer: Sequencer,
    chances: [Chance; 3],
    /// The last offer came from the inner placement.
    decided: bool,
    generator: Generator,
}

impl Sequenced {
    pub(crate) fn new(plan: &WorkloadPlan, shape: &Shape, lengths: &[u64], within: Box<dyn Placement>) -> Sequenced {
        let percent = |percent: u32| Chance::percent(if plan.pattern.random { percent } else { 100 });
        Sequenced {
            within,
            last: vec![[(0, 0); 3]; lengths.len()].into(),
            lengths: lengths.into(),
            least: shape.least,
            every: plan.pattern.every.max(1),
            left: 0,
            sequencer: plan.pattern.sequencer,
            chances: plan.random_percent.map(percent),
            decided: false,
            generator: Generator::new(0),
        }
    }

    /// The place that follows the last operation.
    #[inline]
    fn following(&self, file: usize, direction: usize, identical: bool) -> Option<Spot> {
        let (start, end) = self.last[file][direction];
        let offset = if identical { start } else { end };
        let room = self.lengths[file].saturating_sub(offset);
        (room >= self.least[direction]).then_some(Spot { offset, room, free: room, random: false })
    }
}

impl Placement for Sequenced {
    fn is_endless(&self) -> bool {
        self.within.is_endless() && !self.chances.iter().any(|chance| chance.is_never())
    }

    #[inline]
    fn place(&mut self, file: usize, direction: usize) -> Option<Spot> {
        self.decided = false;
        let chance = self.chances[direction];
        if self.left > 0 {
            let identical = self.sequencer == Sequencer::Identical;
            if let Some(spot) = self.following(file, direction, identical) {
                return Some(spot);
            }
        } else if !self.generator.chance(chance) {
            let following = self.following(file, direction, false);
            // A stream that is never random ends with its file; any other continues elsewhere.
            if following.is_some() || chance.is_never() {
                return following;
            }
        }
        if chance.is_never() {
            return None;
        }
        self.decided = true;
        self.within.place(file, direction)
    }

    #[inline]
    fn commit(&mut self, file: usize, direction: usize, offset: u64, length: u64) {
        if self.decided {
            self.within.commit(file, direction, offset, length);
        }
        self.last[file][direction] = (offset, offset + length);
        self.left = if self.left == 0 { self.every - 1 } else { self.left - 1 };
    }

    fn reseed(&mut self, seed: u64) {
        self.generator = Generator::new(derive(seed, Role::Sequence, 0));
        self.left = 0;
        self.within.reseed(seed);
    }

    fn begin(&mut self, file: usize, seed: u64) {
        self.last[file] = [(0, 0); 3];
        self.within.begin(file, seed);
    }

    fn memory_bytes(&self) -> usize {
        std::mem::size_of_val(&*self.last) + self.lengths.len() * 8 + self.within.memory_bytes()
    }
}
