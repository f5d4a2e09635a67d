//! CRC32C, the digest of headers and data (TCP, section 3.2; RFC 3720, appendix B.4).

pub use iolab_checksum::crc32c;
use iolab_checksum::crc32c_of_more;

/// The digest of data that arrives in pieces.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunningDigest(u32);

impl RunningDigest {
    /// Adds the next piece.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0 = crc32c_of_more(self.0, bytes);
    }

    /// CRC32C of all pieces.
    pub fn value(self) -> u32 {
        self.0
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
