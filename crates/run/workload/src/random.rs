//! Random numbers: xoshiro256++, seeded and split by splitmix64.
//!
//! Sources: Blackman and Vigna, "Scrambled linear pseudorandom number generators" (ACM TOMS 47(4),
//! 2021) for xoshiro256++; Lemire, "Fast random integer generation in an interval" (ACM TOMACS
//! 29(1), 2019) for the multiplication that replaces the remainder. Not for cryptography.

use iolab_random::{GOLDEN_GAMMA, SplitMix64, finalize};

/// The purpose of a random decision. Each purpose has its own generator, so that one option does
/// not change the choices of others.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role {
    Direction = 1,
    Size = 2,
    Offset = 3,
    File = 4,
    Sequence = 5,
    Map = 6,
    Buffer = 7,
    Duplicate = 8,
    Priority = 9,
}

/// A separate seed for the `number`th use of a role.
#[inline]
pub(crate) const fn derive(seed: u64, role: Role, number: u64) -> u64 {
    let first = finalize(seed.wrapping_add(GOLDEN_GAMMA.wrapping_mul(role as u64)));
    finalize(first.wrapping_add(GOLDEN_GAMMA.wrapping_mul(number.wrapping_add(1))))
}

/// xoshiro256++.
#[derive(Debug, Clone)]
pub(crate) struct Generator {
    state: [u64; 4],
}

impl Generator {
    /// Accepts any seed: splitmix64 never yields four zeroes in a row.
    pub(crate) fn new(seed: u64) -> Generator {
        let mut numbers = SplitMix64::new(seed);
        Generator { state: std::array::from_fn(|_| numbers.next()) }
    }

    /// 64 random bits.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let c = c ^ a;
        let d = d ^ b;
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Uniform in `0..bound`; 0 if the bound is 0. The bias is at most `bound / 2^64`, too small to
    /// show in a run.
    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in `[0, 1)`, multiples of 2^-53.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        // Through i64, because that conversion is one instruction.
        (self.next() >> 11) as i64 as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// True with this chance.
    #[inline]
    pub(crate) fn chance(&mut self, chance: Chance) -> bool {
        (self.next() >> 1) < chance.of_two_to_63
    }
}

/// A probability, ready to be compared with 63 random bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chance {
    of_two_to_63: u64,
}

impl Chance {
    /// From percent; more than 100 is 100.
    pub(crate) fn percent(percent: u32) -> Chance {
        let share = (u128::from(percent.min(100)) << 63) / 100;
        Chance { of_two_to_63: share as u64 }
    }

    /// Whether it never happens.
    pub(crate) fn is_never(self) -> bool {
        self.of_two_to_63 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reproduces_the_reference_outputs() {
        let mut generator = Generator { state: [1, 2, 3, 4] };
        let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        assert_eq!(expected.map(|_| generator.next()), expected);
    }

    #[test]
    fn chances_hold_at_both_ends_and_between() {
        let mut generator = Generator::new(1);
        for (percent, least, most) in [(0, 0, 0), (1, 880, 1120), (50, 49_500, 50_500), (100, 100_000, 100_000)] {
            let chance = Chance::percent(percent);
            let hits = (0..100_000).filter(|_| generator.chance(chance)).count();
            assert!((least..=most).contains(&hits), "{percent} %: {hits}");
        }
    }

    #[test]
    fn bounded_numbers_are_even() {
        let mut generator = Generator::new(2);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[generator.below(7) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (9_600..=10_400).contains(count)), "{counts:?}");
        assert_eq!(generator.below(0), 0);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&generator.unit())));
    }

    #[test]
    fn roles_and_numbers_have_seeds_of_their_own() {
        let seeds = [
            derive(1, Role::Offset, 0),
            derive(1, Role::Offset, 1),
            derive(1, Role::Size, 0),
            derive(2, Role::Offset, 0),
        ];
        for (index, seed) in seeds.iter().enumerate() {
            assert!(!seeds[..index].contains(seed));
        }
    }
}
