//! CRC32C, the digest of headers and data (TCP, section 3.2; RFC 3720, appendix B.4).

use crc_fast::{CrcAlgorithm, Digest};

/// CRC32C of `bytes`.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    // The algorithm has 32 bits.
    crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// The digest of data that arrives in pieces.
#[derive(Debug, Clone, Copy)]
pub struct RunningDigest(Digest);

impl Default for RunningDigest {
    fn default() -> RunningDigest {
        RunningDigest(Digest::new(CrcAlgorithm::Crc32Iscsi))
    }
}

impl RunningDigest {
    /// Adds the next piece.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// CRC32C of all pieces.
    pub fn value(self) -> u32 {
        self.0.finalize() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_rfc_come_out_whole_and_in_pieces() {
        let ascending: Vec<u8> = (0..32).collect();
        for (bytes, expected) in [(vec![0; 32], 0x8a91_36aa), (vec![0xff; 32], 0x62a8_ab43), (ascending, 0x46dd_794e)] {
            assert_eq!(crc32c(&bytes), expected);
            let mut running = RunningDigest::default();
            bytes.chunks(5).for_each(|piece| running.add(piece));
            assert_eq!(running.value(), expected);
        }
    }
}
