//! Bytes aligned for direct transfers.

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// What every buffer is aligned to: a multiple of all block sizes in use.
const ALIGNMENT: usize = 4096;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(4096))]
struct Page([u8; ALIGNMENT]);

/// Owned bytes whose address is a multiple of 4096.
pub struct Buffer {
    pages: Box<[Page]>,
    length: usize,
}

impl Buffer {
    /// So many zeroes.
    pub fn zeroed(length: usize) -> Buffer {
        let count = length.div_ceil(ALIGNMENT);
        // No memory is what the global allocator aborts on everywhere else, too.
        let pages = <[Page]>::new_box_zeroed_with_elems(count).unwrap_or_default();
        assert!(pages.len() == count, "no memory for a buffer of {length} bytes");
        Buffer { pages, length }
    }

    /// A copy of `bytes`, filled up with zeroes to a multiple of `unit_bytes`.
    pub fn padded(bytes: &[u8], unit_bytes: usize) -> Buffer {
        let mut buffer = Buffer::zeroed(bytes.len().next_multiple_of(unit_bytes.max(1)));
        buffer[..bytes.len()].copy_from_slice(bytes);
        buffer
    }
}

impl std::ops::Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.pages.as_bytes()[..self.length]
    }
}

impl std::ops::DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.pages.as_mut_bytes()[..self.length]
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} bytes)", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_exactly_as_long_as_asked() {
        for length in [0, 1, 511, 4096, 4097, 1 << 20] {
            let buffer = Buffer::zeroed(length);
            assert_eq!(buffer.len(), length);
            assert!(buffer.iter().all(|&byte| byte == 0));
            assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
        }
        let padded = Buffer::padded(b"abc", 8);
        assert_eq!(&padded[..], b"abc\0\0\0\0\0");
    }
}
