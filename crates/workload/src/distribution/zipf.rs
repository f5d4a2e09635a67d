//! Zipf's law over any number of ranks: P(rank k) is proportional to 1/k^theta, k from 1.
//!
//! Rejection-inversion: Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions" (ACM TOMACS 6(3), 1996), pages 169-184. Exact for every domain (the usual shortcut of Gray et al.,
//! "Quickly generating billion-record synthetic databases", SIGMOD 1994, is not: it leaves most of a large domain
//! untouched), needs no sum over the domain and accepts nearly every draw at once.

use crate::curves::{exp, ln};
use crate::random::Generator;

/// Exponents nearer to 1 than this are taken as 1, where the integral is a logarithm.
const NEAR_ONE: f64 = 1e-6;

/// The constants of one domain and exponent.
#[derive(Debug, Clone)]
pub(crate) struct Zipf {
    count: u64,
    theta: f64,
    /// 1 - theta, or 0.
    power: f64,
    inverse_power: f64,
    /// Integral of the hat at 3/2 less 1, and from there to the end of the domain.
    bottom: f64,
    range: f64,
    /// Within this distance below a rank, no test is needed.
    squeeze: f64,
}

impl Zipf {
    pub(crate) fn new(count: u64, theta: f64) -> Result<Zipf, String> {
        if !(theta.is_finite() && theta > 0.0) {
            return Err(format!("zipf wants a theta above 0, such as 1.2, not {theta}"));
        }
        let power = if (1.0 - theta).abs() < NEAR_ONE { 0.0 } else { 1.0 - theta };
        let inverse_power = if power == 0.0 { 0.0 } else { 1.0 / power };
        let mut zipf = Zipf { count, theta, power, inverse_power, bottom: 0.0, range: 0.0, squeeze: 0.0 };
        zipf.bottom = zipf.integral(1.5) - 1.0;
        zipf.range = zipf.integral(count as f64 + 0.5) - zipf.bottom;
        zipf.squeeze = 2.0 - zipf.inverse_integral(zipf.integral(2.5) - zipf.density(2.0));
        Ok(zipf)
    }

    /// A rank, 0 being the most frequent.
    #[inline(always)]
    pub(crate) fn rank(&self, generator: &mut Generator) -> u64 {
        loop {
            let area = self.bottom + generator.unit() * self.range;
            let x = self.inverse_integral(area);
            let rank = ((x + 0.5) as i64 as u64).clamp(1, self.count.max(1));
            let nearest = rank as i64 as f64;
            if nearest - x <= self.squeeze || self.accepts(area, nearest) {
                return rank - 1;
            }
        }
    }

    /// The exact test, needed for a few draws in a hundred.
    #[cold]
    #[inline(never)]
    fn accepts(&self, area: f64, nearest: f64) -> bool {
        area >= self.integral(nearest + 0.5) - self.density(nearest)
    }

    /// x^-theta.
    #[inline]
    fn density(&self, x: f64) -> f64 {
        exp(-self.theta * ln(x))
    }

    /// Integral of the density from 1 to x.
    #[inline]
    fn integral(&self, x: f64) -> f64 {
        let log = ln(x);
        if self.power == 0.0 { log } else { (exp(self.power * log) - 1.0) * self.inverse_power }
    }

    #[inline]
    fn inverse_integral(&self, area: f64) -> f64 {
        if self.power == 0.0 {
            exp(area)
        } else {
            // Rounding can carry the argument just below 0 at the far end of a steep law.
            exp(ln((1.0 + area * self.power).max(f64::MIN_POSITIVE)) * self.inverse_power)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Observed frequencies of the first ranks and of the rest against the law itself.
    fn check(count: u64, theta: f64) {
        let zipf = Zipf::new(count, theta).expect("good parameters");
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

    /// The flaw of the usual generator: out of 2^29 blocks only a few million could ever be touched.
    #[test]
    fn large_domains_are_touched_everywhere() {
        let count = 1_u64 << 29;
        let zipf = Zipf::new(count, 0.9).expect("good parameters");
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
            assert!(Zipf::new(10, theta).is_err());
        }
    }
}
