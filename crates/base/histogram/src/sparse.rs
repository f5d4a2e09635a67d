//! A histogram as plain data: what recordings hold and reports read.

use serde::{Deserialize, Serialize};

use crate::{BUCKETS, bucket_middle, bucket_of};

/// The largest number of values accepted in one histogram, so that the sum of many histograms
/// cannot overflow.
pub(crate) const MOST_VALUES: u64 = 1 << 53;

/// The non-empty buckets and the exact moments of a [`crate::Histogram`]. A reader checks that its
/// parts agree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Fields")]
#[cfg_attr(feature = "schema", schemars(!try_from))]
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

/// The unchecked form of a [`SparseHistogram`].
#[derive(Deserialize)]
struct Fields {
    count: u64,
    min: u64,
    max: u64,
    sum: u128,
    sum_of_squares: f64,
    buckets: Vec<(u32, u64)>,
}

impl TryFrom<Fields> for SparseHistogram {
    type Error = &'static str;

    fn try_from(fields: Fields) -> Result<SparseHistogram, &'static str> {
        let Fields { count, min, max, sum, sum_of_squares, buckets } = fields;
        let histogram = SparseHistogram { count, min, max, sum, sum_of_squares, buckets };
        histogram.check().map(|()| histogram)
    }
}

/// Checks that `buckets` exist, ascend, and are not empty. Returns the number of values.
///
/// # Errors
/// What is wrong with them.
pub fn check_buckets(buckets: &[(u32, u64)]) -> Result<u64, &'static str> {
    let mut values = 0_u64;
    let mut next = 0;
    for &(index, count) in buckets {
        if index < next || index as usize >= BUCKETS {
            return Err("a bucket of a histogram does not exist or stands in the wrong place");
        }
        if count == 0 || count > MOST_VALUES - values {
            return Err("a bucket of a histogram has an impossible count");
        }
        values += count;
        next = index + 1;
    }
    Ok(values)
}

/// Checks that this number of values between these extremes can have these sums.
pub(crate) fn check_sums(count: u64, extremes: (u64, u64), sums: (u128, f64)) -> Result<(), &'static str> {
    let [least, most] = [extremes.0, extremes.1].map(|extreme| u128::from(extreme) * u128::from(count));
    if !(least..=most).contains(&sums.0) {
        return Err("the sum of a histogram does not fit its extremes");
    }
    if !(sums.1.is_finite() && sums.1 >= 0.0) {
        return Err("the sum of squares of a histogram is impossible");
    }
    Ok(())
}

impl SparseHistogram {
    fn check(&self) -> Result<(), &'static str> {
        // Moments without buckets are allowed: some files omit the buckets to be smaller.
        if check_buckets(&self.buckets)? != self.count && !self.buckets.is_empty() || self.count > MOST_VALUES {
            return Err("the buckets of a histogram do not add up to its count");
        }
        let place = |at: Option<&(u32, u64)>| at.map(|(index, _)| *index as usize);
        let ends = (place(self.buckets.first()), place(self.buckets.last()));
        let fits = match ends {
            (Some(first), Some(last)) => {
                self.min <= self.max && (bucket_of(self.min), bucket_of(self.max)) == (first, last)
            }
            _ if self.count == 0 => (self.min, self.max) == (0, 0),
            _ => self.min <= self.max,
        };
        if !fits {
            return Err("the extremes of a histogram are outside its buckets");
        }
        check_sums(self.count, (self.min, self.max), (self.sum, self.sum_of_squares))
    }

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

    /// The `percent`-th percentile by nearest rank: the middle of the bucket that contains it,
    /// limited to the true minimum and maximum. 0 if empty.
    pub fn percentile(&self, percent: f64) -> u64 {
        let rank = ((percent / 100.0 * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0_u64;
        for &(index, count) in &self.buckets {
            seen = seen.saturating_add(count);
            if seen >= rank {
                return bucket_middle(index as usize).clamp(self.min, self.max);
            }
        }
        self.max
    }

    /// Adds everything that `other` has counted.
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
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.sum_of_squares += other.sum_of_squares;
        merge_buckets(&mut self.buckets, &other.buckets);
    }
}

/// Adds buckets to others; both ascend. In place, from the last to the first, so that a sum of
/// many histograms is seldom copied.
fn merge_buckets(sum: &mut Vec<(u32, u64)>, other: &[(u32, u64)]) {
    let mut unread = sum.len();
    sum.resize(unread + missing(sum, other), (0, 0));
    let mut place = sum.len();
    for &(index, count) in other.iter().rev() {
        while unread > 0 && sum[unread - 1].0 > index {
            (unread, place) = (unread - 1, place - 1);
            sum[place] = sum[unread];
        }
        place -= 1;
        let is_known = unread > 0 && sum[unread - 1].0 == index;
        unread -= usize::from(is_known);
        sum[place] = (index, if is_known { sum[unread].1.saturating_add(count) } else { count });
    }
}

/// How many buckets of `other` are not among `buckets`; both ascend.
fn missing(buckets: &[(u32, u64)], other: &[(u32, u64)]) -> usize {
    let mut known = buckets.iter().map(|bucket| bucket.0).peekable();
    let is_missing = |index: u32| {
        while known.next_if(|before| *before < index).is_some() {}
        known.next_if_eq(&index).is_none()
    };
    other.iter().map(|bucket| bucket.0).map(is_missing).filter(|missing| *missing).count()
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
    fn impossible_histograms_are_refused() {
        let good = r#"{"count":2,"min":3,"max":5,"sum":8,"sum_of_squares":34.0,"buckets":[[3,1],[5,1]]}"#;
        let read: super::SparseHistogram = serde_json::from_str(good).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), good);
        for (part, wrong) in [
            ("\"min\":3", "\"min\":6"),
            ("\"min\":3", "\"min\":18446744073709551615"),
            ("\"max\":5", "\"max\":4"),
            ("\"count\":2", "\"count\":3"),
            ("\"sum\":8", "\"sum\":5"),
            ("\"sum\":8", "\"sum\":340282366920938463463374607431768211455"),
            ("34.0", "-1.0"),
            ("34.0", "null"),
            ("[3,1],[5,1]", "[5,1],[3,1]"),
            ("[3,1],[5,1]", "[3,1],[3,1]"),
            ("[3,1],[5,1]", "[3,1],[5,0]"),
            ("[3,1],[5,1]", "[3,1],[4294967295,1]"),
            ("[3,1],[5,1]", "[3,18446744073709551615],[5,3]"),
            ("\"count\":2", "\"count\":0"),
        ] {
            assert!(serde_json::from_str::<super::SparseHistogram>(&good.replace(part, wrong)).is_err(), "{wrong}");
        }
    }

    /// A histogram that no reader would accept still causes no arithmetic error.
    #[test]
    fn many_large_histograms_can_be_merged() {
        let mut all = Histogram::new().to_sparse();
        let mut one = Histogram::new();
        one.add_many(1 << 40, super::MOST_VALUES);
        let one = one.to_sparse();
        (0..5000).for_each(|_| all.merge(&one));
        assert_eq!((all.count, all.percentile(99.0)), (u64::MAX, 1 << 40));
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

    /// Every way in which buckets of two histograms can lie beside each other.
    #[test]
    fn merged_buckets_ascend_and_keep_every_count() {
        for pattern in 0_u32..1 << 12 {
            let of = |bit: u32| -> Vec<(u32, u64)> {
                (0..6)
                    .filter(|place| pattern >> (2 * place + bit) & 1 == 1)
                    .map(|place| (place, 1 + u64::from(bit)))
                    .collect()
            };
            let (mut sum, other) = (of(0), of(1));
            super::merge_buckets(&mut sum, &other);
            let count =
                |place: u32| u64::from(pattern >> (2 * place) & 1) + 2 * u64::from(pattern >> (2 * place + 1) & 1);
            let expected: Vec<(u32, u64)> = (0..6).map(|place| (place, count(place))).filter(|one| one.1 > 0).collect();
            assert_eq!(sum, expected, "{pattern:b}");
        }
    }
}
