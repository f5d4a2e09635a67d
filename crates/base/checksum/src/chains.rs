//! CRC32C by the instruction of the processor: of one short message, or of four blocks at once.
//!
//! The instruction takes eight bytes in three cycles, but another one can begin in every cycle:
//! four chains that do not depend on each other keep it busy. Parts of one block would also be
//! independent, but their results would have to be combined, which a short message is not worth.
//!
//! Unsafe code calls what is compiled for processors with SSE 4.2, if this is one.

#![allow(unsafe_code, reason = "island: call what is compiled for processors with SSE 4.2")]

/// Blocks whose checksums are computed together.
pub const FOUR: usize = 4;

/// CRC32C of a message that has the checksum `sum` so far and goes on with `bytes`; `None` if the
/// processor has no instruction for it.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn of_one(sum: u32, bytes: &[u8]) -> Option<u32> {
    // SAFETY: the processor has SSE 4.2, which is all that the function needs.
    is_x86_feature_detected!("sse4.2").then(|| unsafe { one_by_instruction(sum, bytes) })
}

/// CRC32C of each block; `None` if they have different lengths, or the processor has no instruction
/// for it.
#[cfg(target_arch = "x86_64")]
pub(super) fn of_four(blocks: [&[u8]; FOUR]) -> Option<[u32; FOUR]> {
    let is_possible = blocks.iter().all(|block| block.len() == blocks[0].len()) && is_x86_feature_detected!("sse4.2");
    // SAFETY: the processor has SSE 4.2, which is all that the function needs.
    is_possible.then(|| unsafe { four_by_instruction(blocks) })
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn of_one(_: u32, _: &[u8]) -> Option<u32> {
    None
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn of_four(_: [&[u8]; FOUR]) -> Option<[u32; FOUR]> {
    None
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn one_by_instruction(sum: u32, bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};
    let (words, rest) = bytes.as_chunks::<8>();
    let begun = u64::from(!sum);
    let sum = words.iter().fold(begun, |sum, word| _mm_crc32_u64(sum, u64::from_le_bytes(*word)));
    // The value has 32 bits.
    !rest.iter().fold(sum as u32, |sum, byte| _mm_crc32_u8(sum, *byte))
}

/// For blocks of the same length.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn four_by_instruction(blocks: [&[u8]; FOUR]) -> [u32; FOUR] {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};
    let [one, two, three, four] = blocks.map(|block| block.as_chunks::<8>());
    let mut sums = [u64::from(u32::MAX); FOUR];
    for (((one, two), three), four) in one.0.iter().zip(two.0).zip(three.0).zip(four.0) {
        let words = [one, two, three, four].map(|word| u64::from_le_bytes(*word));
        for (sum, word) in sums.iter_mut().zip(words) {
            *sum = _mm_crc32_u64(*sum, word);
        }
    }
    let ends = [one.1, two.1, three.1, four.1];
    std::array::from_fn(|number| !ends[number].iter().fold(sums[number] as u32, |sum, byte| _mm_crc32_u8(sum, *byte)))
}
