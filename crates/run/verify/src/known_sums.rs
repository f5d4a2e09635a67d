//! The CRC-32C of plain content, computed without reading it.
//!
//! Plain content is a range of the pool with stamps written over it, and a CRC is linear: the sum
//! of each range is stored, and the changes by the stamps are added. So filling need not sum the
//! copied bytes, and checking need only compare with the pool, which finds more errors than a sum
//! does.

use std::sync::OnceLock;

use iolab_checksum::crc32c as sum;
use iolab_plan::VerifyKind;

use crate::content::{Origin, PIECE, SECTOR, STRETCHES, noise, stretch};
use crate::kind::header_bytes;

/// Bytes at the beginning of an interval that the sum excludes.
const HEADER: usize = header_bytes(VerifyKind::Crc32c);
const STAMP: usize = size_of::<u64>();

/// By bytes of a word: the sum of a range of zeroes that begins with the word.
type WordTable<const BYTES: usize> = [[u32; 256]; BYTES];

/// The known sums of the pool.
#[derive(Debug)]
pub(crate) struct KnownSums {
    /// The sum of each range.
    whole: Box<[u32]>,
    /// The sum of each range without its header.
    headed: Box<[u32]>,
    /// A stamp, and the rest of its sector.
    sector: Box<WordTable<STAMP>>,
    /// A register of the sum, and a piece.
    piece: Box<WordTable<4>>,
}

fn word_table<const BYTES: usize>(length: usize) -> Box<WordTable<BYTES>> {
    let mut zeroes = vec![0; length];
    let plain = sum(&zeroes);
    let mut table = Box::new([[0; 256]; BYTES]);
    for (place, row) in table.iter_mut().enumerate() {
        for (byte, entry) in row.iter_mut().enumerate() {
            zeroes[place] = byte as u8;
            // The start and the end of a sum are the same for both and cancel: only the byte's part
            // remains.
            *entry = sum(&zeroes) ^ plain;
        }
        zeroes[place] = 0;
    }
    table
}

#[inline]
fn looked_up<const BYTES: usize>(table: &WordTable<BYTES>, word: u64) -> u32 {
    let bytes = word.to_le_bytes();
    table.iter().zip(bytes).fold(0, |sum, (row, byte)| sum ^ row[usize::from(byte)])
}

impl KnownSums {
    /// The sums of the pool, computed on first use.
    pub(crate) fn get() -> &'static KnownSums {
        static KNOWN: OnceLock<KnownSums> = OnceLock::new();
        KNOWN.get_or_init(|| {
            let of = |skipped: usize| {
                let sum_of = |number| sum(&stretch(noise(), number)[skipped..]);
                (0..STRETCHES).map(sum_of).collect()
            };
            KnownSums { whole: of(0), headed: of(HEADER), sector: word_table(SECTOR), piece: word_table(PIECE) }
        })
    }

    /// Whether the sum of this number of bytes is known.
    #[inline]
    pub(crate) fn covers(length: usize) -> bool {
        length != 0 && length.is_multiple_of(PIECE)
    }

    /// Fills the bytes, and returns the sum of all but the header.
    #[inline]
    pub(crate) fn fill(&self, origin: &Origin, out: &mut [u8]) -> u32 {
        let pool = noise();
        let key = origin.key();
        let mut register = 0;
        let mut at = 0;
        for piece in out.as_chunks_mut::<PIECE>().0 {
            let number = origin.stamp(key, at) % STRETCHES;
            *piece = *stretch(pool, number);
            // The changes of the range by the stamps. The stamp of the first sector is under the
            // header.
            let mut change = 0;
            for sector in piece.as_chunks_mut::<SECTOR>().0 {
                let (place, _) = sector.split_first_chunk_mut::<STAMP>().expect("a sector is longer than a stamp");
                let stamp = origin.stamp(key, at);
                let difference = if at == 0 { 0 } else { stamp ^ u64::from_le_bytes(*place) };
                change = looked_up(&self.sector, difference ^ u64::from(change));
                *place = stamp.to_le_bytes();
                at += SECTOR;
            }
            let (known, carried) = match at {
                PIECE => (&self.headed, 0),
                _ => (&self.whole, looked_up(&self.piece, register)),
            };
            register = u64::from(known[number as usize] ^ change ^ carried);
        }
        register as u32
    }

    /// Whether the bytes, without the header, equal `origin`'s content.
    #[inline]
    pub(crate) fn is_there(&self, origin: &Origin, found: &[u8]) -> bool {
        let pool = noise();
        let key = origin.key();
        let mut at = 0;
        for piece in found.as_chunks::<PIECE>().0 {
            let plain = stretch(pool, origin.stamp(key, at) % STRETCHES);
            for (sector, plain) in piece.as_chunks::<SECTOR>().0.iter().zip(plain.as_chunks::<SECTOR>().0) {
                let same = if at == 0 {
                    sector[HEADER..] == plain[HEADER..]
                } else {
                    sector[..STAMP] == origin.stamp(key, at).to_le_bytes() && sector[STAMP..] == plain[STAMP..]
                };
                if !same {
                    return false;
                }
                at += SECTOR;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Content;

    #[test]
    fn a_known_sum_is_the_sum() {
        for number in 0..200_u64 {
            let length = PIECE * (1 + number as usize % 5);
            let origin = Origin { seed: number * 3, run: number * 5, offset: number << 14, generation: number as u32 };
            let mut bytes = vec![0; length];
            let known = KnownSums::get().fill(&origin, &mut bytes);
            assert_eq!(known, sum(&bytes[HEADER..]), "{number}");
            let mut plain = vec![0; length];
            Content::plain().fill(&origin, &mut plain);
            assert!(bytes == plain);
            bytes[..HEADER].fill(0xee);
            assert!(KnownSums::get().is_there(&origin, &bytes));
            let damaged = HEADER + (number as usize * 7919) % (length - HEADER);
            bytes[damaged] ^= 1;
            assert!(!KnownSums::get().is_there(&origin, &bytes), "{damaged}");
        }
    }
}
