//! Which bucket a value belongs to, and which values a bucket represents.
//!
//! The buckets are those of fio, continued upwards. Values below 128 have one bucket each; above
//! that, each power of two is divided into 64 buckets.

const SUB_BITS: u32 = 6;
/// Number of groups of 64 buckets; the last covers 2^45 to 2^46 ns.
const GROUPS: usize = 41;
/// Number of buckets.
pub const BUCKETS: usize = GROUPS << SUB_BITS;
/// The number of buckets that fio has as well (29 groups, up to 2^34 ns).
pub const FIO_BUCKETS: usize = 29 << SUB_BITS;
const LARGEST: u64 = (1 << (GROUPS as u32 + SUB_BITS - 1)) - 1;

/// Index of the bucket of `value`; values beyond the last bucket are counted in it.
#[inline]
pub const fn bucket_of(value: u64) -> usize {
    let value = if value > LARGEST { LARGEST } else { value };
    let error_bits = 63 - SUB_BITS - (value | (1 << SUB_BITS)).leading_zeros();
    ((error_bits as usize) << SUB_BITS) + (value >> error_bits) as usize
}

/// Smallest value of bucket `index`.
pub const fn bucket_low(index: usize) -> u64 {
    if index < (2 << SUB_BITS) {
        return index as u64;
    }
    let error_bits = (index >> SUB_BITS) as u32 - 1;
    ((index & ((1 << SUB_BITS) - 1)) as u64 + (1 << SUB_BITS)) << error_bits
}

/// The value that represents bucket `index`: its middle, as fio prints it.
pub const fn bucket_middle(index: usize) -> u64 {
    if index < (2 << SUB_BITS) {
        return index as u64;
    }
    let error_bits = (index >> SUB_BITS) as u32 - 1;
    bucket_low(index) + (1 << error_bits) / 2
}
