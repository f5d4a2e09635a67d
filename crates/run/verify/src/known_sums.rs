//! The CRC-32C of plain content, without reading it.
//!
//! Plain content is a stretch of the pool with stamps put over it, and a CRC is linear: that of the
//! stretch is kept for each of them, and what the stamps change is added. So filling need not sum
//! what it copied, and checking need only compare with the pool, which finds more than a sum does.

use std::sync::OnceLock;

use crc_fast::CrcAlgorithm;
use iolab_plan::VerifyKind;

use crate::content::{Origin, PIECE, SECTOR, STRETCHES, noise, stretch};
use crate::kind::header_bytes;

/// Bytes at the beginning of an interval that the sum leaves out.
const HEADER: usize = header_bytes(VerifyKind::Crc32c);
const STAMP: usize = size_of::<u64>();

/// By bytes of a word, what the sum of a stretch of zeroes that begins with the word becomes.
type WordTable<const BYTES: usize> = [[u32; 256]; BYTES];

/// What is known of the pool.
#[derive(Debug)]
pub(crate) struct KnownSums {
    /// Of each stretch.
    whole: Box<[u32]>,
    /// Of each without its header.
    headed: Box<[u32]>,
    /// A stamp, and the rest of its sector.
    sector: Box<WordTable<STAMP>>,
    /// A register of the sum, and a piece.
    piece: Box<WordTable<4>>,
}

fn sum(bytes: &[u8]) -> u32 {
    crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

fn word_table<const BYTES: usize>(length: usize) -> Box<WordTable<BYTES>> {
    let mut zeroes = vec![0; length];
    let plain = sum(&zeroes);
    let mut table = Box::new([[0; 256]; BYTES]);
    for (place, row) in table.iter_mut().enumerate() {
        for (byte, entry) in row.iter_mut().enumerate() {
            zeroes[place] = byte as u8;
            // The start and the end of a sum are the same for both: only the byte is left.
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
    /// Those of the pool; made when they are asked for first.
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

    /// Whether the sum of so many bytes is known.
    #[inline]
    pub(crate) fn covers(length: usize) -> bool {
        length != 0 && length.is_multiple_of(PIECE)
    }

    /// The sum of what `origin` fills so many bytes with, header left out.
    #[inline]
    pub(crate) fn sum(&self, origin: &Origin, length: usize) -> u32 {
        let pool = noise();
        let key = origin.key();
        let mut register = 0;
        for at in (0..length).step_by(PIECE) {
            let number = origin.stamp(key, at) % STRETCHES;
            let plain = stretch(pool, number);
            // What the stamps change of the stretch. That of the first sector is under the header.
            let mut change = 0;
            for place in (0..PIECE).step_by(SECTOR) {
                let is_headed = at + place == 0;
                let difference = if is_headed { 0 } else { origin.stamp(key, at + place) ^ word(plain, place) };
                change = looked_up(&self.sector, difference ^ u64::from(change));
            }
            let known = if at == 0 { &self.headed } else { &self.whole };
            let carried = if at == 0 { 0 } else { looked_up(&self.piece, u64::from(register)) };
            register = known[number as usize] ^ change ^ carried;
        }
        register
    }

    /// Whether the bytes are what `origin` fills them with, header left out.
    #[inline]
    pub(crate) fn is_there(&self, origin: &Origin, found: &[u8]) -> bool {
        let pool = noise();
        let key = origin.key();
        let pieces = found.chunks_exact(PIECE).enumerate();
        pieces.map(|(number, piece)| (number * PIECE, piece)).all(|(at, piece)| {
            let plain = stretch(pool, origin.stamp(key, at) % STRETCHES);
            (0..PIECE).step_by(SECTOR).all(|place| {
                let headed = at + place == 0;
                let from = place + if headed { HEADER } else { STAMP };
                let until = place + SECTOR;
                (headed || word(piece, place) == origin.stamp(key, at + place))
                    && piece[from..until] == plain[from..until]
            })
        })
    }
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
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
            Content::plain().fill(&origin, &mut bytes);
            assert_eq!(KnownSums::get().sum(&origin, length), sum(&bytes[HEADER..]), "{number}");
            bytes[..HEADER].fill(0xee);
            assert!(KnownSums::get().is_there(&origin, &bytes));
            let damaged = HEADER + (number as usize * 7919) % (length - HEADER);
            bytes[damaged] ^= 1;
            assert!(!KnownSums::get().is_there(&origin, &bytes), "{damaged}");
        }
    }
}
