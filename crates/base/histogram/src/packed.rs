//! The difference between two states of a running histogram, in a few hundred bytes.
//!
//! Bytes of one difference; numbers are LEB128 varints unless a width is given:
//!
//! ```text
//!  min │ max - min │ sum │ sum of squares: f64, 8 bytes │ length: u16 │ (gap │ count) (gap │ count) …
//! ```
//!
//! A gap is the number of empty buckets before the next non-empty one; `length` is the length of
//! all pairs in bytes. A reader checks that buckets exist, that counts are not 0, and that minimum
//! and maximum are in the first and last bucket.

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::sparse::check_sums;
use crate::varint::{put_varint, take_varint};
use crate::{BUCKETS, LONGEST_DIFFERENCE, SparseHistogram, bucket_of};

/// The largest number of values in one difference, so that the sum of many differences cannot
/// overflow.
const MOST_VALUES: u64 = 1 << 48;

/// What was added to a histogram in one interval: exact moments and delta-coded buckets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Fields")]
#[cfg_attr(feature = "schema", schemars(!try_from))]
pub struct PackedHistogram {
    /// Smallest value, exact.
    pub min: u64,
    /// Largest value, exact.
    pub max: u64,
    /// Sum of all values.
    pub sum: u64,
    /// Sum of their squares.
    pub sum_of_squares: f64,
    /// The counts: pairs of gap and count, one after the other.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<u64>"))]
    pub buckets: PackedBuckets,
}

/// Buckets that are not empty, as pairs of gap and count; in JSON one flat array of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedBuckets {
    bytes: Box<[u8]>,
}

/// The unchecked form of a [`PackedHistogram`].
#[derive(Deserialize)]
struct Fields {
    min: u64,
    max: u64,
    sum: u64,
    sum_of_squares: f64,
    buckets: PackedBuckets,
}

impl TryFrom<Fields> for PackedHistogram {
    type Error = &'static str;

    fn try_from(fields: Fields) -> Result<PackedHistogram, &'static str> {
        let Fields { min, max, sum, sum_of_squares, buckets } = fields;
        let packed = PackedHistogram { min, max, sum, sum_of_squares, buckets };
        packed.check().map(|()| packed)
    }
}

impl PackedHistogram {
    /// Reads one difference from the front of `bytes`; `None` if it is incomplete or invalid.
    pub fn take(bytes: &mut &[u8]) -> Option<PackedHistogram> {
        let min = take_varint(bytes)?;
        let max = min.checked_add(take_varint(bytes)?)?;
        let sum = take_varint(bytes)?;
        let sum_of_squares = f64::from_le_bytes(*bytes.split_off(..8)?.first_chunk()?);
        let length = u16::from_le_bytes(*bytes.split_off(..2)?.first_chunk()?);
        let buckets = PackedBuckets { bytes: bytes.split_off(..usize::from(length))?.into() };
        let packed = PackedHistogram { min, max, sum, sum_of_squares, buckets };
        packed.check().ok().map(|()| packed)
    }

    fn check(&self) -> Result<(), &'static str> {
        let (mut first, mut last, mut total) = (None, 0, 0_u64);
        let mut rest = &*self.buckets.bytes;
        let mut next = 0_usize;
        while !rest.is_empty() {
            let gap = take_varint(&mut rest).ok_or("a bucket is cut off")?;
            let count = take_varint(&mut rest).ok_or("a count is cut off")?;
            last = usize::try_from(gap).ok().and_then(|gap| next.checked_add(gap)).unwrap_or(BUCKETS);
            total = total.saturating_add(count);
            if last >= BUCKETS || count == 0 {
                return Err("a bucket does not exist or is empty");
            }
            first.get_or_insert(last);
            next = last + 1;
        }
        match first {
            None => Err("no buckets"),
            Some(_) if total > MOST_VALUES => Err("more values than an interval can have"),
            Some(first) if self.min > self.max || (bucket_of(self.min), bucket_of(self.max)) != (first, last) => {
                Err("the extremes are outside the buckets")
            }
            Some(_) => check_sums(total, (self.min, self.max), (u128::from(self.sum), self.sum_of_squares)),
        }
    }

    /// What two of them have counted, as one: that of two intervals which follow each other.
    #[must_use]
    pub fn merged(&self, other: &PackedHistogram) -> PackedHistogram {
        let mut sum = self.to_sparse();
        sum.merge(&other.to_sparse());
        let (mut bytes, mut next) = (Vec::new(), 0);
        for (index, count) in &sum.buckets {
            put_varint(&mut bytes, u64::from(index - next));
            put_varint(&mut bytes, *count);
            next = index + 1;
        }
        PackedHistogram {
            min: sum.min,
            max: sum.max,
            sum: u64::try_from(sum.sum).unwrap_or(u64::MAX),
            sum_of_squares: sum.sum_of_squares,
            buckets: PackedBuckets { bytes: bytes.into() },
        }
    }

    /// The same histogram with bucket numbers instead of gaps.
    pub fn to_sparse(&self) -> SparseHistogram {
        let buckets: Vec<(u32, u64)> = self.buckets.iter().collect();
        SparseHistogram {
            count: buckets.iter().map(|bucket| bucket.1).sum(),
            min: self.min,
            max: self.max,
            sum: u128::from(self.sum),
            sum_of_squares: self.sum_of_squares,
            buckets,
        }
    }
}

impl PackedBuckets {
    /// `(bucket index, count)`, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        let mut rest = &*self.bytes;
        let mut next = 0;
        std::iter::from_fn(move || {
            let index = next + take_varint(&mut rest)? as u32;
            next = index + 1;
            Some((index, take_varint(&mut rest)?))
        })
    }
}

impl Serialize for PackedBuckets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut numbers = serializer.serialize_seq(None)?;
        let mut rest = &*self.bytes;
        while let Some(number) = take_varint(&mut rest) {
            numbers.serialize_element(&number)?;
        }
        numbers.end()
    }
}

impl<'de> Deserialize<'de> for PackedBuckets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PackedBuckets, D::Error> {
        struct Numbers;
        impl<'de> Visitor<'de> for Numbers {
            type Value = PackedBuckets;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("gaps and counts, alternating")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<PackedBuckets, A::Error> {
                let mut bytes = Vec::new();
                while let Some(number) = numbers.next_element::<u64>()? {
                    if bytes.len() > LONGEST_DIFFERENCE {
                        return Err(A::Error::custom("more buckets than there are"));
                    }
                    put_varint(&mut bytes, number);
                }
                Ok(PackedBuckets { bytes: bytes.into() })
            }
        }
        deserializer.deserialize_seq(Numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Baseline, Histogram};

    #[test]
    fn numbers_survive_their_coding() {
        for number in [0, 1, 127, 128, 300, 1 << 35, u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, number);
            let mut rest = bytes.as_slice();
            assert_eq!((take_varint(&mut rest), rest.len()), (Some(number), 0));
            assert_eq!(take_varint(&mut &bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(take_varint(&mut [0xff; 9].iter().copied().chain([2]).collect::<Vec<_>>().as_slice()), None);
        assert_eq!(take_varint(&mut [0x80, 0].as_slice()), None);
    }

    #[test]
    fn impossible_histograms_are_refused() {
        let good = r#"{"min":3,"max":5,"sum":8,"sum_of_squares":34.0,"buckets":[3,1,1,1]}"#;
        let packed: PackedHistogram = serde_json::from_str(good).unwrap();
        assert_eq!(packed.to_sparse().buckets, [(3, 1), (5, 1)]);
        assert_eq!(serde_json::to_string(&packed).unwrap(), good);
        for (part, wrong) in [
            ("[3,1,1,1]", "[]"),
            ("[3,1,1,1]", "[3,1,1]"),
            ("[3,1,1,1]", "[3,1,1,0]"),
            ("[3,1,1,1]", "[3,1,9999,1]"),
            ("[3,1,1,1]", "[18446744073709551615,1]"),
            ("[3,1,1,1]", "[3,1,1,18446744073709551615]"),
            ("\"min\":3", "\"min\":4"),
            ("\"max\":5", "\"max\":2"),
            ("34.0", "-1.0"),
            ("\"sum\":8", "\"sum\":11"),
        ] {
            assert!(serde_json::from_str::<PackedHistogram>(&good.replace(part, wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_longest_difference_fits() {
        let (mut histogram, mut baseline) = (Histogram::new(), Baseline::new());
        (0..BUCKETS).for_each(|index| histogram.add_many(crate::bucket_low(index), 1 << 30));
        let mut bytes = Vec::with_capacity(LONGEST_DIFFERENCE);
        assert!(histogram.difference(&mut baseline, &mut bytes));
        assert!(bytes.len() <= LONGEST_DIFFERENCE && bytes.len() < usize::from(u16::MAX));
        assert_eq!(PackedHistogram::take(&mut bytes.as_slice()).unwrap().to_sparse().buckets.len(), BUCKETS);
    }
}
