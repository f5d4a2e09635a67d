//! The normal law around a block, cut off at both ends of the range.
//!
//! Marsaglia and Bray's polar method ("A convenient method for generating normal variables", SIAM
//! Review 6(3), 1964).

use crate::curves::ln;
use crate::random::Generator;

/// Draws outside the range are repeated this often. A law that misses so often is practically flat.
const PATIENCE: u32 = 64;

/// Mean, deviation and the second of each pair of variates.
#[derive(Debug, Clone)]
pub(crate) struct Normal {
    count: u64,
    mean: f64,
    deviation: f64,
    spare: Option<f64>,
}

impl Normal {
    /// The center is a fraction of the range.
    pub(crate) fn new(count: u64, deviation_percent: f64, center: f64) -> Result<Normal, String> {
        if !(deviation_percent.is_finite() && deviation_percent >= 0.0) {
            return Err(format!(
                "normal needs a deviation in percent of the range, such as 10, not {deviation_percent}"
            ));
        }
        let range = count as f64;
        // A center of 1 is the last block, not the one after it.
        let mean = (center * range).clamp(0.0, (range - 0.5).max(0.0));
        Ok(Normal { count, mean, deviation: deviation_percent / 100.0 * range, spare: None })
    }

    /// A block.
    #[inline]
    pub(crate) fn draw(&mut self, generator: &mut Generator) -> u64 {
        for _ in 0..PATIENCE {
            let position = self.mean + self.deviation * self.variate(generator);
            if position >= 0.0 && position < self.count as f64 {
                return (position as i64 as u64).min(self.count.saturating_sub(1));
            }
        }
        generator.below(self.count)
    }

    /// Mean 0, deviation 1.
    #[inline]
    fn variate(&mut self, generator: &mut Generator) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * generator.unit() - 1.0, 2.0 * generator.unit() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                let factor = (-2.0 * ln(square) / square).sqrt();
                self.spare = Some(y * factor);
                return x * factor;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_deviation_and_shares_are_right() {
        let count = 1_000_000;
        for (percent, center) in [(5.0, 0.5), (1.0, 0.25), (10.0, 0.5)] {
            let mut normal = Normal::new(count, percent, center).expect("good parameters");
            let mut generator = Generator::new(4);
            let draws = 100_000;
            let blocks: Vec<f64> = (0..draws).map(|_| normal.draw(&mut generator) as f64).collect();
            let mean = blocks.iter().sum::<f64>() / f64::from(draws);
            let deviation = percent / 100.0 * count as f64;
            assert!((mean - center * count as f64).abs() < 4.0 * deviation / f64::from(draws).sqrt(), "{mean}");
            for (width, share) in [(1.0, 0.6827), (2.0, 0.9545)] {
                let within = blocks.iter().filter(|block| (**block - center * count as f64).abs() < width * deviation);
                let observed = within.count() as f64 / f64::from(draws);
                assert!((observed - share).abs() < 0.006, "{percent} {center} {width}: {observed}");
            }
        }
    }

    #[test]
    fn stays_within_the_range_whatever_the_parameters() {
        let mut generator = Generator::new(5);
        for (count, percent, center) in
            [(1, 0.0, 1.0), (10, 0.0, 0.5), (10, 1e12, 0.0), (3, 100.0, 1.0), (1 << 50, 50.0, 1.0)]
        {
            let mut normal = Normal::new(count, percent, center).expect("good parameters");
            assert!((0..1000).all(|_| normal.draw(&mut generator) < count));
        }
        assert!(Normal::new(10, f64::NAN, 0.5).is_err() && Normal::new(10, -1.0, 0.5).is_err());
    }
}
