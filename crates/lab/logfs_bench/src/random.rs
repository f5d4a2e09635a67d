//! Random numbers from a seed, in the forms that loads need.

/// A generator.
#[derive(Debug, Clone)]
pub(crate) struct Random(iolab_statistics::Random);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(iolab_statistics::Random::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.bits()
    }

    /// Below `bound`, with equal probabilities to within 2^-64.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound.max(1) as usize) as u64
    }

    /// From `range`, both ends included, in multiples of `unit`.
    pub(crate) fn within(&mut self, (from, to): (u64, u64), unit: u64) -> u64 {
        let (from, to) = (from.div_ceil(unit), (to / unit).max(from.div_ceil(unit)));
        (from + self.below(to - from + 1)) * unit
    }

    /// From the exponential distribution of mean 1, by inversion.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.0.unit()).ln()
    }

    pub(crate) fn percent(&mut self, share: u32) -> bool {
        self.below(100) < u64::from(share)
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let value = self.next().to_le_bytes();
            chunk.copy_from_slice(&value[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_range_and_reach_its_ends() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..2000).map(|_| random.within((8 << 10, 128 << 10), 4096)).collect();
        assert!(drawn.iter().all(|size| size % 4096 == 0 && (8 << 10..=128 << 10).contains(size)));
        assert!(drawn.contains(&(8 << 10)) && drawn.contains(&(128 << 10)));
        assert_eq!(Random::new(1).within((5000, 5000), 4096), 8192);
        let hits = (0..10_000).filter(|_| random.percent(30)).count();
        assert!((2500..3500).contains(&hits), "{hits}");
        let mean = (0..10_000).map(|_| random.exponential()).sum::<f64>() / 10_000.0;
        assert!((0.95..1.05).contains(&mean), "{mean}");
        assert!(!random.percent(0) && random.percent(100));
    }
}
