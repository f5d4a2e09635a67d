//! A keyed bijection of the numbers below a power of two.
//!
//! Each round (exclusive-or with a key, multiplication by an odd number, folding of the high half
//! onto the low) is a bijection of k-bit numbers. The idea of a hashed index as permutation, which
//! skips indices outside the range, is from Kensler, "Correlated Multi-Jittered Sampling" (Pixar
//! Technical Memo 13-01, 2013), and from Black and Rogaway, "Ciphers with Arbitrary Finite Domains"
//! (CT-RSA 2002). Not for cryptography.

const ROUNDS: usize = 3;

/// A bijection of `0..2^bits`.
#[derive(Debug, Clone)]
pub struct Permutation {
    keys: [u64; ROUNDS],
    factors: [u64; ROUNDS],
    mask: u64,
    shift: u32,
}

impl Permutation {
    /// A bijection of at least `count` numbers, chosen by random bits.
    pub fn new(count: u64, mut random_bits: impl FnMut() -> u64) -> Permutation {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let mask = if bits == 0 { 0 } else { u64::MAX >> (u64::BITS - bits) };
        Permutation {
            keys: std::array::from_fn(|_| random_bits() & mask),
            // 5 modulo 8 gives the low bits the longest cycles, as in a linear congruential
            // generator.
            factors: std::array::from_fn(|_| (random_bits() & !7) | 5),
            mask,
            shift: bits.div_ceil(2).max(1),
        }
    }

    /// Image of a number up to [`Permutation::last`].
    #[inline]
    pub fn image(&self, number: u64) -> u64 {
        let mut value = number;
        for round in 0..ROUNDS {
            value = (value ^ self.keys[round]).wrapping_mul(self.factors[round]) & self.mask;
            value ^= value >> self.shift;
        }
        value
    }

    /// Image within `0..count` of a number below `count`. Images outside are mapped again until one
    /// falls inside, which gives a bijection of the range itself.
    #[inline]
    pub fn image_below(&self, number: u64, count: u64) -> u64 {
        let mut value = self.image(number);
        while value >= count {
            value = self.image(value);
        }
        value
    }

    /// Largest number of the domain.
    #[inline]
    pub fn last(&self) -> u64 {
        self.mask
    }
}
