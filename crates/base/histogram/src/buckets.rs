//! The histogram that is being filled, and the differences between its states.

use std::ops::Range;

use crate::varint::put_varint;
use crate::{BUCKETS, SparseHistogram, bucket_of};

/// A live histogram: `add` is a handful of instructions and never allocates.
#[derive(Clone)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
    // Extremes of the values since the last `difference`; they show which buckets have changed.
    min: u64,
    max: u64,
    sum: u64,
    sum_of_squares: f64,
    earlier: Moments,
}

/// Extremes and sums of the values before the last `difference`.
#[derive(Clone, Copy)]
struct Moments {
    min: u64,
    max: u64,
    sum: u128,
    sum_of_squares: f64,
}

const UNTOUCHED: (usize, usize) = (BUCKETS, 0);

/// Returns zeroed pages directly from the kernel. A page that is never written uses no memory. Most
/// jobs use few of a worker's histograms, and few pages of those.
fn no_counts() -> Box<[u64; BUCKETS]> {
    // The length is right, so the array is never made on the stack and copied.
    vec![0; BUCKETS].into_boxed_slice().try_into().unwrap_or_else(|_| Box::new([0; BUCKETS]))
}

const NOTHING: Moments = Moments { min: u64::MAX, max: 0, sum: 0, sum_of_squares: 0.0 };

/// Longest encoded form of one difference, bytes: every bucket, with the longest varints.
pub const LONGEST_DIFFERENCE: usize = 3 * 10 + 8 + 2 + BUCKETS * (1 + 10);

/// The counts of a histogram at its last [`Histogram::difference`].
#[derive(Clone)]
pub struct Baseline {
    counts: Box<[u64; BUCKETS]>,
    /// First and last bucket that may differ from 0.
    touched: (usize, usize),
}

impl std::fmt::Debug for Baseline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Baseline").finish_non_exhaustive()
    }
}

impl Default for Baseline {
    fn default() -> Self {
        Baseline::new()
    }
}

impl Baseline {
    /// The baseline of an empty histogram (21 KiB, of which only the used pages are touched).
    pub fn new() -> Baseline {
        Baseline { counts: no_counts(), touched: UNTOUCHED }
    }

    /// Resets it to the baseline of an empty histogram.
    pub fn clear(&mut self) {
        let (first, last) = std::mem::replace(&mut self.touched, UNTOUCHED);
        if first <= last {
            self.counts[first..=last].fill(0);
        }
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("max", &self.moments().max)
            .finish_non_exhaustive()
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty histogram (21 KiB, of which only the used pages are touched).
    pub fn new() -> Histogram {
        Histogram { counts: no_counts(), min: u64::MAX, max: 0, sum: 0, sum_of_squares: 0.0, earlier: NOTHING }
    }

    /// Counts one value.
    #[inline(always)]
    pub fn add(&mut self, value: u64) {
        self.add_many(value, 1);
    }

    /// Counts the same value `times` times, at the cost of counting it once.
    #[inline(always)]
    pub fn add_many(&mut self, value: u64, times: u64) {
        self.counts[bucket_of(value)] += times;
        // Branches that are almost never taken cost less than conditional moves with their loads
        // and stores.
        if value < self.min {
            self.min = value;
        }
        if value > self.max {
            self.max = value;
        }
        self.sum = self.sum.wrapping_add(value.wrapping_mul(times));
        // Latencies fit into i64, which is converted in one instruction; u64 needs many.
        let as_float = value as i64 as f64;
        self.sum_of_squares += as_float * as_float * times as i64 as f64;
    }

    /// Adds everything that `other` has counted.
    pub fn merge(&mut self, other: &Histogram) {
        let touched = other.touched();
        for (mine, theirs) in self.counts[touched.clone()].iter_mut().zip(&other.counts[touched]) {
            *mine += theirs;
        }
        // Merged values belong to no interval of this histogram, but the next difference must find
        // their buckets.
        let theirs = other.moments();
        self.min = self.min.min(theirs.min);
        self.max = self.max.max(theirs.max);
        self.earlier.sum += theirs.sum;
        self.earlier.sum_of_squares += theirs.sum_of_squares;
    }

    /// Adds all values of `other` as if they had been added here one by one, so that they belong to
    /// the current interval; [`Histogram::merge`] is for values that do not.
    /// [`Histogram::difference`] must not have been called on `other`.
    pub fn add_all_of(&mut self, other: &Histogram) {
        debug_assert!(other.earlier.min > other.earlier.max, "its extremes say nothing of its buckets");
        if other.min > other.max {
            return;
        }
        let touched = bucket_of(other.min)..=bucket_of(other.max);
        for (mine, theirs) in self.counts[touched.clone()].iter_mut().zip(&other.counts[touched]) {
            *mine += theirs;
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum = self.sum.wrapping_add(other.sum);
        self.sum_of_squares += other.sum_of_squares;
    }

    /// Removes all values. Buckets that were never used are not written to.
    pub fn clear(&mut self) {
        let touched = self.touched();
        self.counts[touched].fill(0);
        self.earlier = NOTHING;
        self.forget_moments();
    }

    fn forget_moments(&mut self) {
        self.min = u64::MAX;
        self.max = 0;
        self.sum = 0;
        self.sum_of_squares = 0.0;
    }

    /// The buckets that may be non-zero.
    fn touched(&self) -> Range<usize> {
        let Moments { min, max, .. } = self.moments();
        if min > max { 0..0 } else { bucket_of(min)..bucket_of(max) + 1 }
    }

    /// Extremes and sums of all values.
    fn moments(&self) -> Moments {
        Moments {
            min: self.min.min(self.earlier.min),
            max: self.max.max(self.earlier.max),
            sum: self.earlier.sum + u128::from(self.sum),
            sum_of_squares: self.earlier.sum_of_squares + self.sum_of_squares,
        }
    }

    /// Appends what was added since the last call with this `baseline` to `bytes`, in the form that
    /// [`crate::PackedHistogram::take`] reads, and updates the baseline. It examines only buckets
    /// between the extremes of what was added, and allocates nothing if `bytes` has room for
    /// [`LONGEST_DIFFERENCE`] more.
    ///
    /// Returns whether there were new values; if not, nothing is appended. A histogram can have
    /// only one baseline, because its extremes are those since the last difference.
    pub fn difference(&mut self, baseline: &mut Baseline, bytes: &mut Vec<u8>) -> bool {
        if self.min > self.max {
            return false;
        }
        bytes.reserve(LONGEST_DIFFERENCE);
        put_varint(bytes, self.min);
        put_varint(bytes, self.max - self.min);
        put_varint(bytes, self.sum);
        bytes.extend_from_slice(&self.sum_of_squares.to_le_bytes());
        let length_at = bytes.len();
        bytes.extend_from_slice(&[0; 2]);
        let changed = bucket_of(self.min)..=bucket_of(self.max);
        baseline.touched.0 = baseline.touched.0.min(*changed.start());
        baseline.touched.1 = baseline.touched.1.max(*changed.end());
        let mut next = 0;
        for index in changed {
            let (now, before) = (self.counts[index], &mut baseline.counts[index]);
            if now != *before {
                put_varint(bytes, (index - next) as u64);
                put_varint(bytes, now - *before);
                *before = now;
                next = index + 1;
            }
        }
        let length = (bytes.len() - length_at - 2) as u16;
        bytes[length_at..length_at + 2].copy_from_slice(&length.to_le_bytes());
        self.earlier = self.moments();
        self.forget_moments();
        true
    }

    /// The number of values that were counted.
    pub fn count(&self) -> u64 {
        self.counts[self.touched()].iter().sum()
    }

    /// The counts, by bucket.
    pub fn counts(&self) -> &[u64; BUCKETS] {
        &self.counts
    }

    /// Returns the histogram as plain data for a recording.
    pub fn to_sparse(&self) -> SparseHistogram {
        let touched = self.touched();
        let numbered = self.counts[touched.clone()].iter().zip(touched);
        let buckets = numbered.filter(|(count, _)| **count > 0);
        let buckets: Vec<(u32, u64)> = buckets.map(|(count, index)| (index as u32, *count)).collect();
        let Moments { min, max, sum, sum_of_squares } = self.moments();
        let min = if buckets.is_empty() { 0 } else { min };
        SparseHistogram { count: buckets.iter().map(|bucket| bucket.1).sum(), min, max, sum, sum_of_squares, buckets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bucket_low, bucket_middle};

    #[test]
    fn every_value_lies_in_its_bucket_and_buckets_join() {
        for index in 1..BUCKETS {
            let low = bucket_low(index);
            assert_eq!(bucket_of(low), index);
            assert_eq!(bucket_of(low - 1), index - 1);
            assert_eq!(bucket_of(bucket_middle(index)), index);
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        assert_eq!(bucket_of(0), 0);
    }

    #[test]
    fn what_was_counted_aside_belongs_to_the_interval() {
        let values = [3, 70, 70, 1 << 20, 5_000_000_000];
        let (mut whole, mut parted, mut aside) = (Histogram::new(), Histogram::new(), Histogram::new());
        let (mut whole_base, mut parted_base) = (Baseline::new(), Baseline::new());
        for round in 0..3 {
            for (index, value) in values.iter().enumerate().skip(round) {
                whole.add(*value);
                if index % 2 == 0 { &mut parted } else { &mut aside }.add(*value);
            }
            parted.add_all_of(&aside);
            aside.clear();
            parted.add_all_of(&aside);
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            assert!(
                whole.difference(&mut whole_base, &mut expected) && parted.difference(&mut parted_base, &mut found)
            );
            // The sums of squares are floating point: the order of additions decides the last bits.
            assert_eq!((found.len(), &found[..4]), (expected.len(), &expected[..4]));
        }
        let (whole, parted) = (whole.to_sparse(), parted.to_sparse());
        assert_eq!(
            (&parted.buckets, parted.min, parted.max, parted.sum),
            (&whole.buckets, whole.min, whole.max, whole.sum)
        );
        assert!((parted.sum_of_squares / whole.sum_of_squares - 1.0).abs() < 1e-12);
    }

    #[test]
    fn clearing_finds_all_that_was_counted() {
        let (mut histogram, mut baseline, mut bytes) = (Histogram::new(), Baseline::new(), Vec::new());
        let mut merged = Histogram::new();
        for values in [&[5, 900][..], &[70, 1 << 40], &[0], &[u64::MAX, 1 << 20]] {
            for value in values {
                histogram.add(*value);
                // Values of earlier differences may lie outside the extremes of the current
                // interval.
                assert!(histogram.difference(&mut baseline, &mut bytes));
            }
            merged.merge(&histogram);
            assert_eq!(histogram.count(), values.len() as u64);
            histogram.clear();
            baseline.clear();
            assert!(histogram.counts.iter().chain(baseline.counts.iter()).all(|count| *count == 0), "{values:?}");
            assert_eq!(histogram.to_sparse(), SparseHistogram::default());
        }
        assert_eq!((merged.count(), merged.counts.iter().sum::<u64>()), (7, 7));
        merged.clear();
        assert!(merged.counts.iter().all(|count| *count == 0));
    }

    #[test]
    fn the_middle_is_within_one_in_128() {
        for shift in 0..46 {
            for step in 0..1000_u64 {
                let value = (1_u64 << shift) + step * ((1_u64 << shift) / 1000 + 1) % (1 << shift).max(1);
                let middle = bucket_middle(bucket_of(value));
                assert!(middle.abs_diff(value) * 128 <= value, "{value} stands as {middle}");
            }
        }
    }
}
