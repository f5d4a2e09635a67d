//! A linear feedback shift register over the blocks of a file: every block once per pass, without
//! memory.
//!
//! Each step multiplies the state by x modulo a primitive polynomial over GF(2), so that a register
//! of n bits runs through all 2^n - 1 states other than 0 (Golomb, "Shift Register Sequences",
//! 1967; Lidl and Niederreiter, "Finite Fields", section 8.1). A state is a block number. Block 0,
//! which is not a state, comes last. States past the number of blocks are skipped. The seed chooses
//! where to begin. The cyclic order is fixed, which is the weakness of this generator and the price
//! of its speed.

use crate::permutation::Walk;
use iolab_random::finalize;

const NARROWEST: u32 = 2;
const WIDEST: u32 = 63;

/// For each width from the narrowest, a primitive polynomial without its leading term; bit k stands
/// for x^k.
const POLYNOMIALS: [u64; (WIDEST - NARROWEST + 1) as usize] = [
    0x3,
    0x3,
    0x3,
    0x5,
    0x3,
    0x3,
    0x87,
    0x11,
    0x9,
    0x5,
    0x107,
    0x27,
    0x1007,
    0x3,
    0x100b,
    0x9,
    0x81,
    0x27,
    0x9,
    0x5,
    0x3,
    0x21,
    0x87,
    0x9,
    0x47,
    0x27,
    0x9,
    0x5,
    0x800007,
    0x9,
    0x400007,
    0x2001,
    0x8000007,
    0x5,
    0x801,
    0x207,
    0x200b,
    0x11,
    0x800000007,
    0x9,
    0x20000007,
    0x1007,
    0x400000000b,
    0x1b,
    0x20b,
    0x21,
    0x1000000b,
    0x201,
    0x10007,
    0x10000007,
    0x9,
    0x47,
    0x20007,
    0x1000001,
    0x40000000007,
    0x81,
    0x80001,
    0x1000007,
    0x3,
    0x27,
    0x1000000b,
    0x3,
];

/// The numbers below a count in the order of a shift register.
#[derive(Debug, Clone)]
pub(crate) struct ShiftRegisterWalk {
    state: u64,
    polynomial: u64,
    mask: u64,
    top: u32,
    count: u64,
    left: u64,
}

impl ShiftRegisterWalk {
    #[inline]
    fn step(&mut self) {
        let carry = self.state >> self.top & 1;
        self.state = ((self.state << 1) & self.mask) ^ (self.polynomial & carry.wrapping_neg());
    }
}

impl Walk for ShiftRegisterWalk {
    fn new(count: u64, seed: u64) -> ShiftRegisterWalk {
        // Offsets end below 2^63, so the widest register always suffices.
        let width = (u64::BITS - count.saturating_sub(1).leading_zeros()).clamp(NARROWEST, WIDEST);
        let mask = (1 << width) - 1;
        ShiftRegisterWalk {
            state: 1 + finalize(seed) % mask,
            polynomial: POLYNOMIALS[(width - NARROWEST) as usize],
            mask,
            top: width - 1,
            count,
            left: count,
        }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        if self.left == 0 {
            return Some(0);
        }
        loop {
            self.step();
            if self.state < self.count {
                return Some(self.state);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prime factors of 2^n - 1 for each width: the period is full unless it divides one of (2^n -
    /// 1) / prime.
    const FACTORS: [&[u64]; POLYNOMIALS.len()] = [
        &[3],
        &[7],
        &[3, 5],
        &[31],
        &[3, 7],
        &[127],
        &[3, 5, 17],
        &[7, 73],
        &[3, 11, 31],
        &[23, 89],
        &[3, 5, 7, 13],
        &[8191],
        &[3, 43, 127],
        &[7, 31, 151],
        &[3, 5, 17, 257],
        &[131071],
        &[3, 7, 19, 73],
        &[524287],
        &[3, 5, 11, 31, 41],
        &[7, 127, 337],
        &[3, 23, 89, 683],
        &[47, 178481],
        &[3, 5, 7, 13, 17, 241],
        &[31, 601, 1801],
        &[3, 2731, 8191],
        &[7, 73, 262657],
        &[3, 5, 29, 43, 113, 127],
        &[233, 1103, 2089],
        &[3, 7, 11, 31, 151, 331],
        &[2147483647],
        &[3, 5, 17, 257, 65537],
        &[7, 23, 89, 599479],
        &[3, 43691, 131071],
        &[31, 71, 127, 122921],
        &[3, 5, 7, 13, 19, 37, 73, 109],
        &[223, 616318177],
        &[3, 174763, 524287],
        &[7, 79, 8191, 121369],
        &[3, 5, 11, 17, 31, 41, 61681],
        &[13367, 164511353],
        &[3, 7, 43, 127, 337, 5419],
        &[431, 9719, 2099863],
        &[3, 5, 23, 89, 397, 683, 2113],
        &[7, 31, 73, 151, 631, 23311],
        &[3, 47, 178481, 2796203],
        &[2351, 4513, 13264529],
        &[3, 5, 7, 13, 17, 97, 241, 257, 673],
        &[127, 4432676798593],
        &[3, 11, 31, 251, 601, 1801, 4051],
        &[7, 103, 2143, 11119, 131071],
        &[3, 5, 53, 157, 1613, 2731, 8191],
        &[6361, 69431, 20394401],
        &[3, 7, 19, 73, 87211, 262657],
        &[23, 31, 89, 881, 3191, 201961],
        &[3, 5, 17, 29, 43, 113, 127, 15790321],
        &[7, 32377, 524287, 1212847],
        &[3, 59, 233, 1103, 2089, 3033169],
        &[179951, 3203431780337],
        &[3, 5, 7, 11, 13, 31, 41, 61, 151, 331, 1321],
        &[2305843009213693951],
        &[3, 715827883, 2147483647],
        &[7, 73, 127, 337, 92737, 649657],
    ];

    fn times(mut a: u64, mut b: u64, width: u32, polynomial: u64) -> u64 {
        let mut product = 0;
        while b != 0 {
            if b & 1 == 1 {
                product ^= a;
            }
            b >>= 1;
            let carry = a >> (width - 1) & 1;
            a = ((a << 1) & ((1 << width) - 1)) ^ (polynomial * carry);
        }
        product
    }

    fn power_of_x(mut exponent: u64, width: u32, polynomial: u64) -> u64 {
        let (mut result, mut base) = (1, 2);
        while exponent != 0 {
            if exponent & 1 == 1 {
                result = times(result, base, width, polynomial);
            }
            base = times(base, base, width, polynomial);
            exponent >>= 1;
        }
        result
    }

    #[test]
    fn every_polynomial_is_primitive() {
        for (index, polynomial) in POLYNOMIALS.into_iter().enumerate() {
            let width = NARROWEST + index as u32;
            let period = (1_u64 << width) - 1;
            let mut rest = period;
            for factor in FACTORS[index] {
                while rest.is_multiple_of(*factor) {
                    rest /= factor;
                }
                assert_ne!(power_of_x(period / factor, width, polynomial), 1, "width {width} repeats early");
            }
            assert_eq!((rest, power_of_x(period, width, polynomial)), (1, 1), "width {width}");
        }
    }

    #[test]
    fn covers_every_size_once() {
        for count in (1..=70).chain([127, 128, 129, 1000, 4095, 4096, 99_991]) {
            let mut walk = ShiftRegisterWalk::new(count, count * 31);
            let mut seen = vec![false; count as usize];
            while let Some(number) = walk.next() {
                assert!(!std::mem::replace(&mut seen[number as usize], true), "{number} twice of {count}");
            }
            assert!(seen.into_iter().all(|seen| seen), "{count}");
        }
    }
}
