//! The header of an interval.
//!
//! ```text
//!   0  magic "ioV1"          4  CRC-32C of all bytes behind it
//!   8  length                12 kind   13 flags   14 job
//!  16  offset                24 seed
//!  32  sequence              40 generation        44 file
//!  48  time, ns since 1970   56 run, ns since 1970
//!  64  checksum of all bytes of the interval outside the header, 0 to 64 bytes
//! ```
//!
//! All numbers are little-endian. The fields are those of fio's header and two more: the
//! generation, and when the run began. The latter identifies blocks of an earlier run with the same
//! seed.

use iolab_checksum::crc32c;
use iolab_plan::VerifyKind;

use crate::kind::header_bytes;

/// Bytes in front of the checksum.
pub(crate) const FIXED_BYTES: usize = 64;

const MAGIC: [u8; 4] = *b"ioV1";

/// The content outside the header follows from the fields by [`crate::content`], and can be made
/// again from them.
pub(crate) const REGENERABLE: u8 = 1;

/// The fields of a header, without the checksum.
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
    /// The number of the write of its worker, from 0.
    pub sequence: u64,
    /// How often the interval has been written in the run; wraps after 4095.
    pub generation: u32,
    /// Number of the file in its worker.
    pub file: u32,
    /// When it was made, ns since 1970.
    pub time_ns: u64,
    /// When its run began, ns since 1970.
    pub run: u64,
}

impl Header {
    /// Writes the header in front of an existing checksum.
    #[inline]
    pub(crate) fn put(&self, whole: &mut [u8]) {
        let Some(out) = whole.first_chunk_mut::<FIXED_BYTES>() else { return };
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
        let sum = own_sum(whole);
        whole[4..8].copy_from_slice(&sum);
    }

    /// The header at the beginning of `bytes`; `None` if it is not whole.
    #[inline]
    pub fn get(bytes: &[u8]) -> Option<Header> {
        let kind = *bytes.get(12)?;
        let kind = *VerifyKind::ALL.get(usize::from(kind).checked_sub(1)?).filter(|known| **known as u8 == kind)?;
        let whole = bytes.get(..header_bytes(kind))?;
        let bytes: &[u8; FIXED_BYTES] = bytes.first_chunk()?;
        if bytes[..4] != MAGIC || bytes[4..8] != own_sum(whole) {
            return None;
        }
        let half = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let word = |at: usize| u64::from(half(at)) | u64::from(half(at + 4)) << 32;
        Some(Header {
            length: half(8),
            kind,
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

/// The sequence number and the time in a header, even if other parts of it are damaged.
pub(crate) fn sequence_and_time(bytes: &[u8]) -> Option<(u64, u64)> {
    let word = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    Some((word(32)?, word(48)?))
}

#[inline]
fn own_sum(bytes: &[u8]) -> [u8; 4] {
    crc32c(&bytes[8..]).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_read_and_no_byte_may_differ() {
        for kind in VerifyKind::ALL.iter().copied().filter(|kind| header_bytes(*kind) > 0) {
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
            let mut bytes = vec![7; header_bytes(kind)];
            header.put(&mut bytes);
            assert_eq!(Header::get(&bytes), Some(header));
            for at in 0..bytes.len() {
                let mut mangled = bytes.clone();
                mangled[at] ^= 4;
                assert_eq!(Header::get(&mangled), None, "byte {at}");
            }
        }
        assert_eq!(Header::get(&[0; 64]), None);
        assert_eq!(Header::get(b"ioV1"), None);
    }
}
