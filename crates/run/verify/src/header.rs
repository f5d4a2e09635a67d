//! The header of an interval.
//!
//! ```text
//!   0  magic "ioV1"          4  CRC-32C of bytes 8 to 63
//!   8  length                12 kind   13 flags   14 job
//!  16  offset                24 seed
//!  32  sequence              40 generation        44 file
//!  48  time, ns since 1970   56 run, ns since 1970
//!  64  checksum of all bytes of the interval outside the header, 0 to 64 bytes
//! ```
//!
//! All numbers are little-endian. The fields are those of fio's header and two more: the
//! generation, and when the run began, which tells a block of an earlier run by the same seed.

use crc_fast::CrcAlgorithm;
use iolab_plan::VerifyKind;

/// Bytes in front of the checksum.
pub(crate) const FIXED_BYTES: usize = 64;

const MAGIC: [u8; 4] = *b"ioV1";

/// The content outside the header is what [`crate::content`] makes of the fields, and can be made
/// again from them.
pub(crate) const REGENERABLE: u8 = 1;

/// What a header says, without the checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the interval, header included.
    pub length: u32,
    /// Kind of checksum.
    pub kind: VerifyKind,
    /// Bit 0: the content follows from the fields.
    pub flags: u8,
    /// Number of the worker that wrote it.
    pub job: u16,
    /// Where in the file the interval begins, bytes.
    pub offset: u64,
    /// Seed of the content.
    pub seed: u64,
    /// Which write of its worker it was, from 0.
    pub sequence: u64,
    /// How often the interval has been written in the run; starts again behind 4095.
    pub generation: u32,
    /// Number of the file in its worker.
    pub file: u32,
    /// When it was made, ns since 1970.
    pub time_ns: u64,
    /// When its run began, ns since 1970.
    pub run: u64,
}

impl Header {
    /// Writes all but the checksum to the first 64 bytes.
    #[inline]
    pub(crate) fn put(&self, out: &mut [u8; FIXED_BYTES]) {
        out[..4].copy_from_slice(&MAGIC);
        out[8..12].copy_from_slice(&self.length.to_le_bytes());
        out[12] = self.kind as u8;
        out[13] = self.flags;
        out[14..16].copy_from_slice(&self.job.to_le_bytes());
        out[16..24].copy_from_slice(&self.offset.to_le_bytes());
        out[24..32].copy_from_slice(&self.seed.to_le_bytes());
        out[32..40].copy_from_slice(&self.sequence.to_le_bytes());
        out[40..44].copy_from_slice(&self.generation.to_le_bytes());
        out[44..48].copy_from_slice(&self.file.to_le_bytes());
        out[48..56].copy_from_slice(&self.time_ns.to_le_bytes());
        out[56..64].copy_from_slice(&self.run.to_le_bytes());
        let sum = own_sum(out);
        out[4..8].copy_from_slice(&sum);
    }

    /// The header at the beginning of `bytes`; `None` when there is none that is whole.
    #[inline]
    pub fn get(bytes: &[u8]) -> Option<Header> {
        let bytes: &[u8; FIXED_BYTES] = bytes.first_chunk()?;
        if bytes[..4] != MAGIC || bytes[4..8] != own_sum(bytes) {
            return None;
        }
        let half = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let word = |at: usize| u64::from(half(at)) | u64::from(half(at + 4)) << 32;
        Some(Header {
            length: half(8),
            kind: VerifyKind::ALL.iter().copied().find(|kind| *kind as u8 == bytes[12])?,
            flags: bytes[13],
            job: u16::from_le_bytes([bytes[14], bytes[15]]),
            offset: word(16),
            seed: word(24),
            sequence: word(32),
            generation: half(40),
            file: half(44),
            time_ns: word(48),
            run: word(56),
        })
    }
}

impl std::fmt::Display for Header {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            text,
            "{}, offset {}, length {}, generation {}, seed {:#x}, write {} of job {}, file {}, time {} ns, run {}",
            self.kind.name(),
            self.offset,
            self.length,
            self.generation,
            self.seed,
            self.sequence,
            self.job,
            self.file,
            self.time_ns,
            self.run
        )
    }
}

#[inline]
fn own_sum(bytes: &[u8; FIXED_BYTES]) -> [u8; 4] {
    (crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, &bytes[8..]) as u32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_read_and_no_byte_may_differ() {
        for kind in VerifyKind::ALL.iter().copied() {
            let header = Header {
                length: 4096,
                kind,
                flags: 1,
                job: 3,
                offset: 1 << 41,
                seed: 77,
                sequence: u64::MAX,
                generation: 9,
                file: 2,
                time_ns: 5,
                run: 6,
            };
            let mut bytes = [0; FIXED_BYTES];
            header.put(&mut bytes);
            assert_eq!(Header::get(&bytes), Some(header));
            for at in 0..FIXED_BYTES {
                let mut mangled = bytes;
                mangled[at] ^= 4;
                assert_eq!(Header::get(&mangled), None, "byte {at}");
            }
        }
        assert_eq!(Header::get(&[0; 64]), None);
        assert_eq!(Header::get(b"ioV1"), None);
    }
}
