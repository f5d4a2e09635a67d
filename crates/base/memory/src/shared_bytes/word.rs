//! One word of shared memory, checked once: a register or doorbell that is read frequently.
//!
//! Unsafe because it keeps the address that was checked.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Mapping, SharedBytes};

/// A 32-bit word that two parties read and write. It keeps the mapping alive, as a window does.
#[derive(Clone)]
pub struct SharedWord {
    at: NonNull<u32>,
    _mapping: Arc<Mapping>,
}

// SAFETY: this is an address that stays mapped as long as the word lives. It is only used through
// atomics, for which the thread does not matter.
unsafe impl Send for SharedWord {}
// SAFETY: as above; there is no state besides the shared word.
unsafe impl Sync for SharedWord {}

impl SharedBytes {
    /// Returns the word at `offset`; `None` if it is not within the window, not aligned to 4, or
    /// read-only.
    pub fn word(&self, offset: usize) -> Option<SharedWord> {
        let fits = self.writable_bytes.checked_sub(4).is_some_and(|last| offset <= last);
        let at = NonNull::new(self.start.as_ptr().wrapping_add(offset).cast::<u32>())?;
        (fits && at.is_aligned()).then(|| SharedWord { at, _mapping: Arc::clone(&self.mapping) })
    }
}

impl SharedWord {
    /// Loads the word.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> u32 {
        // SAFETY: `SharedBytes::word` has checked the place, the mapping is alive, and all accesses
        // to it are atomic.
        u32::from_le(unsafe { AtomicU32::from_ptr(self.at.as_ptr()) }.load(order))
    }

    /// Stores the word.
    #[inline(always)]
    pub fn store(&self, value: u32, order: Ordering) {
        // SAFETY: as in load, and the mapping may be written.
        unsafe { AtomicU32::from_ptr(self.at.as_ptr()) }.store(value.to_le(), order);
    }
}

impl fmt::Debug for SharedWord {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SharedWord({:#x})", self.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MappingAccess;

    #[test]
    fn a_word_is_the_same_bytes_and_outlives_its_window() {
        let memory = SharedBytes::anonymous(64).unwrap();
        let word = memory.window(32, 8).unwrap().word(4).unwrap();
        word.store(7, Ordering::Release);
        assert_eq!(memory.load_u32(36, Ordering::Acquire), 7);
        drop(memory);
        assert_eq!(word.load(Ordering::Acquire), 7);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    fn a_place_that_is_no_word_is_none() {
        let memory = SharedBytes::memfd("iolab-test", 4096).unwrap();
        assert!(memory.word(4092).is_some());
        for offset in [2, 4094, 4096, usize::MAX - 3] {
            assert!(memory.word(offset).is_none(), "{offset}");
        }
        let fd = memory.file().unwrap().0.try_clone_to_owned().unwrap();
        assert!(SharedBytes::of_file(fd, 0, 4096, MappingAccess::Read).unwrap().word(0).is_none());
    }
}
