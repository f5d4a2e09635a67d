//! A latency histogram: fixed log-linear buckets, merge by addition, percentiles by nearest rank.
//!
//! Layout: values below 128 are exact. Above that, each power of two is divided into 64 equal
//! buckets, so the middle of a bucket is at most 1/128 (0.78 %) away from any value in it. The
//! index is `(e << 6) + (v >> e)` with `e = max(0, floor(log2 v) - 6)`. The first 1,856 buckets are
//! those of fio's `stat.h` (29 groups of 64), so fio's tables of bins can be produced without loss.
//! The buckets here continue to 2^46 ns (19.5 hours), and the last one counts everything slower.
//! Minimum, maximum, sum, and sum of squares are kept exactly beside the buckets, and no percentile
//! is reported above the true maximum.

mod bucket_arithmetic;
mod buckets;
mod packed;
mod sparse;
mod varint;

pub use bucket_arithmetic::{BUCKETS, FIO_BUCKETS, bucket_low, bucket_middle, bucket_of};
pub use buckets::{Baseline, Histogram, LONGEST_DIFFERENCE};
pub use packed::{PackedBuckets, PackedHistogram};
pub use sparse::{SparseHistogram, check_buckets};
pub use varint::{put_varint, take_varint};
