//! CRC32C by carry-less multiplication of 64 bytes at once.
//!
//! The method is that of Gopal et al., "Fast CRC Computation for Generic Polynomials Using
//! PCLMULQDQ Instruction" (Intel, 2009): a lane of 16 bytes is multiplied by what a distance in the
//! message means modulo the polynomial, and added to the lane at that distance. A register has four
//! lanes (AVX-512 with VPCLMULQDQ). Four registers in turn hide the time that a multiplication
//! takes. What is left are 16 bytes with the same remainder, for the instruction for CRC32C.
//!
//! Unsafe code calls what is compiled for processors with these instructions, if this is one, and
//! loads registers.

#![allow(unsafe_code, reason = "island: call what is compiled for processors with AVX-512, and load its registers")]

/// The fewest bytes that are folded.
pub(super) const AT_ONCE: usize = 256;

/// CRC32C of a message that has the checksum `sum` so far and goes on with `bytes`; `None` if they
/// are too few, or the processor lacks an instruction.
#[cfg(target_arch = "x86_64")]
pub(super) fn crc32c(sum: u32, bytes: &[u8]) -> Option<u32> {
    // SAFETY: the processor has all that the function needs.
    (bytes.len() >= AT_ONCE && is_possible()).then(|| unsafe { folding::crc32c(sum, bytes) })
}

/// Whether the processor has the instructions.
#[cfg(target_arch = "x86_64")]
pub(super) fn is_possible() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("vpclmulqdq")
        && is_x86_feature_detected!("sse4.2")
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn crc32c(_: u32, _: &[u8]) -> Option<u32> {
    None
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn is_possible() -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
mod folding {
    use std::arch::x86_64::*;

    use super::AT_ONCE;

    /// Bytes of a register, and the registers whose content is folded in turn.
    const REGISTER: usize = 64;
    const REGISTERS: usize = AT_ONCE / REGISTER;

    /// x to the power of `exponent`, modulo the polynomial of CRC32C (RFC 3720, section 12.1), the
    /// highest power in the highest bit.
    const fn power(exponent: u32) -> u32 {
        let (mut rest, mut done) = (1_u32, 0);
        while done < exponent {
            let carry = rest >> 31;
            rest = (rest << 1) ^ (carry * 0x1edc_6f41);
            done += 1;
        }
        rest
    }

    /// What the two halves of a lane are multiplied by to be moved on by a distance in bytes. The
    /// message is reflected, so the product of two reflected factors is shifted by one bit.
    const fn by_distance(bytes: usize) -> [i64; 2] {
        let bits = 8 * bytes as u32;
        [reflected(bits + 32), reflected(bits - 32)]
    }

    const fn reflected(exponent: u32) -> i64 {
        ((power(exponent).reverse_bits() as u64) << 1) as i64
    }

    /// One distance for every lane, and the distances of three lanes to the last one.
    const fn lanes(distances: [Option<usize>; 4]) -> [i64; 8] {
        let (mut all, mut lane) = ([0; 8], 0);
        while lane < 4 {
            if let Some(bytes) = distances[lane] {
                [all[2 * lane], all[2 * lane + 1]] = by_distance(bytes);
            }
            lane += 1;
        }
        all
    }

    const TO_NEXT_ROUND: [i64; 8] = lanes([Some(AT_ONCE); 4]);
    const TO_NEXT_REGISTER: [i64; 8] = lanes([Some(REGISTER); 4]);
    const TO_LAST_LANE: [i64; 8] = lanes([Some(48), Some(32), Some(16), None]);

    /// For at least [`AT_ONCE`] bytes.
    #[target_feature(enable = "avx512f,avx512vl,vpclmulqdq,sse4.2")]
    pub(super) fn crc32c(sum: u32, bytes: &[u8]) -> u32 {
        let (rounds, rest) = bytes.as_chunks::<AT_ONCE>();
        let (Some(first), others) = (rounds.first(), rounds.get(1..).unwrap_or_default()) else {
            unreachable!("the caller has so many bytes");
        };
        let mut registers = loaded(first);
        // What came before is added to the first four bytes; a checksum is inverted at its end.
        let before = _mm512_zextsi128_si512(_mm_cvtsi32_si128((!sum).cast_signed()));
        registers[0] = _mm512_xor_si512(registers[0], before);
        let to_next_round = constant(&TO_NEXT_ROUND);
        for round in others {
            let next = loaded(round);
            for (register, next) in registers.iter_mut().zip(next) {
                *register = folded(*register, to_next_round, next);
            }
        }
        let to_next_register = constant(&TO_NEXT_REGISTER);
        let [first, second, third, last] = registers;
        let last =
            folded(folded(folded(first, to_next_register, second), to_next_register, third), to_next_register, last);
        finished(last, rest)
    }

    /// The checksum of a message that has the same remainder as the register, and goes on with
    /// `rest`.
    #[target_feature(enable = "avx512f,avx512vl,vpclmulqdq,sse4.2")]
    fn finished(register: __m512i, rest: &[u8]) -> u32 {
        // The last lane has no distance to itself: its products are zero, and it is added as it is.
        let moved = folded(register, constant(&TO_LAST_LANE), _mm512_setzero_si512());
        let [first, second, third] = [
            _mm512_castsi512_si128(moved),
            _mm512_extracti32x4_epi32::<1>(moved),
            _mm512_extracti32x4_epi32::<2>(moved),
        ];
        let lane =
            _mm_xor_si128(_mm_xor_si128(first, second), _mm_xor_si128(third, _mm512_extracti32x4_epi32::<3>(register)));
        let sum = _mm_crc32_u64(0, _mm_cvtsi128_si64(lane).cast_unsigned());
        let sum = _mm_crc32_u64(sum, _mm_extract_epi64::<1>(lane).cast_unsigned());
        let (words, bytes) = rest.as_chunks::<8>();
        let sum = words.iter().fold(sum, |sum, word| _mm_crc32_u64(sum, u64::from_le_bytes(*word)));
        // The value has 32 bits.
        !bytes.iter().fold(sum as u32, |sum, byte| _mm_crc32_u8(sum, *byte))
    }

    /// `register` moved on by a distance, and added to what is there.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,vpclmulqdq")]
    fn folded(register: __m512i, distance: __m512i, there: __m512i) -> __m512i {
        let low = _mm512_clmulepi64_epi128::<0x00>(register, distance);
        let high = _mm512_clmulepi64_epi128::<0x11>(register, distance);
        // 0x96 is the table of exclusive or of three.
        _mm512_ternarylogic_epi64::<0x96>(low, high, there)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn loaded(bytes: &[u8; AT_ONCE]) -> [__m512i; REGISTERS] {
        let parts = bytes.as_chunks::<REGISTER>().0;
        // SAFETY: each part has the bytes of a register, and the load needs no alignment.
        let load = |part: &[u8; REGISTER]| unsafe { _mm512_loadu_si512(part.as_ptr().cast()) };
        [load(&parts[0]), load(&parts[1]), load(&parts[2]), load(&parts[3])]
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn constant(values: &[i64; 8]) -> __m512i {
        // SAFETY: eight values of eight bytes are a register, and the load needs no alignment.
        unsafe { _mm512_loadu_si512(values.as_ptr().cast()) }
    }
}
