//! The walk through a range in the order of a permutation.
//!
//! This replaces a bitmap of visited blocks if all blocks have the same size. The n-th operation
//! uses the image of n, so that memory and cost are the same for the first and the last block of a
//! pass.

use iolab_random::Permutation;

use crate::random::Generator;

/// A bijection of at least `count` numbers, chosen by the seed.
pub(crate) fn permutation(count: u64, seed: u64) -> Permutation {
    let mut generator = Generator::new(seed);
    Permutation::new(count, || generator.next())
}

/// An order in which every number below a count occurs once.
pub(crate) trait Walk: Send {
    /// Begins a walk over `0..count`.
    fn new(count: u64, seed: u64) -> Self;
    /// The next number; `None` after the last.
    fn next(&mut self) -> Option<u64>;
}

/// The numbers in the order of a [`Permutation`].
#[derive(Debug, Clone)]
pub(crate) struct PermutedWalk {
    permutation: Permutation,
    count: u64,
    left: u64,
    counter: u64,
}

impl Walk for PermutedWalk {
    fn new(count: u64, seed: u64) -> PermutedWalk {
        PermutedWalk { permutation: permutation(count, seed), count, left: count, counter: 0 }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        loop {
            debug_assert!(self.counter <= self.permutation.last());
            let value = self.permutation.image(self.counter);
            self.counter += 1;
            if value < self.count {
                return Some(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_covered_once() {
        for count in (1..=70).chain([100, 127, 128, 129, 1000, 4096, 99_991]) {
            for seed in [0, 1, 77] {
                let mut walk = PermutedWalk::new(count, seed);
                let mut seen = vec![false; count as usize];
                for _ in 0..count {
                    let number = walk.next().expect("the walk is as long as the count") as usize;
                    assert!(!std::mem::replace(&mut seen[number], true), "{number} twice of {count}");
                }
                assert_eq!(walk.next(), None);
                let scattered = permutation(count, seed);
                let mut images: Vec<u64> = (0..count).map(|number| scattered.image_below(number, count)).collect();
                images.sort_unstable();
                assert!(images.iter().copied().eq(0..count));
            }
        }
    }

    #[test]
    fn order_looks_random() {
        for (count, seed) in [(1 << 16, 5), (1 << 20, 6), (100_003, 7), (1 << 28, 8)] {
            let mut walk = PermutedWalk::new(count, seed);
            // A grid of 64 x 64: the place of an operation against the place of the one before.
            let mut cells = vec![0_u32; 64 * 64];
            let mut previous = walk.next().expect("not empty");
            let draws = 64_000;
            for _ in 0..draws {
                let number = walk.next().expect("long enough");
                cells[((previous * 64 / count) * 64 + number * 64 / count) as usize] += 1;
                previous = number;
            }
            let expected = f64::from(draws) / 4096.0;
            let chi: f64 = cells.iter().map(|cell| (f64::from(*cell) - expected).powi(2) / expected).sum();
            // 4095 degrees of freedom: mean 4095, deviation 90.5.
            assert!((3600.0..4600.0).contains(&chi), "{count}: {chi}");
        }
    }

    #[test]
    fn seeds_give_different_orders() {
        let first: Vec<u64> = (0..32).map(|number| permutation(1 << 20, 1).image(number)).collect();
        let other: Vec<u64> = (0..32).map(|number| permutation(1 << 20, 2).image(number)).collect();
        assert!(first.iter().zip(&other).filter(|(a, b)| a == b).count() < 2);
    }
}
