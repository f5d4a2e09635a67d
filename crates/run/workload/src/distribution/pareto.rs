//! The self-similar ("80/20") law that fio calls Pareto: a share h of the blocks gets a share 1 - h
//! of the accesses, and so on within that share.
//!
//! Source: Gray et al., "Quickly generating billion-record synthetic databases" (SIGMOD 1994),
//! section 3.2: rank = count * u^(ln h / ln (1 - h)), u uniform, so that P(rank < k) = (k /
//! count)^(ln (1 - h) / ln h).

use super::cells::Law;
use crate::curves::{exp, ln};

/// From this rank on, a series is more precise than a difference.
const FAR: u64 = 64;

/// The law of one power.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pareto {
    exponent: f64,
    /// Logarithm of a number of ranks that keeps weights within the range of `f64`.
    log_scale: f64,
}

impl Pareto {
    /// A law of `count` ranks.
    pub(crate) fn new(count: u64, h: f64) -> Result<Pareto, String> {
        if !(h > 0.0 && h < 1.0) {
            return Err(format!("pareto needs a power between 0 and 1, such as 0.2, not {h}"));
        }
        let exponent = ln(1.0 - h) / ln(h);
        // A rising law is likeliest at its end, where it must not overflow. A falling law does not
        // depend on the count.
        let log_scale = if exponent > 1.0 { ln(count.max(1) as f64) } else { 0.0 };
        Ok(Pareto { exponent, log_scale })
    }
}

impl Law for Pareto {
    /// (k + 1)^a - k^a, in units of the scale.
    fn weight(&self, rank: u64) -> f64 {
        let (exponent, scale) = (self.exponent, self.log_scale);
        let power = |x: f64, y: f64| exp(y * (ln(x) - scale));
        if rank < FAR {
            let below = if rank == 0 { 0.0 } else { power(rank as f64, exponent) };
            return ((power((rank + 1) as f64, exponent) - below) * exp(scale)).max(f64::MIN_POSITIVE);
        }
        // The difference around its middle; the next term is about 10^-10 of the first.
        let middle = rank as f64 + 0.5;
        let second = (exponent - 1.0) * (exponent - 2.0) / (24.0 * middle * middle);
        exponent * power(middle, exponent - 1.0) * (1.0 + second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::cells::Cells;
    use crate::random::Generator;

    #[test]
    fn a_share_of_the_blocks_gets_the_rest_of_the_accesses() {
        for (count, h) in [(1000_u64, 0.2), (1 << 30, 0.2), (1 << 20, 0.1), (5000, 0.5), (1 << 30, 0.9)] {
            let pareto = Cells::new(Pareto::new(count, h).expect("good parameters"), count);
            let mut generator = Generator::new(8);
            let draws = 100_000;
            let ranks: Vec<u64> = (0..draws).map(|_| pareto.rank(&mut generator)).collect();
            assert!(ranks.iter().all(|rank| *rank < count));
            for depth in 1..=3 {
                let (blocks, accesses) = (h.powi(depth) * count as f64, (1.0 - h).powi(depth));
                let share =
                    ranks.iter().filter(|rank| (**rank as f64) + 0.5 < blocks).count() as f64 / f64::from(draws);
                assert!((share - accesses).abs() < 0.008, "{count} {h} {depth}: {share}, not {accesses}");
            }
        }
        for h in [0.01, 0.2, 0.5, 0.8] {
            // Compared with the law itself, whose cumulative probability is a power.
            let count = 5000_u64;
            let found = Cells::new(Pareto::new(count, h).expect("good parameters"), count).probabilities();
            let mut sum = 0.0;
            for (rank, probability) in found.iter().enumerate() {
                sum += probability;
                let expected = ((rank + 1) as f64 / count as f64).powf((1.0 - h).ln() / h.ln());
                assert!((sum - expected).abs() < 1e-9, "{h}: below {rank}: {sum}, not {expected}");
            }
        }
        for h in [0.0, 1.0, -3.0, f64::NAN] {
            assert!(Pareto::new(10, h).is_err());
        }
    }
}
