//! Read-ahead for sequential readers: twice as much each time, up to a limit.
//!
//! There is no page cache below, and programs that rely on its read-ahead (RocksDB's compactions
//! before version 8, iterators) would otherwise wait for the disk at every block.

use iolab_disk::Buffer;

/// Length of the first stretch, bytes.
const FIRST_BYTES: usize = 32 << 10;

/// What was read ahead of a file, and where its reader is.
#[derive(Debug)]
pub(crate) struct Ahead {
    most_bytes: usize,
    /// Where the next read begins if it is sequential.
    next: u64,
    /// Length of the last stretch, bytes.
    stretch: usize,
    start: u64,
    bytes: Option<(Buffer, usize)>,
}

impl Ahead {
    pub(crate) fn new(most_bytes: usize) -> Ahead {
        Ahead { most_bytes, next: 0, stretch: 0, start: 0, bytes: None }
    }

    /// Returns bytes of what was read ahead, if it has all of them.
    pub(crate) fn find(&mut self, offset: u64, into: &mut [u8]) -> Option<usize> {
        let (buffer, length) = self.bytes.as_ref()?;
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let found = buffer[..*length].get(from..from.checked_add(into.len())?)?;
        into.copy_from_slice(found);
        self.next = offset + into.len() as u64;
        Some(into.len())
    }

    /// How much to read for a read that was not found here; `None` when read-ahead is of no use.
    pub(crate) fn wanted(&mut self, offset: u64, length: usize) -> Option<usize> {
        let is_next = offset == self.next;
        self.next = offset + length as u64;
        if !is_next || length >= self.most_bytes {
            self.stretch = 0;
            return None;
        }
        self.stretch = (self.stretch * 2).max(FIRST_BYTES).max(length).min(self.most_bytes);
        Some(self.stretch)
    }

    /// Keeps this number of bytes read at a place, and returns the reader's share.
    pub(crate) fn keep(&mut self, offset: u64, found: usize, buffer: Buffer, into: &mut [u8]) -> usize {
        let share = found.min(into.len());
        into[..share].copy_from_slice(&buffer[..share]);
        (self.start, self.bytes) = (offset, Some((buffer, found)));
        share
    }

    /// The file has changed: drops what was read ahead.
    pub(crate) fn forget(&mut self) {
        self.bytes = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_in_order_grow_and_others_do_not() {
        let mut ahead = Ahead::new(100 << 10);
        assert_eq!(ahead.wanted(0, 4096), Some(FIRST_BYTES));
        let mut into = [0; 4096];
        let mut buffer = Buffer::zeroed(FIRST_BYTES);
        buffer.fill(7);
        assert_eq!(ahead.keep(0, FIRST_BYTES, buffer, &mut into), 4096);
        assert_eq!((into[0], ahead.find(4096, &mut into)), (7, Some(4096)));
        assert_eq!(ahead.find((FIRST_BYTES - 4095) as u64, &mut into), None, "only whole reads");
        ahead.next = FIRST_BYTES as u64;
        assert_eq!(ahead.wanted(FIRST_BYTES as u64, 4096), Some(2 * FIRST_BYTES));
        assert_eq!(ahead.wanted(1 << 30, 4096), None);
        assert_eq!(ahead.wanted((1 << 30) + 4096, 4096), Some(FIRST_BYTES));
        assert_eq!(ahead.wanted((1 << 30) + 8192, 200 << 10), None, "large reads need no help");
        ahead.forget();
        assert_eq!(ahead.find(0, &mut into), None);
        assert_eq!(Ahead::new(0).wanted(0, 1), None);
    }

    #[test]
    fn what_ends_early_is_said() {
        let mut ahead = Ahead::new(100 << 10);
        let mut into = [0; 4096];
        assert_eq!(ahead.keep(0, 10, Buffer::zeroed(FIRST_BYTES), &mut into), 10);
        assert_eq!(ahead.find(0, &mut into), None);
        assert_eq!(ahead.find(0, &mut into[..10]), Some(10));
    }
}
