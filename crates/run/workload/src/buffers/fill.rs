//! Filling memory: fast random bytes, and patterns.
//!
//! The random bytes come from a counter multiplied with itself, 64 by 64 to 128 bits and folded,
//! eight bytes a step. The steps do not depend on each other, so that the processor overlaps them.
//! The construction is that of wyrand (Wang Yi, "wyhash", public domain); incompressible, not for
//! cryptography.

use iolab_random::finalize;

const STEP: u64 = 0xa076_1d64_78bd_642f;
const TWIST: u64 = 0xe703_7ed1_a0b4_28db;

#[inline]
fn word(counter: u64) -> u64 {
    let product = u128::from(counter) * u128::from(counter ^ TWIST);
    (product >> 64) as u64 ^ product as u64
}

/// Random bytes; a shorter buffer gets the beginning of a longer one's bytes.
#[inline]
pub(super) fn fill_random(seed: u64, buffer: &mut [u8]) {
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

/// Repeats the pattern, cut off at the end.
pub(super) fn fill_repeated(pattern: &[u8], buffer: &mut [u8]) {
    if let [byte] = pattern {
        buffer.fill(*byte);
        return;
    }
    let first = pattern.len().min(buffer.len());
    buffer[..first].copy_from_slice(&pattern[..first]);
    // Each copy doubles the filled part. Whole patterns are copied, so it stays aligned.
    let mut done = first;
    while done < buffer.len() && done > 0 {
        let more = done.min(buffer.len() - done);
        buffer.copy_within(..more, done);
        done += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_repeat_from_the_start() {
        for (pattern, length) in [("a", 5), ("abc", 10), ("abcdefgh", 3), ("ab", 4096), ("x", 0)] {
            let mut buffer = vec![b'.'; length];
            fill_repeated(pattern.as_bytes(), &mut buffer);
            let expected: Vec<u8> = pattern.bytes().cycle().take(length).collect();
            assert_eq!(buffer, expected, "{pattern}");
        }
    }

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
