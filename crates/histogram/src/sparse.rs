//! A histogram as plain data: what recordings hold and reports read.

use serde::{Deserialize, Serialize};

use crate::bucket_middle;

/// The non-empty buckets and the exact moments of a [`crate::Histogram`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SparseHistogram {
    /// Number of values.
    pub count: u64,
    /// Smallest value, exact; 0 when empty.
    pub min: u64,
    /// Largest value, exact; 0 when empty.
    pub max: u64,
    /// Sum of all values.
    pub sum: u128,
    /// Sum of their squares.
    pub sum_of_squares: f64,
    /// `(bucket index, count)`, ascending, no zero counts.
    pub buckets: Vec<(u32, u64)>,
}

impl SparseHistogram {
    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Arithmetic mean; 0 when empty.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// Sample standard deviation (n - 1); 0 for fewer than two values.
    pub fn stddev(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let count = self.count as f64;
        let spread = self.sum_of_squares - (self.sum as f64) * (self.sum as f64) / count;
        (spread.max(0.0) / (count - 1.0)).sqrt()
    }

    /// The `percent`-th percentile by nearest rank: middle of the bucket that holds it, kept within the true
    /// minimum and maximum. 0 when empty.
    pub fn percentile(&self, percent: f64) -> u64 {
        let rank = ((percent / 100.0 * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for &(index, count) in &self.buckets {
            seen += count;
            if seen >= rank {
                return bucket_middle(index as usize).clamp(self.min, self.max);
            }
        }
        self.max
    }

    /// Adds everything `other` counted.
    pub fn merge(&mut self, other: &SparseHistogram) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other.clone();
            return;
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        let mut all = [self.buckets.as_slice(), other.buckets.as_slice()].concat();
        all.sort_unstable_by_key(|bucket| bucket.0);
        all.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            kept.1 += if same { later.1 } else { 0 };
            same
        });
        self.buckets = all;
    }
}

#[cfg(test)]
mod tests {
    use crate::Histogram;

    #[test]
    fn moments_and_percentiles_of_a_known_set() {
        let mut histogram = Histogram::new();
        (1..=100).for_each(|value| histogram.add(value));
        let sparse = histogram.to_sparse();
        assert_eq!((sparse.count, sparse.min, sparse.max, sparse.mean()), (100, 1, 100, 50.5));
        assert!((sparse.stddev() - 29.011_491_975_882_016).abs() < 1e-9);
        for (percent, expected) in [(0.0, 1), (1.0, 1), (50.0, 50), (99.0, 99), (99.5, 100), (100.0, 100)] {
            assert_eq!(sparse.percentile(percent), expected, "p{percent}");
        }
    }

    #[test]
    fn a_percentile_never_exceeds_the_maximum() {
        let mut histogram = Histogram::new();
        histogram.add(4_041_394);
        let sparse = histogram.to_sparse();
        assert_eq!(sparse.percentile(99.9), 4_041_394);
    }

    #[test]
    fn merging_equals_counting_together() {
        let (mut odd, mut even, mut all) = (Histogram::new(), Histogram::new(), Histogram::new());
        for step in 0..5000_u64 {
            let value = step * step * 37;
            if step % 2 == 0 {
                even.add(value)
            } else {
                odd.add(value)
            }
            all.add(value);
        }
        let mut merged = odd.to_sparse();
        merged.merge(&even.to_sparse());
        let all = all.to_sparse();
        assert_eq!((merged.count, &merged.buckets, merged.sum), (all.count, &all.buckets, all.sum));
        odd.merge(&even);
        assert_eq!(odd.to_sparse().buckets, all.buckets);
    }
}
