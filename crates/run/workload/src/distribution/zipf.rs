//! Zipf's law over any number of ranks: P(rank k) is proportional to 1/k^theta, k from 1.
//!
//! Exact for every domain, and without a sum over the domain. The usual shortcut of Gray et al.,
//! "Quickly generating billion-record synthetic databases" (SIGMOD 1994), is not exact: it leaves
//! most of a large domain untouched.

use super::cells::Law;
use crate::curves::{exp, ln};

/// The law of one exponent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Zipf {
    theta: f64,
}

impl Zipf {
    /// Rank 0 is the most frequent.
    pub(crate) fn new(theta: f64) -> Result<Zipf, String> {
        if !(theta.is_finite() && theta > 0.0) {
            return Err(format!("zipf needs a theta above 0, such as 1.2, not {theta}"));
        }
        Ok(Zipf { theta })
    }
}

impl Law for Zipf {
    fn weight(&self, rank: u64) -> f64 {
        exp(-self.theta * ln((rank + 1) as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::cells::Cells;
    use crate::random::Generator;

    /// Compares observed frequencies of the first ranks and of the rest with the law itself.
    fn check(count: u64, theta: f64) {
        let zipf = Cells::new(Zipf::new(theta).expect("a good theta"), count);
        let sum: f64 = if count <= 1 << 20 {
            (1..=count).map(|rank| (rank as f64).powf(-theta)).sum()
        } else {
            // Euler-Maclaurin beyond the first terms.
            let (first, last) = (100_000.0_f64, count as f64);
            let head: f64 = (1..100_000).map(|rank| f64::from(rank).powf(-theta)).sum();
            let body = (last.powf(1.0 - theta) - first.powf(1.0 - theta)) / (1.0 - theta);
            head + body + (first.powf(-theta) + last.powf(-theta)) / 2.0
        };
        let draws = 400_000;
        let mut generator = Generator::new(42);
        let mut seen = [0_u32; 20];
        let mut upper_half = 0_u32;
        for _ in 0..draws {
            let rank = zipf.rank(&mut generator);
            assert!(rank < count);
            if let Some(cell) = seen.get_mut(rank as usize) {
                *cell += 1;
            }
            upper_half += u32::from(rank >= count / 2);
        }
        let near = |observed: u32, probability: f64, what: &str| {
            let expected = probability * f64::from(draws);
            let allowed = 4.5 * (expected * (1.0 - probability)).max(1.0).sqrt() + 1.0;
            assert!(
                (f64::from(observed) - expected).abs() <= allowed,
                "{what} of {count}^{theta}: {observed}, not {expected}"
            );
        };
        for (index, observed) in seen.iter().enumerate().take(count.min(20) as usize) {
            near(*observed, ((index + 1) as f64).powf(-theta) / sum, &format!("rank {index}"));
        }
        let half = (count / 2) as f64;
        if theta != 1.0 && count > 1000 {
            let tail = ((count as f64 + 0.5).powf(1.0 - theta) - (half + 0.5).powf(1.0 - theta)) / (1.0 - theta) / sum;
            near(upper_half, tail, "upper half");
        }
    }

    #[test]
    fn frequencies_follow_the_law() {
        for count in [1, 2, 7, 1000, 1 << 20, 1 << 29, 1 << 40] {
            for theta in [0.2, 0.8, 0.99, 1.2, 2.5] {
                check(count, theta);
            }
        }
        check(1000, 1.0);
    }

    /// The flaw of the usual generator: out of 2^29 blocks only a few million could ever be
    /// touched.
    #[test]
    fn large_domains_are_touched_everywhere() {
        let count = 1_u64 << 29;
        let zipf = Cells::new(Zipf::new(0.9).expect("a good theta"), count);
        let mut generator = Generator::new(3);
        let mut tail: Vec<u64> =
            (0..1_000_000).map(|_| zipf.rank(&mut generator)).filter(|rank| rank % 2 == 1).collect();
        tail.retain(|rank| *rank > count / 2);
        let drawn = tail.len();
        tail.sort_unstable();
        tail.dedup();
        assert!(tail.len() > 15_000 && tail.len() * 1000 > drawn * 998, "{} of {drawn} differ", tail.len());
    }

    #[test]
    fn refuses_senseless_exponents() {
        for theta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Zipf::new(theta).is_err());
        }
    }
}
