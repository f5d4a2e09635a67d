//! Numbers from seeds, the same on every machine: plans and recordings guarantee that one seed
//! gives one sequence.
//!
//! splitmix64 is that of Steele, Lea and Flood, "Fast splittable pseudorandom number generators"
//! (OOPSLA 2014). It is not suitable for cryptography and is no source of entropy: the same seed
//! always gives the same sequence.

mod bytes;
mod mersenne;
mod permutation;

pub use bytes::fill_random;
pub use mersenne::Mersenne64;
pub use permutation::Permutation;

/// The increment of the counter of splitmix64: 2^64 divided by the golden ratio, made odd.
pub const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finalizer of splitmix64: a bijection whose output bits each depend on all input bits.
#[inline]
pub const fn finalize(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The first number of the sequence of splitmix64 that begins at `seed`.
#[inline]
pub const fn mix(seed: u64) -> u64 {
    finalize(seed.wrapping_add(GOLDEN_GAMMA))
}

/// A sequence of splitmix64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The sequence of a seed; every seed is suitable.
    pub const fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// The next 64 random bits.
    #[allow(clippy::should_implement_trait, reason = "it has no end: an iterator would answer with an `Option`")]
    #[inline]
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        finalize(self.0)
    }

    /// The next number below `bound` (0 for 0): the high half of the product, without a division.
    #[inline]
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.next() as u128 * bound as u128) >> 64) as u64
    }

    /// The next number, uniform in `(0, 1]`, a multiple of 2^-53, so that its logarithm exists.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
    }
}

/// A linear congruential generator with Knuth's constants for 64 bits (MMIX). Only its high bits
/// are random.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lcg(u64);

impl Lcg {
    /// The sequence of a seed.
    pub const fn new(seed: u64) -> Lcg {
        Lcg(seed)
    }

    /// The next state; use its high bits.
    #[allow(clippy::should_implement_trait, reason = "it has no end: an iterator would answer with an `Option`")]
    #[inline]
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What other implementations return for seed 1234567.
    #[test]
    fn splitmix_is_the_one_of_its_authors() {
        let mut random = SplitMix64::new(1_234_567);
        let known = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        for number in known {
            assert_eq!(random.next(), number);
        }
        assert_eq!(mix(1_234_567), known[0]);
        assert_eq!(mix(1_234_567_u64.wrapping_add(GOLDEN_GAMMA)), known[1]);
    }

    #[test]
    fn bounds_hold_and_are_reached() {
        let mut random = SplitMix64::new(0);
        let drawn: Vec<u64> = (0..1000).map(|_| random.below(10)).collect();
        assert!((0..10).all(|number| drawn.contains(&number)) && drawn.iter().all(|number| *number < 10));
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        assert!((0..1000).map(|_| random.unit()).all(|number| number > 0.0 && number <= 1.0));
    }

    /// Two steps of the recurrence, calculated by hand from state 0 and from the resulting state.
    #[test]
    fn the_congruential_generator_has_knuths_constants() {
        let mut random = Lcg::new(0);
        assert_eq!(random.next(), 1_442_695_040_888_963_407);
        let product = 1_442_695_040_888_963_407_u128 * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407;
        assert_eq!(random.next(), (product % (1_u128 << 64)) as u64);
    }
}
