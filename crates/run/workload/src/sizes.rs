//! How many bytes an operation moves.
//!
//! Guarantees: never 0, and never more than the given room, provided that the room fits the
//! direction's smallest size.

use iolab_plan::{BlockSizes, WorkloadPlan};

use crate::random::{Generator, Role, derive};

/// Chooses sizes.
pub(crate) trait Sizes: Send {
    /// Bytes of the next operation of a direction, given the room at its offset.
    fn draw(&mut self, direction: usize, random: bool, room: u64) -> u64;
    /// Begins a pass.
    fn reseed(&mut self, seed: u64);
}

/// One size per direction.
#[derive(Debug, Clone)]
pub(crate) struct FixedSizes(pub(crate) [u64; 3]);

impl Sizes for FixedSizes {
    #[inline]
    fn draw(&mut self, direction: usize, _random: bool, _room: u64) -> u64 {
        self.0[direction]
    }

    fn reseed(&mut self, _seed: u64) {}
}

/// Ranges and splits.
#[derive(Debug)]
pub(crate) struct DrawnSizes {
    drawers: [Drawer; 3],
    by_randomness: bool,
    generator: Generator,
}

#[derive(Debug)]
enum Drawer {
    /// `unit` times 1 to `most / unit`, or any number from `least` to `most` with a unit of 1.
    Range { least: u64, most: u64, unit: u64, steps: u64 },
    /// One entry per share, sizes ascending, so that what fits into little room is a prefix.
    Split(Box<[u32]>),
}

impl DrawnSizes {
    pub(crate) fn new(plan: &WorkloadPlan) -> DrawnSizes {
        DrawnSizes {
            drawers: [0, 1, 2].map(|index: usize| Drawer::new(&plan.block_sizes[index], plan.unaligned_sizes)),
            by_randomness: plan.sizes_by_randomness,
            generator: Generator::new(derive(plan.seed, Role::Size, 0)),
        }
    }
}

impl Sizes for DrawnSizes {
    #[inline]
    fn draw(&mut self, direction: usize, random: bool, room: u64) -> u64 {
        let which = if self.by_randomness { usize::from(random) } else { direction };
        self.drawers[which].draw(&mut self.generator, room)
    }

    fn reseed(&mut self, seed: u64) {
        self.generator = Generator::new(derive(seed, Role::Size, 0));
    }
}

impl Drawer {
    fn new(sizes: &BlockSizes, unaligned: bool) -> Drawer {
        let range = |least: u64, most: u64, unit: u64| {
            let steps = most.saturating_sub(least) / unit.max(1);
            Drawer::Range { least, most: least + steps * unit, unit, steps }
        };
        match sizes {
            BlockSizes::Fixed(bytes) => range(*bytes, *bytes, *bytes),
            BlockSizes::Range { min, max } => range(*min, *max, if unaligned { 1 } else { *min }),
            BlockSizes::Split(parts) => {
                let mut sorted: Vec<(u64, u32)> = parts.clone();
                sorted.sort_unstable();
                let entries = sorted.into_iter().flat_map(|(bytes, share)| (0..share).map(move |_| bytes as u32));
                Drawer::Split(entries.collect())
            }
        }
    }

    #[inline]
    fn draw(&self, generator: &mut Generator, room: u64) -> u64 {
        match self {
            Drawer::Range { least, most, unit, steps } => {
                // Divide only near the end of a file or of free space: a division costs more than
                // all the rest.
                let steps = if room < *most { room.saturating_sub(*least) / unit } else { *steps };
                least + generator.below(steps + 1) * unit
            }
            Drawer::Split(entries) => {
                let fits = match entries.last() {
                    Some(last) if u64::from(*last) > room => fitting(entries, room),
                    _ => entries.len(),
                };
                let index = generator.below(fits as u64) as usize;
                entries.get(index).map_or(0, |bytes| u64::from(*bytes))
            }
        }
    }
}

/// How many entries fit. At least one is offered, because the placement ensured room for the
/// smallest.
#[cold]
fn fitting(entries: &[u32], room: u64) -> usize {
    entries.partition_point(|bytes| u64::from(*bytes) <= room).max(1)
}
