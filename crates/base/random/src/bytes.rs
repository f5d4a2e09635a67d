//! Random bytes for the content of buffers: fast, incompressible, not for cryptography.
//!
//! They come from a counter multiplied with itself, 64 by 64 to 128 bits and folded, eight bytes a
//! step. The steps do not depend on each other, so that the processor overlaps them. The
//! construction is that of wyrand (Wang Yi, "wyhash", public domain).

use crate::finalize;

const STEP: u64 = 0xa076_1d64_78bd_642f;
const TWIST: u64 = 0xe703_7ed1_a0b4_28db;

fn word(counter: u64) -> u64 {
    let product = u128::from(counter) * u128::from(counter ^ TWIST);
    (product >> 64) as u64 ^ product as u64
}

/// Fills memory with random bytes; a shorter buffer gets the beginning of a longer one's bytes.
pub fn fill_random(seed: u64, buffer: &mut [u8]) {
    let mut counter = finalize(seed);
    // Four words per iteration: an iteration costs as much as one word.
    let (groups, rest) = buffer.as_chunks_mut::<32>();
    for group in groups {
        let (words, _) = group.as_chunks_mut::<8>();
        for (bytes, number) in words.iter_mut().zip(1..) {
            *bytes = word(counter.wrapping_add(STEP.wrapping_mul(number))).to_le_bytes();
        }
        counter = counter.wrapping_add(STEP.wrapping_mul(4));
    }
    let (words, rest) = rest.as_chunks_mut::<8>();
    for bytes in words {
        counter = counter.wrapping_add(STEP);
        *bytes = word(counter).to_le_bytes();
    }
    let last = word(counter.wrapping_add(STEP)).to_le_bytes();
    for (byte, value) in rest.iter_mut().zip(last) {
        *byte = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_are_even_and_prefixes_agree() {
        let mut long = vec![0; 1 << 18];
        fill_random(3, &mut long);
        let mut counts = [0_f64; 256];
        for byte in &long {
            counts[usize::from(*byte)] += 1.0;
        }
        let chi: f64 = counts.iter().map(|count| (count - 1024.0).powi(2) / 1024.0).sum();
        // 255 degrees of freedom: deviation 22.6.
        assert!((165.0..345.0).contains(&chi), "{chi}");
        for length in [0, 1, 7, 8, 9, 4095] {
            let mut short = vec![0; length];
            fill_random(3, &mut short);
            assert_eq!(short, long[..length]);
        }
    }
}
