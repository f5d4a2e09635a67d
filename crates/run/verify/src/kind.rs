//! The kinds of checksums.
//!
//! CRC-16 is that of ARC (polynomial 0x8005, reflected), CRC-7 that of MMC and SD cards (polynomial
//! 0x09); the others are named by their standards. Errors that a short or missing checksum may
//! overlook are found by comparing the content itself.

use std::hash::Hasher as _;

use iolab_checksum::crc32c_of_parts;
use iolab_plan::VerifyKind;
use sha2::Digest;

/// Longest checksum, bytes.
pub(crate) const LONGEST: usize = 64;

/// Bytes of a kind's checksum.
pub(crate) const fn digest_bytes(kind: VerifyKind) -> usize {
    kind.digest_bytes() as usize
}

/// Bytes of the header of a kind with its checksum.
pub(crate) const fn header_bytes(kind: VerifyKind) -> usize {
    kind.header_bytes() as usize
}

/// Whether a wrong block of this kind has the right checksum more often than once in 2^32 cases.
pub(crate) const fn is_weak(kind: VerifyKind) -> bool {
    matches!(kind, VerifyKind::Crc16 | VerifyKind::Crc7 | VerifyKind::Meta)
}

/// The checksum of two concatenated parts, [`digest_bytes`] long.
pub(crate) fn digest(kind: VerifyKind, parts: [&[u8]; 2], out: &mut [u8; LONGEST]) {
    match kind {
        VerifyKind::Crc32c | VerifyKind::Crc32cIntel => put(&crc32c_of_parts(&parts).to_le_bytes(), out),
        VerifyKind::Crc32 => {
            let mut hasher = crc32fast::Hasher::new();
            parts.iter().for_each(|part| hasher.update(part));
            put(&hasher.finalize().to_le_bytes(), out);
        }
        VerifyKind::Crc64 => {
            let mut digest = crc64fast::Digest::new();
            parts.iter().for_each(|part| digest.write(part));
            put(&digest.sum64().to_le_bytes(), out);
        }
        VerifyKind::Crc16 => put(&by_table(parts, &CRC16).to_le_bytes(), out),
        VerifyKind::Crc7 => put(&[by_table_7(parts)], out),
        VerifyKind::Xxhash => {
            let mut hasher = twox_hash::XxHash32::with_seed(0);
            parts.iter().for_each(|part| hasher.write(part));
            put(&hasher.finish_32().to_le_bytes(), out);
        }
        VerifyKind::Md5 => hash::<md5::Md5>(parts, out),
        VerifyKind::Sha1 => hash::<sha1::Sha1>(parts, out),
        VerifyKind::Sha256 => hash::<sha2::Sha256>(parts, out),
        VerifyKind::Sha512 => hash::<sha2::Sha512>(parts, out),
        VerifyKind::Sha3_224 => hash::<sha3::Sha3_224>(parts, out),
        VerifyKind::Sha3_256 => hash::<sha3::Sha3_256>(parts, out),
        VerifyKind::Sha3_384 => hash::<sha3::Sha3_384>(parts, out),
        VerifyKind::Sha3_512 => hash::<sha3::Sha3_512>(parts, out),
        VerifyKind::Meta | VerifyKind::Pattern | VerifyKind::PatternHdr | VerifyKind::Null => {}
    }
}

fn put(bytes: &[u8], out: &mut [u8; LONGEST]) {
    out[..bytes.len()].copy_from_slice(bytes);
}

/// The checksum of one kind over bytes, in a field of the largest length.
pub fn checksum(kind: VerifyKind, bytes: &[u8]) -> [u8; LONGEST] {
    let mut sum = [0; LONGEST];
    digest(kind, [&[], bytes], &mut sum);
    sum
}

fn hash<D: Digest>(parts: [&[u8]; 2], out: &mut [u8; LONGEST]) {
    let mut hasher = D::new();
    parts.iter().for_each(|part| hasher.update(part));
    put(&hasher.finalize(), out);
}

/// CRC-16 of each byte value.
static CRC16: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut word = byte as u16;
        let mut bit = 0;
        while bit < 8 {
            word = if word & 1 == 1 { word >> 1 ^ 0xa001 } else { word >> 1 };
            bit += 1;
        }
        table[byte] = word;
        byte += 1;
    }
    table
};

/// CRC-7 of each byte value, in the high seven bits.
static CRC7: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut word = byte as u8;
        let mut bit = 0;
        while bit < 8 {
            word = if word & 0x80 == 0x80 { word << 1 ^ 0x12 } else { word << 1 };
            bit += 1;
        }
        table[byte] = word;
        byte += 1;
    }
    table
};

fn by_table(parts: [&[u8]; 2], table: &[u16; 256]) -> u16 {
    let bytes = parts.into_iter().flatten();
    bytes.fold(0, |word: u16, byte| word >> 8 ^ table[usize::from(word as u8 ^ byte)])
}

fn by_table_7(parts: [&[u8]; 2]) -> u8 {
    parts.into_iter().flatten().fold(0, |word: u8, byte| CRC7[usize::from(word ^ byte)]) >> 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksums of `123456789`: check values of the catalogue of parametrised CRC algorithms
    /// (Cook), and test vectors of the standards.
    #[test]
    fn the_checksums_are_those_of_their_standards() {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        for (kind, wanted) in [
            (VerifyKind::Crc7, "75"),
            (VerifyKind::Crc16, "3dbb"),
            (VerifyKind::Crc32, "2639f4cb"),
            (VerifyKind::Crc32c, "839206e3"),
            (VerifyKind::Crc32cIntel, "839206e3"),
            (VerifyKind::Crc64, "fa3919dfbbc95d99"),
            (VerifyKind::Md5, "25f9e794323b453885f5181f1b624d0b"),
            (VerifyKind::Sha1, "f7c3bc1d808e04732adf679965ccc34ca7ae3441"),
            (VerifyKind::Sha256, "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"),
        ] {
            let mut out = [0; LONGEST];
            digest(kind, [b"", b"123456789"], &mut out);
            assert_eq!(hex(&out[..digest_bytes(kind)]), wanted, "{kind:?}");
            let mut parts = [0; LONGEST];
            digest(kind, [b"1234", b"56789"], &mut parts);
            assert_eq!(parts, out, "{kind:?} in two parts");
        }
        // The empty message: FIPS 202 and the specification of xxHash.
        for (kind, wanted) in [
            (VerifyKind::Sha3_224, "6b4e03423667dbb73b6e15454f0eb1ab"),
            (VerifyKind::Sha3_256, "a7ffc6f8bf1ed76651c14756a061d662"),
            (VerifyKind::Sha3_384, "0c63a75b845e4f7d01107d852e4c2485"),
            (VerifyKind::Sha3_512, "a69f73cca23a9ac5c8b567dc185a756e"),
            (VerifyKind::Sha512, "cf83e1357eefb8bdf1542850d66d8007"),
            (VerifyKind::Xxhash, "055dcc02"),
        ] {
            let mut out = [0; LONGEST];
            digest(kind, [b"", b""], &mut out);
            assert_eq!(hex(&out[..digest_bytes(kind).min(16)]), wanted, "{kind:?}");
        }
    }
}
