//! The content of an interval outside its header.
//!
//! Random bytes come from one pool of noise. Each piece of 4 KiB is a range of the pool chosen by
//! the piece's stamp, so that filling is copying. Each 512 bytes begin with a *stamp*: a unique
//! word that encodes their place and generation. It identifies a block assembled from parts of two.

use std::sync::OnceLock;

use iolab_plan::{BufferContent, BufferPlan};
use iolab_random::{Lcg, finalize, mix};

/// Storage may tear blocks at multiples of this.
pub(crate) const SECTOR: usize = 512;

pub(crate) const PIECE: usize = 4096;
/// Number of ranges of the pool, which begin at multiples of 8 bytes.
pub(crate) const STRETCHES: u64 = 8192;
const POOL: usize = STRETCHES as usize * 8 + PIECE;

/// Bits of an offset in a stamp; above them is the generation.
const OFFSET_BITS: u32 = 50;

/// Who wrote an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) seed: u64,
    pub(crate) run: u64,
    pub(crate) offset: u64,
    pub(crate) generation: u32,
}

impl Origin {
    pub(crate) fn key(&self) -> u64 {
        mix(self.seed ^ mix(self.run))
    }

    /// The stamp of the 512 bytes that begin `at` bytes into the interval.
    #[inline]
    pub(crate) fn stamp(&self, key: u64, at: usize) -> u64 {
        let place = (self.offset + at as u64) & ((1 << OFFSET_BITS) - 1);
        finalize((place | u64::from(self.generation) << OFFSET_BITS) ^ key)
    }

    /// The place and generation of 512 bytes with this stamp, if they are from the same seed and
    /// run.
    pub(crate) fn read_stamp(&self, stamp: u64) -> (u64, u32) {
        let plain = unfinalize(stamp) ^ self.key();
        (plain & ((1 << OFFSET_BITS) - 1), (plain >> OFFSET_BITS) as u32)
    }
}

/// The inverse of [`finalize`].
fn unfinalize(value: u64) -> u64 {
    let value = value ^ (value >> 31) ^ (value >> 62);
    let value = value.wrapping_mul(0x3196_42b2_d24d_8ec3);
    let value = value ^ (value >> 27) ^ (value >> 54);
    let value = value.wrapping_mul(0x96de_1b17_3f11_9089);
    value ^ (value >> 30) ^ (value >> 60)
}

/// Makes contents.
#[derive(Debug, Clone)]
pub(crate) struct Content {
    base: Base,
    /// Chunk, and bytes of it that are random.
    chunks: Option<(usize, usize)>,
}

#[derive(Debug, Clone)]
enum Base {
    Noise(&'static [u8]),
    Zero,
    Pattern(Box<[u8]>),
}

impl Content {
    /// The content that a job's buffer options specify.
    pub(crate) fn new(plan: &BufferPlan) -> Content {
        let base = match &plan.content {
            BufferContent::Random => Base::Noise(noise()),
            BufferContent::Pattern(bytes) if !bytes.is_empty() => Base::Pattern(bytes.clone().into_boxed_slice()),
            BufferContent::Zero | BufferContent::Pattern(_) => Base::Zero,
        };
        let chunks = plan.compress_percent.filter(|_| matches!(base, Base::Noise(_))).map(|percent| {
            let bytes = if plan.compress_chunk_bytes == 0 { SECTOR as u64 } else { plan.compress_chunk_bytes };
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            (bytes, bytes - (bytes as u128 * u128::from(percent.min(100)) / 100) as usize)
        });
        Content { base, chunks }
    }

    /// Plain random bytes with stamps.
    pub(crate) fn plain() -> Content {
        Content { base: Base::Noise(noise()), chunks: None }
    }

    /// Whether the header alone suffices to make the same content.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.base, Base::Noise(_)) && self.chunks.is_none()
    }

    /// Whether sectors begin with stamps.
    pub(crate) fn has_stamps(&self) -> bool {
        matches!(self.base, Base::Noise(_)) && self.chunks.is_none_or(|(_, random)| random >= 8)
    }

    #[inline]
    pub(crate) fn fill(&self, origin: &Origin, out: &mut [u8]) {
        match &self.base {
            Base::Noise(pool) => {
                fill_noise(pool, origin, out);
                if let Some((bytes, random)) = self.chunks {
                    out.chunks_mut(bytes).for_each(|chunk| {
                        let from = random.min(chunk.len());
                        chunk[from..].fill(0);
                    });
                }
            }
            Base::Zero => out.fill(0),
            Base::Pattern(pattern) => fill_repeated(pattern, out),
        }
    }
}

/// The pool is the same for every job; only the choice of ranges differs.
pub(crate) fn noise() -> &'static [u8] {
    static NOISE: OnceLock<Box<[u8]>> = OnceLock::new();
    NOISE.get_or_init(|| {
        let mut random = Lcg::new(0x10_1ab);
        let mut word = || finalize(random.next());
        (0..POOL / 8).flat_map(|_| word().to_le_bytes()).collect()
    })
}

/// A piece of the pool, by its number.
#[inline]
pub(crate) fn stretch(pool: &[u8], number: u64) -> &[u8; PIECE] {
    pool[number as usize * 8..].first_chunk().expect("the pool is longer than its last stretch begins")
}

#[inline]
fn fill_noise(pool: &[u8], origin: &Origin, out: &mut [u8]) {
    let key = origin.key();
    let mut at = 0;
    for piece in out.chunks_mut(PIECE) {
        let first = origin.stamp(key, at);
        piece.copy_from_slice(&stretch(pool, first % STRETCHES)[..piece.len()]);
        for sector in piece.chunks_mut(SECTOR) {
            if let Some(place) = sector.first_chunk_mut::<8>() {
                *place = origin.stamp(key, at).to_le_bytes();
            }
            at += SECTOR;
        }
    }
}

/// Fills with repetitions of `pattern`. An empty one fills with zeroes.
pub(crate) fn fill_repeated(pattern: &[u8], out: &mut [u8]) {
    let mut filled = pattern.len().min(out.len());
    out[..filled].copy_from_slice(&pattern[..filled]);
    if filled == 0 {
        out.fill(0);
        return;
    }
    while filled < out.len() {
        let more = filled.min(out.len() - filled);
        out.copy_within(..more, filled);
        filled += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: Origin = Origin { seed: 5, run: 6, offset: 8192, generation: 3 };

    #[test]
    fn stamps_are_read_back_and_no_two_sectors_are_equal() {
        for value in [0, 1, u64::MAX, 0x1234_5678_9abc_def0] {
            assert_eq!(unfinalize(finalize(value)), value);
        }
        let content = Content::plain();
        let mut seen = std::collections::BTreeSet::new();
        for generation in 1..4 {
            for block in 0..8 {
                let origin = Origin { offset: block * 8192, generation, ..ORIGIN };
                let mut bytes = vec![0; 8192];
                content.fill(&origin, &mut bytes);
                for (at, sector) in bytes.chunks(SECTOR).enumerate() {
                    let stamp = u64::from_le_bytes(*sector.first_chunk().unwrap());
                    let place = origin.offset + (at * SECTOR) as u64;
                    assert_eq!(ORIGIN.read_stamp(stamp), (place, generation));
                    assert!(seen.insert(sector.to_vec()));
                }
            }
        }
    }

    #[test]
    fn the_bytes_do_not_change_between_versions() {
        // Later versions must be able to verify existing files.
        let mut bytes = vec![0; 4096];
        Content::plain().fill(&ORIGIN, &mut bytes);
        let sum = iolab_checksum::crc32c(&bytes);
        assert_eq!(sum, PLAIN_SUM, "{sum:#x}");
    }

    const PLAIN_SUM: u32 = 0x2eb1_9410;

    #[test]
    fn chunks_end_with_zeroes_and_patterns_repeat() {
        let plan = |content, compress_percent| BufferPlan {
            compress_percent,
            compress_chunk_bytes: 1024,
            ..BufferPlan::new(0, content)
        };
        let mut bytes = vec![0; 4096];
        let half = Content::new(&plan(BufferContent::Random, Some(50)));
        half.fill(&ORIGIN, &mut bytes);
        assert!(bytes.chunks(1024).all(|chunk| chunk[512..] == [0; 512] && chunk[..512] != [0; 512]));
        assert!(half.has_stamps() && !half.is_plain());
        Content::new(&plan(BufferContent::Pattern(b"abc".to_vec()), None)).fill(&ORIGIN, &mut bytes);
        assert_eq!(&bytes[..7], b"abcabca");
        Content::new(&plan(BufferContent::Zero, None)).fill(&ORIGIN, &mut bytes);
        assert_eq!(bytes, [0; 4096]);
    }
}
