//! Disk space for a mapped file, allocated before the mapping is written to.
//!
//! A store to a page for which the file system has no space kills the process (SIGBUS, mmap(2)).
//! Every write therefore reserves its bytes here first: the chunk around them is allocated once
//! (`fallocate(2)`) and recorded. If there is no space, the write's command reports an error.
//!
//! Guarantees: while a [`SpaceGuard`] lives, the reserved bytes keep their space, because punching
//! holes waits for the guard. This does not help on file systems that cannot allocate in advance,
//! or that allocate again when bytes are overwritten (copy on write). They can still kill the
//! process when they are full.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// Bytes that are allocated at once, if there is space for them.
const CHUNK_BYTES: u64 = 1 << 20;

/// The disk space of one file.
#[derive(Debug)]
pub(crate) struct FileSpace {
    file: File,
    bytes: u64,
    /// One bit for each chunk; it is set if the chunk is known to be allocated.
    reserved: Box<[AtomicU64]>,
    /// Locked for reading while bytes are written, for writing while holes are punched.
    punching: RwLock<()>,
}

/// While this value lives, bytes may be written.
pub(crate) type SpaceGuard<'a> = RwLockReadGuard<'a, ()>;

impl FileSpace {
    /// The space of a file of `bytes`.
    pub(crate) fn new(file: File, bytes: u64) -> FileSpace {
        let words = bytes.div_ceil(CHUNK_BYTES * 64);
        let reserved = (0..words).map(|_| AtomicU64::new(0)).collect();
        FileSpace { file, bytes, reserved, punching: RwLock::new(()) }
    }

    /// Reserves space for a range within the file.
    #[inline]
    pub(crate) fn reserve(&self, offset: u64, length: u64) -> io::Result<SpaceGuard<'_>> {
        let reserve = self.punching.read().unwrap_or_else(PoisonError::into_inner);
        if length > 0 {
            for chunk in offset / CHUNK_BYTES..=(offset + length - 1) / CHUNK_BYTES {
                let (word, bit) = (&self.reserved[(chunk / 64) as usize], 1 << (chunk % 64));
                if word.load(Ordering::Acquire) & bit == 0 {
                    self.allocate(chunk, offset..offset + length)?;
                }
            }
        }
        Ok(reserve)
    }

    /// Runs `punch`, which punches holes into a range.
    pub(crate) fn punch<T>(&self, offset: u64, length: u64, punch: impl FnOnce() -> T) -> T {
        let _waited = self.punching.write().unwrap_or_else(PoisonError::into_inner);
        if length > 0 {
            for chunk in offset / CHUNK_BYTES..=(offset + length - 1) / CHUNK_BYTES {
                self.reserved[(chunk / 64) as usize].fetch_and(!(1 << (chunk % 64)), Ordering::Release);
            }
        }
        punch()
    }

    /// Allocates a chunk. If there is no space for all of it, allocates the part that the range
    /// needs.
    #[cold]
    fn allocate(&self, chunk: u64, range: Range<u64>) -> io::Result<()> {
        let (start, end) = (chunk * CHUNK_BYTES, ((chunk + 1) * CHUNK_BYTES).min(self.bytes));
        let whole = self.allocate_range(start, end);
        if whole.is_ok() {
            self.reserved[(chunk / 64) as usize].fetch_or(1 << (chunk % 64), Ordering::Release);
            return Ok(());
        }
        self.allocate_range(range.start.max(start), range.end.min(end))
    }

    fn allocate_range(&self, start: u64, end: u64) -> io::Result<()> {
        loop {
            match fallocate(&self.file, FallocateFlags::KEEP_SIZE, start, end - start) {
                Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn room_is_taken_once_and_given_back() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(5 << 19).unwrap();
        let space = FileSpace::new(file.try_clone().unwrap(), 5 << 19);
        let is_reserved = |chunk: u64| space.reserved[0].load(Ordering::Relaxed) >> chunk & 1 == 1;
        drop(space.reserve(CHUNK_BYTES - 512, 1024).unwrap());
        assert!(is_reserved(0) && is_reserved(1) && !is_reserved(2));
        assert!(file.metadata().unwrap().blocks() * 512 >= 2 * CHUNK_BYTES, "the file system has allocated them");
        let mut punched = false;
        space.punch(4096, 4096, || punched = true);
        assert!(punched && !is_reserved(0) && is_reserved(1));
        drop(space.reserve(2 * CHUNK_BYTES, CHUNK_BYTES / 2).unwrap());
        assert!(is_reserved(2), "the last chunk is a short one");
        drop(space.reserve(0, 0).unwrap());
        assert!(!is_reserved(0), "nothing needs no space");
        assert_eq!(file.metadata().unwrap().len(), 5 << 19);
    }

    #[test]
    fn what_cannot_be_allocated_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("read-only");
        std::fs::write(&path, [0; 4096]).unwrap();
        let space = FileSpace::new(File::open(&path).unwrap(), 4096);
        assert!(space.reserve(0, 512).is_err());
        assert_eq!(space.reserved[0].load(Ordering::Relaxed), 0);
    }
}
