//! Fills an SSD so that it is as if random writes had gone on for long (`sprandom`, "SanDisk
//! pseudo-random"): one pass over the flash instead of several.
//!
//! In the steady state of random writes, the flash that was written last holds the most valid data,
//! and the flash that is cleaned next the least. The pass makes the same distribution: it divides
//! the flash (the blocks and their over-provisioning) into regions, writes each block once in
//! random order, and writes some blocks of each region again in the region that follows, so that
//! the first copy is invalid.
//!
//! How much of a region is to be invalid follows from a log that is cleaned in the order in which
//! it was written. Let `a` be the flash divided by the blocks, and `w` the write amplification. One
//! turn of the log takes `a / w` host writes for each block, so a page of age `x` (0: just written,
//! 1: cleaned next) is still valid with the probability `exp(-x a / w)`. The mean over all ages has
//! to be `1 / a`, which gives `w (1 - exp(-a / w)) = 1`. Xiang and Kurkoski, "An Improved Analytic
//! Expression for Write Amplification in NAND Flash" (ICNC 2012), solve it by Lambert's function
//! and compare it with simulations.

use iolab_plan::SprandomPlan;

use super::{Placement, Spot};
use crate::permutation::Walk;
use crate::random::{Generator, Role, derive};
use crate::shape::Shape;

/// One pass over the regions of each file.
#[derive(Debug)]
pub(crate) struct Sprandom<W> {
    files: Box<[Fill<W>]>,
    block_bytes: u64,
    lengths: Box<[u64]>,
}

impl<W: Walk> Sprandom<W> {
    /// All operations are writes of one size, which is also their alignment.
    pub(crate) fn new(plan: &SprandomPlan, shape: &Shape, lengths: &[u64]) -> Sprandom<W> {
        let block_bytes = shape.most_of_all();
        let fill = |length: &u64| Fill::new(plan, length / block_bytes);
        Sprandom { files: lengths.iter().map(fill).collect(), block_bytes, lengths: lengths.into() }
    }
}

impl<W: Walk> Placement for Sprandom<W> {
    fn is_endless(&self) -> bool {
        false
    }

    #[inline]
    fn place(&mut self, file: usize, _direction: usize) -> Option<Spot> {
        let offset = self.files[file].next()? * self.block_bytes;
        let room = self.lengths[file] - offset;
        Some(Spot { offset, room, free: room, random: true })
    }

    #[inline]
    fn commit(&mut self, _file: usize, _direction: usize, _offset: u64, _length: u64) {}

    fn reseed(&mut self, _seed: u64) {}

    fn begin(&mut self, file: usize, seed: u64) {
        self.files[file].begin(seed);
    }

    fn memory_bytes(&self) -> usize {
        self.files.iter().map(Fill::memory_bytes).sum::<usize>() + self.lengths.len() * 8
    }
}

/// The pass over one file.
#[derive(Debug)]
struct Fill<W> {
    blocks: u64,
    /// All writes of the pass.
    writes: u64,
    /// For each region, how many of its writes become invalid in the next one.
    invalid: Box<[u64]>,
    /// Blocks are written again at the end of the next region, not at its beginning.
    late: bool,
    walk: W,
    generator: Generator,
    region: usize,
    /// Writes of this region.
    written: u64,
    /// Blocks of the region before that are written again in this one, and how many have been.
    pending: Vec<u64>,
    rewritten: usize,
    /// Blocks of this region that will be written again in the next one.
    chosen: Vec<u64>,
}

impl<W: Walk> Fill<W> {
    fn new(plan: &SprandomPlan, blocks: u64) -> Fill<W> {
        let writes = plan.writes(blocks);
        let invalid = invalid_writes(blocks, writes, plan.regions as usize);
        let most = invalid.iter().copied().max().unwrap_or(0) as usize;
        Fill {
            blocks,
            writes,
            invalid,
            late: plan.cache_bytes > 0,
            walk: W::new(0, 0),
            generator: Generator::new(0),
            region: 0,
            written: 0,
            pending: Vec::with_capacity(most),
            rewritten: 0,
            chosen: Vec::with_capacity(most),
        }
    }

    fn begin(&mut self, seed: u64) {
        self.walk = W::new(self.blocks, derive(seed, Role::Map, 0));
        self.generator = Generator::new(derive(seed, Role::Offset, 0));
        self.region = 0;
        self.written = 0;
        self.pending.clear();
        self.rewritten = 0;
        self.chosen.clear();
    }

    /// The next block.
    fn next(&mut self) -> Option<u64> {
        let regions = self.invalid.len();
        while self.region < regions && self.written == region_writes(self.writes, regions, self.region) {
            self.region += 1;
            self.written = 0;
            std::mem::swap(&mut self.pending, &mut self.chosen);
            self.chosen.clear();
            self.rewritten = 0;
        }
        let invalid = *self.invalid.get(self.region)?;
        let left = region_writes(self.writes, regions, self.region) - self.written;
        let again = (self.pending.len() - self.rewritten) as u64;
        let block = if again > 0 && (!self.late || left <= again) {
            self.rewritten += 1;
            self.pending[self.rewritten - 1]
        } else {
            self.walk.next()?
        };
        // Exactly `invalid` of the region's writes, each with the same chance: Knuth, "The Art of
        // Computer Programming", volume 2, section 3.4.2, algorithm S.
        if self.generator.below(left) < invalid - self.chosen.len() as u64 {
            self.chosen.push(block);
        }
        self.written += 1;
        Some(block)
    }

    fn memory_bytes(&self) -> usize {
        (self.invalid.len() + self.pending.capacity() + self.chosen.capacity()) * 8
    }
}

/// Writes of one region: the pass is divided evenly.
fn region_writes(writes: u64, regions: usize, region: usize) -> u64 {
    let until = |region: usize| (u128::from(writes) * region as u128 / regions as u128) as u64;
    until(region + 1) - until(region)
}

/// For each region, how many of its writes become invalid in the next one: all writes that exceed
/// the blocks, in the proportion of the steady state. None for the last region, which nothing
/// follows.
fn invalid_writes(blocks: u64, writes: u64, regions: usize) -> Box<[u64]> {
    let amplification = write_amplification(writes as f64 / blocks.max(1) as f64);
    let turn = writes as f64 / blocks.max(1) as f64 / amplification;
    let share = |region: usize| {
        let age = ((regions - region) as f64 - 0.5) / regions as f64;
        if region + 1 == regions { 0.0 } else { 1.0 - (-age * turn).exp() }
    };
    let all: f64 = (0..regions).map(share).sum();
    let (mut shares, mut given) = (0.0, 0);
    (0..regions)
        .map(|region| {
            shares += share(region);
            let until = if all > 0.0 { ((writes - blocks) as f64 * shares / all).round() as u64 } else { 0 };
            let following = if region + 1 == regions { 0 } else { region_writes(writes, regions, region + 1) };
            let invalid = (until - given).min(region_writes(writes, regions, region)).min(following);
            given += invalid;
            invalid
        })
        .collect()
}

/// The write amplification of a log that is cleaned in order of age, from its flash divided by its
/// blocks; infinite without over-provisioning.
fn write_amplification(flash: f64) -> f64 {
    if flash <= 1.0 {
        return f64::INFINITY;
    }
    // `u = 1 / w` solves `1 - exp(-a u) = u`. The difference of the sides is positive below the
    // solution and negative above it.
    let (mut low, mut high) = (f64::MIN_POSITIVE, 1.0);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if 1.0 - (-flash * middle).exp() > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    1.0 / low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permutation::PermutedWalk;

    fn plan(over_provisioning: f64, regions: u32, cache_bytes: u64) -> SprandomPlan {
        SprandomPlan { over_provisioning, regions, cache_bytes }
    }

    fn order(plan: &SprandomPlan, blocks: u64) -> Vec<u64> {
        let mut fill = Fill::<PermutedWalk>::new(plan, blocks);
        fill.begin(7);
        let memory = fill.memory_bytes();
        let order: Vec<u64> = std::iter::from_fn(|| fill.next()).collect();
        assert_eq!(fill.memory_bytes(), memory, "nothing is allocated on the way");
        assert_eq!(fill.next(), None);
        order
    }

    #[test]
    fn amplification_is_that_of_the_literature() {
        // Xiang and Kurkoski (see above), abstract: 2.36 at an over-provisioning of 0.3.
        assert_eq!((write_amplification(1.3) * 100.0).round(), 236.0);
        for flash in [1.01, 1.07, 1.28, 2.0] {
            let found = write_amplification(flash);
            assert!((found * (1.0 - (-flash / found).exp()) - 1.0).abs() < 1e-9, "{flash}: {found}");
        }
    }

    #[test]
    fn every_block_is_written_and_the_whole_flash_is_used() {
        for (over_provisioning, regions, cache_bytes, blocks) in
            [(0.15, 100, 0, 10_000), (0.15, 100, 1, 10_000), (0.07, 7, 0, 999), (1.0, 2, 0, 64), (1.0, 50, 1, 5_003)]
        {
            let plan = plan(over_provisioning, regions, cache_bytes);
            let order = order(&plan, blocks);
            assert_eq!(order.len() as u64, plan.writes(blocks), "{plan:?}");
            let mut seen = vec![false; blocks as usize];
            order.iter().for_each(|block| seen[*block as usize] = true);
            assert!(seen.iter().all(|seen| *seen), "{plan:?}");
        }
    }

    /// The valid share of each region after the pass is that of the steady state.
    #[test]
    fn regions_are_as_valid_as_in_the_steady_state() {
        let (blocks, regions) = (200_000, 50);
        let plan = plan(0.28, regions as u32, 0);
        let order = order(&plan, blocks);
        let mut last = vec![0; blocks as usize];
        order.iter().enumerate().for_each(|(place, block)| last[*block as usize] = place);
        let turn = 1.28 / write_amplification(1.28);
        for region in 0..regions - 1 {
            let (from, until) = (order.len() * region / regions, order.len() * (region + 1) / regions);
            let valid = (from..until).filter(|place| last[order[*place] as usize] == *place).count();
            let share = valid as f64 / (until - from) as f64;
            let expected = (-((regions - region) as f64 - 0.5) / regions as f64 * turn).exp();
            assert!((share - expected).abs() < 0.015, "region {region}: {share} instead of {expected}");
        }
    }

    #[test]
    fn with_a_cache_a_region_lies_between_the_two_writes_of_a_block() {
        for cache_bytes in [0, 1] {
            let plan = plan(0.5, 20, cache_bytes);
            let order = order(&plan, 20_000);
            let mut last = vec![None; 20_000];
            let mut least = usize::MAX;
            for (place, block) in order.iter().enumerate() {
                if let Some(before) = last[*block as usize].replace(place) {
                    least = least.min(place - before);
                }
            }
            assert_eq!(least >= order.len() / 20 / 2, cache_bytes > 0, "{least}");
        }
    }
}
