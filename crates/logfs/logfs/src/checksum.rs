//! The checksum of everything on the disk: CRC32C (RFC 3720, appendix B.4).
//!
//! Every write computes checksums of its content, so their speed matters. `crc-fast` folds by
//! carry-less multiplication where the processor can, several times as fast as a chain of CRC
//! instructions.

use crc_fast::{CrcAlgorithm, Digest};

/// CRC32C of `bytes`.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    // The value has 32 bits.
    crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
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
    fn the_vectors_of_the_rfc_come_out() {
        let check = |bytes: &[u8], expected: u32| assert_eq!(crc32c(bytes), expected, "{bytes:02x?}");
        check(&[0; 32], 0x8a91_36aa);
        check(&[0xff; 32], 0x62a8_ab43);
        check(&(0..32).collect::<Vec<u8>>(), 0x46dd_794e);
        check(&(0..32).rev().collect::<Vec<u8>>(), 0x113f_db5c);
        assert_eq!(crc32c_of_parts(&[&[0; 7], &[], &[0; 25]]), 0x8a91_36aa);
    }
}
