//! The self-similar ("80/20") law that fio calls Pareto: a share h of the blocks gets a share 1 - h of the accesses,
//! and so on within that share.
//!
//! Source: Gray et al., "Quickly generating billion-record synthetic databases" (SIGMOD 1994), section 3.2:
//! rank = count * u^(ln h / ln (1 - h)), u uniform.

use crate::curves::{exp, ln};
use crate::random::Generator;

/// The constants of one domain and power.
#[derive(Debug, Clone)]
pub(crate) struct Pareto {
    count: u64,
    exponent: f64,
}

impl Pareto {
    pub(crate) fn new(count: u64, h: f64) -> Result<Pareto, String> {
        if !(h > 0.0 && h < 1.0) {
            return Err(format!("pareto wants a power between 0 and 1, such as 0.2, not {h}"));
        }
        Ok(Pareto { count, exponent: ln(h) / ln(1.0 - h) })
    }

    /// A rank, 0 being the most frequent.
    #[inline]
    pub(crate) fn rank(&self, generator: &mut Generator) -> u64 {
        // From 2^-53 to 1, so that the logarithm exists.
        let uniform = 1.0 - generator.unit();
        let rank = self.count as f64 * exp(self.exponent * ln(uniform));
        (rank as i64 as u64).min(self.count.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_blocks_gets_the_rest_of_the_accesses() {
        for (count, h) in [(1000_u64, 0.2), (1 << 30, 0.2), (1 << 20, 0.1), (5000, 0.5)] {
            let pareto = Pareto::new(count, h).expect("good parameters");
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
        for h in [0.0, 1.0, -3.0, f64::NAN] {
            assert!(Pareto::new(10, h).is_err());
        }
    }
}
