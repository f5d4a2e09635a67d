//! The 64-bit Mersenne twister, `std::mt19937_64` of C++, for the sequences of programs in C++.
//!
//! Matsumoto and Nishimura, "Mersenne Twister" (ACM TOMACS 8, 1998), with the parameters of the C++
//! standard, section [rand.predef], which gives the 10 000th number from the default seed.

const WORDS: usize = 312;
const MIDDLE: usize = 156;
const MATRIX: u64 = 0xb502_6f5a_a966_19e9;
/// The 33 upper and the 31 lower bits of a word.
const UPPER: u64 = !0 << 31;

/// A sequence.
#[derive(Debug, Clone)]
pub struct Mersenne64 {
    state: Box<[u64; WORDS]>,
    used: usize,
}

impl Mersenne64 {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Mersenne64 {
        let mut state = Box::new([seed; WORDS]);
        for index in 1..WORDS {
            let before = state[index - 1];
            state[index] =
                6_364_136_223_846_793_005_u64.wrapping_mul(before ^ (before >> 62)).wrapping_add(index as u64);
        }
        Mersenne64 { state, used: WORDS }
    }

    /// The next 64 random bits.
    #[allow(clippy::should_implement_trait, reason = "it has no end: an iterator would answer with an `Option`")]
    #[inline]
    pub fn next(&mut self) -> u64 {
        if self.used == WORDS {
            self.twist();
        }
        let word = self.state[self.used];
        self.used += 1;
        let word = word ^ ((word >> 29) & 0x5555_5555_5555_5555);
        let word = word ^ ((word << 17) & 0x71d6_7fff_eda6_0000);
        let word = word ^ ((word << 37) & 0xfff7_eee0_0000_0000);
        word ^ (word >> 43)
    }

    #[cold]
    fn twist(&mut self) {
        for index in 0..WORDS {
            let joined = (self.state[index] & UPPER) | (self.state[(index + 1) % WORDS] & !UPPER);
            let matrix = if joined & 1 == 1 { MATRIX } else { 0 };
            self.state[index] = self.state[(index + MIDDLE) % WORDS] ^ (joined >> 1) ^ matrix;
        }
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the standard; the default seed is 5489.
    #[test]
    fn the_ten_thousandth_number_is_the_standards() {
        let mut random = Mersenne64::new(5489);
        for _ in 1..10_000 {
            random.next();
        }
        assert_eq!(random.next(), 9_981_545_732_273_789_042);
    }
}
