//! Room in a file's file system, taken before a mapping of the file is written to.
//!
//! A store to a page that the file system has no room for ends the process (SIGBUS, mmap(2)). So every write asks here
//! first: the chunk around it is allocated (`fallocate(2)`) once, and remembered. A write that finds no room is an error
//! that its command reports.
//!
//! Guarantees: while a [`Claim`] lives, the bytes it was made for have room, because what gives room back waits for it.
//! Deliberately not here: file systems that cannot allocate ahead, or that take new room for bytes that have some
//! already (copy on write): they can still end the process when they are full.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// What is allocated at a time, if there is room for so much.
const CHUNK_BYTES: u64 = 1 << 20;

/// The room of one file.
#[derive(Debug)]
pub(crate) struct Room {
    file: File,
    bytes: u64,
    /// A bit for each chunk that surely has room.
    claimed: Box<[AtomicU64]>,
    /// Held for reading while bytes are written, for writing while room is given back.
    giving_back: RwLock<()>,
}

/// A promise that bytes may be written.
pub(crate) type Claim<'a> = RwLockReadGuard<'a, ()>;

impl Room {
    /// For a file of `bytes`.
    pub(crate) fn new(file: File, bytes: u64) -> Room {
        let words = bytes.div_ceil(CHUNK_BYTES * 64);
        let claimed = (0..words).map(|_| AtomicU64::new(0)).collect();
        Room { file, bytes, claimed, giving_back: RwLock::new(()) }
    }

    /// Makes sure of room for a range, which lies within the file.
    #[inline]
    pub(crate) fn claim(&self, offset: u64, length: u64) -> io::Result<Claim<'_>> {
        let claim = self.giving_back.read().unwrap_or_else(PoisonError::into_inner);
        if length > 0 {
            for chunk in offset / CHUNK_BYTES..=(offset + length - 1) / CHUNK_BYTES {
                let (word, bit) = (&self.claimed[(chunk / 64) as usize], 1 << (chunk % 64));
                if word.load(Ordering::Acquire) & bit == 0 {
                    self.allocate(chunk, (offset, length))?;
                }
            }
        }
        Ok(claim)
    }

    /// Gives room back by `punch`, which punches holes into a range.
    pub(crate) fn give_back<T>(&self, offset: u64, length: u64, punch: impl FnOnce() -> T) -> T {
        let _waited = self.giving_back.write().unwrap_or_else(PoisonError::into_inner);
        if length > 0 {
            for chunk in offset / CHUNK_BYTES..=(offset + length - 1) / CHUNK_BYTES {
                self.claimed[(chunk / 64) as usize].fetch_and(!(1 << (chunk % 64)), Ordering::Release);
            }
        }
        punch()
    }

    /// Allocates a chunk; without room for all of it, the part of the range in it.
    #[cold]
    fn allocate(&self, chunk: u64, (offset, length): (u64, u64)) -> io::Result<()> {
        let (start, end) = (chunk * CHUNK_BYTES, ((chunk + 1) * CHUNK_BYTES).min(self.bytes));
        let whole = self.reserve(start, end);
        if whole.is_ok() {
            self.claimed[(chunk / 64) as usize].fetch_or(1 << (chunk % 64), Ordering::Release);
            return Ok(());
        }
        self.reserve(offset.max(start), (offset + length).min(end))
    }

    fn reserve(&self, start: u64, end: u64) -> io::Result<()> {
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
        let room = Room::new(file.try_clone().unwrap(), 5 << 19);
        let is_claimed = |chunk: u64| room.claimed[0].load(Ordering::Relaxed) >> chunk & 1 == 1;
        drop(room.claim(CHUNK_BYTES - 512, 1024).unwrap());
        assert!(is_claimed(0) && is_claimed(1) && !is_claimed(2));
        assert!(file.metadata().unwrap().blocks() * 512 >= 2 * CHUNK_BYTES, "the file system has allocated them");
        let mut punched = false;
        room.give_back(4096, 4096, || punched = true);
        assert!(punched && !is_claimed(0) && is_claimed(1));
        drop(room.claim(2 * CHUNK_BYTES, CHUNK_BYTES / 2).unwrap());
        assert!(is_claimed(2), "the last chunk is a short one");
        drop(room.claim(0, 0).unwrap());
        assert!(!is_claimed(0), "nothing needs no room");
        assert_eq!(file.metadata().unwrap().len(), 5 << 19);
    }

    #[test]
    fn what_cannot_be_allocated_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("read-only");
        std::fs::write(&path, [0; 4096]).unwrap();
        let room = Room::new(File::open(&path).unwrap(), 4096);
        assert!(room.claim(0, 512).is_err());
        assert_eq!(room.claimed[0].load(Ordering::Relaxed), 0);
    }
}
