//! The checksum of everything on the disk: CRC32C (RFC 3720, appendix B.4).
//!
//! Every write computes checksums of its content, and every read compares them, so their speed
//! matters. `crc-fast` folds by carry-less multiplication where the processor can, several times as
//! fast as a chain of CRC instructions. Four chains at once are faster still, if there are four
//! blocks.

mod four;

use crc_fast::{CrcAlgorithm, Digest};

/// CRC32C of `bytes`.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    // The value has 32 bits.
    crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// Blocks whose checksums [`crc32c_of_four`] computes together.
pub(crate) const FOUR: usize = 4;

/// CRC32C of each of four blocks of the same length.
pub(crate) fn crc32c_of_four(blocks: [&[u8]; FOUR]) -> [u32; FOUR] {
    four::crc32c(blocks).unwrap_or_else(|| blocks.map(crc32c))
}

/// CRC32C of the concatenation of all parts.
pub(crate) fn crc32c_of_parts(parts: &[&[u8]]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_at_once_are_those_of_each() {
        let bytes: Vec<u8> = (0..4 * 4099_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for length in [0, 1, 7, 8, 9, 512, 4096, 4099] {
            let blocks: [&[u8]; FOUR] = std::array::from_fn(|number| &bytes[number * length..][..length]);
            assert_eq!(crc32c_of_four(blocks), blocks.map(crc32c), "{length} bytes");
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
}
