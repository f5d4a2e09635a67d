//! The exported device's size, and the blocks that a range touches.
//!
//! Guarantees: a [`Size`] is a whole number of blocks, and a block a power of two of 512 to 4096
//! bytes. Does no I/O.

use std::fmt;

/// The size and the block size of the exported device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    bytes: u64,
    block_bytes: u32,
}

/// Why a size cannot be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeError {
    /// The block size, which must be a power of two from 512 to 4096 bytes.
    Block(u32),
    /// The bytes and the block size: the device must be at least one block and a whole number of
    /// blocks.
    Bytes(u64, u32),
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SizeError::Block(block) => {
                write!(f, "cannot export blocks of {block} bytes: use a power of two from 512 to 4096")
            }
            SizeError::Bytes(bytes, block) => {
                write!(f, "{bytes} bytes are not a whole number of blocks of {block} bytes: round the size down")
            }
        }
    }
}

impl std::error::Error for SizeError {}

/// The whole blocks around a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// Where the first block starts, bytes.
    pub(crate) start: u64,
    /// Where the last block ends, bytes.
    pub(crate) end: u64,
    /// Bytes of the first block before the range.
    pub(crate) lead: usize,
}

impl Size {
    /// A device of `bytes` in blocks of `block_bytes`.
    pub fn new(bytes: u64, block_bytes: u32) -> Result<Size, SizeError> {
        if !block_bytes.is_power_of_two() || !(512..=4096).contains(&block_bytes) {
            return Err(SizeError::Block(block_bytes));
        }
        if bytes == 0 || !bytes.is_multiple_of(u64::from(block_bytes)) || bytes > i64::MAX as u64 {
            return Err(SizeError::Bytes(bytes, block_bytes));
        }
        Ok(Size { bytes, block_bytes })
    }

    /// The whole device, bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The block size, bytes.
    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// The blocks that `offset..end` touches.
    #[inline]
    pub(crate) fn span(&self, offset: u64, end: u64) -> Span {
        let block = u64::from(self.block_bytes);
        let start = offset & !(block - 1);
        Span { start, end: end.next_multiple_of(block), lead: (offset - start) as usize }
    }

    /// Whether the range starts and ends at block boundaries.
    #[inline]
    pub(crate) fn is_aligned(&self, offset: u64, end: u64) -> bool {
        (offset | end) & (u64::from(self.block_bytes) - 1) == 0
    }

    /// The part of a range that exists.
    #[inline]
    pub(crate) fn clip(&self, offset: u64, length: u64) -> (u64, u64) {
        let start = offset.min(self.bytes);
        (start, length.min(self.bytes - start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_blocks() {
        assert!(Size::new(4096, 512).is_ok());
        assert_eq!(Size::new(4096, 256), Err(SizeError::Block(256)));
        assert_eq!(Size::new(4096, 1000), Err(SizeError::Block(1000)));
        assert_eq!(Size::new(8192, 8192), Err(SizeError::Block(8192)));
        for bytes in [0, 511, 4097, u64::MAX - 511] {
            assert_eq!(Size::new(bytes, 512), Err(SizeError::Bytes(bytes, 512)));
        }
    }

    #[test]
    fn spans_are_the_blocks_around() {
        let size = Size::new(1 << 20, 512).unwrap();
        for (offset, end, start, rounded, lead) in
            [(0, 512, 0, 512, 0), (100, 101, 0, 512, 100), (511, 513, 0, 1024, 511), (1024, 1536, 1024, 1536, 0)]
        {
            assert_eq!(size.span(offset, end), Span { start, end: rounded, lead });
            assert_eq!(size.is_aligned(offset, end), lead == 0 && end == rounded);
        }
        assert!(!size.is_aligned(512, 1000));
    }

    #[test]
    fn ranges_end_where_the_device_ends() {
        let size = Size::new(4096, 512).unwrap();
        assert_eq!(size.clip(0, 4096), (0, 4096));
        assert_eq!(size.clip(4000, 1000), (4000, 96));
        assert_eq!(size.clip(4096, 1), (4096, 0));
        assert_eq!(size.clip(u64::MAX, u64::MAX), (4096, 0));
    }
}
