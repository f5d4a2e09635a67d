//! The choice of keys, and their form.
//!
//! ```text
//! key of number N:  | N, 8 bytes, big-endian | '0' '0' '0' … up to key_size |
//! ```
//!
//! A key shorter than 8 bytes keeps the low ones.

use iolab_random::{Mersenne64, SplitMix64, finalize};

use crate::benchmarks::Order;
use crate::settings::Distribution;

/// Writes the key of a number.
#[inline]
pub(crate) fn put_key(key: &mut [u8], number: u64) {
    let bytes = number.to_be_bytes();
    let kept = key.len().min(bytes.len());
    key[..kept].copy_from_slice(&bytes[bytes.len() - kept..]);
}

/// A key buffer that is overwritten for each key.
pub(crate) fn blank_key(size: usize) -> Vec<u8> {
    vec![b'0'; size]
}

/// Key numbers below `num`, in the order of a benchmark.
///
/// With the same seed, uniform numbers are those of `db_bench` (as observed in version 7.8): before
/// each key it draws a number for another purpose, except in seeks.
#[derive(Debug)]
pub(crate) enum Numbers {
    Sequential { next: u64 },
    Uniform { random: Mersenne64, num: u64, skips: bool },
    Zipf { random: Mersenne64, zipf: Zipf },
    Shuffled { left: std::vec::IntoIter<u64> },
}

impl Numbers {
    pub(crate) fn new(order: Order, distribution: Distribution, num: u64, seed: u64) -> Numbers {
        match (order, distribution) {
            (Order::Sequential, _) => Numbers::Sequential { next: 0 },
            (Order::Shuffled, _) => Numbers::Shuffled { left: shuffled(num, seed).into_iter() },
            (Order::Random, Distribution::Uniform) => {
                Numbers::Uniform { random: Mersenne64::new(seed), num, skips: true }
            }
            (Order::Random, Distribution::Zipf(theta)) => {
                Numbers::Zipf { random: Mersenne64::new(seed), zipf: Zipf::new(num, theta) }
            }
        }
    }

    /// For benchmarks in which `db_bench` draws only keys.
    pub(crate) fn without_skips(self) -> Numbers {
        match self {
            Numbers::Uniform { random, num, .. } => Numbers::Uniform { random, num, skips: false },
            other => other,
        }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        match self {
            Numbers::Sequential { next } => {
                *next += 1;
                *next - 1
            }
            Numbers::Uniform { random, num, skips } => {
                if *skips {
                    random.next();
                }
                random.next() % *num
            }
            Numbers::Zipf { random, zipf } => zipf.scattered(unit(random.next())),
            Numbers::Shuffled { left } => left.next().unwrap_or(0),
        }
    }
}

/// A number in `[0, 1)`.
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

fn shuffled(num: u64, seed: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..num).collect();
    let mut random = SplitMix64::new(seed);
    for last in (1..numbers.len()).rev() {
        numbers.swap(last, random.below(last as u64 + 1) as usize);
    }
    numbers
}

/// Zipf's law: rank r is chosen as often as 1 / r^theta (Gray and others, "Quickly generating
/// billion-record synthetic databases", SIGMOD 1994).
#[derive(Debug, Clone)]
pub(crate) struct Zipf {
    num: u64,
    theta: f64,
    zeta: f64,
    alpha: f64,
    eta: f64,
}

/// Terms of the sum that are added one by one; the rest is its integral, exact to a millionth.
const EXACT_TERMS: u64 = 1_000_000;

impl Zipf {
    pub(crate) fn new(num: u64, theta: f64) -> Zipf {
        let exact = num.min(EXACT_TERMS);
        let sum: f64 = (1..=exact).map(|rank| (rank as f64).powf(-theta)).sum();
        let rest = ((num as f64).powf(1.0 - theta) - (exact as f64).powf(1.0 - theta)) / (1.0 - theta);
        let zeta = sum + rest;
        let two = 1.0 + 0.5_f64.powf(theta);
        let eta = (1.0 - (2.0 / num as f64).powf(1.0 - theta)) / (1.0 - two / zeta);
        Zipf { num, theta, zeta, alpha: 1.0 / (1.0 - theta), eta }
    }

    /// The rank (0 is the most frequent) of a number in `[0, 1)`.
    pub(crate) fn rank(&self, unit: f64) -> u64 {
        let share = unit * self.zeta;
        if share < 1.0 {
            return 0;
        }
        if share < 1.0 + 0.5_f64.powf(self.theta) {
            return 1.min(self.num - 1);
        }
        let rank = self.num as f64 * (self.eta * unit - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(self.num - 1)
    }

    /// The rank of a number, with the frequent ranks scattered over all numbers.
    pub(crate) fn scattered(&self, unit: f64) -> u64 {
        finalize(self.rank(unit)) % self.num
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_eight_bytes_and_zeroes_as_digits() {
        let mut key = blank_key(16);
        put_key(&mut key, 0x0102);
        assert_eq!(key, b"\0\0\0\0\0\0\x01\x0200000000");
        let mut short = blank_key(4);
        put_key(&mut short, 0x0a_0b0c_0d0e);
        assert_eq!(short, [0x0b, 0x0c, 0x0d, 0x0e]);
    }

    #[test]
    fn every_order_stays_below_num_and_a_shuffle_has_each_once() {
        let draw = |order, distribution| {
            let mut numbers = Numbers::new(order, distribution, 100, 7);
            (0..100).map(|_| numbers.next()).collect::<Vec<_>>()
        };
        assert_eq!(draw(Order::Sequential, Distribution::Uniform), (0..100).collect::<Vec<_>>());
        let mut once = draw(Order::Shuffled, Distribution::Uniform);
        assert_ne!(once, (0..100).collect::<Vec<_>>());
        once.sort_unstable();
        assert_eq!(once, (0..100).collect::<Vec<_>>());
        for distribution in [Distribution::Uniform, Distribution::Zipf(0.9)] {
            assert!(draw(Order::Random, distribution).iter().all(|number| *number < 100));
        }
    }

    /// The keys that `db_bench --benchmarks=fillrandom --num=20 --seed=1` of version 7.8.3 puts, as
    /// its log has them: its first thread has the seed 1 + 1.
    #[test]
    fn random_keys_are_those_of_db_bench() {
        let mut numbers = Numbers::new(Order::Random, Distribution::Uniform, 20, 2);
        let drawn: Vec<u64> = (0..20).map(|_| numbers.next()).collect();
        assert_eq!(drawn, [5, 3, 5, 15, 6, 3, 8, 8, 7, 15, 5, 9, 6, 8, 8, 19, 3, 0, 8, 6]);
    }

    /// The first rank of 1000 has a share of 1 / zeta(1000, 0.9) of all.
    #[test]
    fn ranks_follow_zipfs_law() {
        let zipf = Zipf::new(1000, 0.9);
        let mut random = SplitMix64::new(3);
        let mut counts = vec![0_u64; 1000];
        for _ in 0..200_000 {
            counts[zipf.rank(unit(random.next())) as usize] += 1;
        }
        let zeta: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-0.9)).sum();
        let first = counts[0] as f64 / 200_000.0;
        assert!((first - 1.0 / zeta).abs() < 0.005, "{first} {}", 1.0 / zeta);
        assert!(counts[0] > counts[1] && counts[1] > counts[20] && counts[20] > counts[500]);
    }
}
