//! CRC32C (RFC 3720, appendix B.4).
//!
//! logfs computes it for everything that it writes and compares it for everything that it reads,
//! and so do NVMe over fabrics with digests and verified jobs, so its speed matters. Where the
//! processor multiplies 64 bytes at once (`wide`), that is the fastest way. Elsewhere, the crate
//! `crc32c` has three chains of CRC instructions and combines their results; four blocks of the
//! same length, and short messages, need no combining (`chains`).

mod chains;
mod wide;

pub use chains::FOUR;

/// CRC32C of `bytes`.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c_of_more(0, bytes)
}

/// CRC32C of a message that has the checksum `sum` so far, and that goes on with `bytes`. An empty
/// message has the checksum 0.
#[inline]
pub fn crc32c_of_more(sum: u32, bytes: &[u8]) -> u32 {
    let fast = if bytes.len() < wide::AT_ONCE { chains::of_one(sum, bytes) } else { wide::crc32c(sum, bytes) };
    fast.unwrap_or_else(|| crc32c::crc32c_append(sum, bytes))
}

/// CRC32C of each of four blocks. This is fastest if they have the same length.
pub fn crc32c_of_four(blocks: [&[u8]; FOUR]) -> [u32; FOUR] {
    let together = if wide::is_possible() { None } else { chains::of_four(blocks) };
    together.unwrap_or_else(|| blocks.map(crc32c))
}

/// CRC32C of the concatenation of all parts.
#[inline]
pub fn crc32c_of_parts(parts: &[&[u8]]) -> u32 {
    parts.iter().fold(0, |sum, part| crc32c_of_more(sum, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes without a pattern that a sum could miss.
    fn content(length: u32) -> Vec<u8> {
        (0..length).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
    }

    /// Each way alone, also one that is not taken on this processor because another is faster.
    #[test]
    fn all_ways_agree() {
        let bytes = content(4 * 4099);
        for length in [0, 1, 7, 8, 9, 255, 256, 257, 263, 264, 511, 512, 1023, 4096, 4099] {
            let blocks: [&[u8]; FOUR] = std::array::from_fn(|number| &bytes[number * length..][..length]);
            let sums = blocks.map(crc32c::crc32c);
            assert_eq!(crc32c_of_four(blocks), sums, "{length} bytes");
            assert_eq!(blocks.map(crc32c), sums, "{length} bytes");
            assert_eq!(chains::of_four(blocks).unwrap_or(sums), sums, "{length} bytes");
            assert_eq!(chains::of_one(0, blocks[3]).unwrap_or(sums[3]), sums[3], "{length} bytes");
            assert_eq!(wide::crc32c(0, blocks[3]).unwrap_or(sums[3]), sums[3], "{length} bytes");
        }
    }

    #[test]
    fn every_bit_counts() {
        let mut bytes = content(4096);
        let sum = crc32c(&bytes);
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(crc32c(&bytes), sum, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn the_vectors_of_the_rfc_come_out() {
        let check = |bytes: &[u8], expected: u32| assert_eq!(crc32c(bytes), expected, "{bytes:02x?}");
        check(&[0; 32], 0x8a91_36aa);
        check(&[0xff; 32], 0x62a8_ab43);
        check(&(0..32).collect::<Vec<u8>>(), 0x46dd_794e);
        check(&(0..32).rev().collect::<Vec<u8>>(), 0x113f_db5c);
        assert_eq!(crc32c_of_parts(&[&[0; 7], &[], &[0; 25]]), 0x8a91_36aa);
    }

    #[test]
    fn a_message_can_come_in_parts() {
        let bytes = content(2000);
        for length in [0, 1, 255, 256, 257, 1000, 1744, 1745, 2000] {
            let (first, second) = bytes.split_at(length);
            assert_eq!(crc32c_of_parts(&[first, second]), crc32c(&bytes), "{length} bytes, then the rest");
        }
    }
}
