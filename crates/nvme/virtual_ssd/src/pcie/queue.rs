//! Rings in the host's memory: commands are fetched from them, and completions are posted to them.
//!
//! Guarantees: a ring is accessed only through the host's current mappings. When they change, the
//! ring is looked up again; if that fails, an access is a fault and nothing worse. A host sees a
//! completion as a whole or not at all: the last word, which contains the phase tag, is stored with
//! `Release`.
//!
//! This module knows neither doorbells nor the meaning of commands.

// Each module has a `path`, so that `tests/interleavings` can compile this file again.
#[path = "queue/completion.rs"]
mod completion;
#[path = "queue/submission.rs"]
mod submission;

pub(crate) use completion::{CompletionQueue, CompletionSpec};
pub(crate) use submission::{SubmissionQueue, SubmissionSpec};

use std::sync::atomic::Ordering;

use iolab_pci_device::{DmaFault, HostMemory, MappingAccess, SharedBytes};

/// The memory of a ring.
#[derive(Debug)]
pub(crate) struct Ring {
    base: u64,
    bytes: usize,
    access: MappingAccess,
    /// The whole ring, if one mapping contains it.
    window: Option<SharedBytes>,
}

impl Ring {
    pub(crate) fn new<M: HostMemory>(memory: &mut M, base: u64, bytes: usize, access: MappingAccess) -> Ring {
        let mut ring = Ring { base, bytes, access, window: None };
        ring.look_up(memory);
        ring
    }

    /// Looks the ring up again after mappings have changed.
    pub(crate) fn look_up<M: HostMemory>(&mut self, memory: &mut M) {
        self.window = memory.window(self.base, self.bytes, self.access).ok();
    }

    /// The whole ring, if one mapping contains it.
    #[inline(always)]
    fn window(&self) -> Option<&SharedBytes> {
        self.window.as_ref()
    }

    /// Reads the words of an entry. A ring may be in several mappings. An entry is in one, because
    /// its size divides that of a page, or in memory that is not mapped.
    #[cold]
    fn load_by_itself<M: HostMemory, const N: usize>(
        &self,
        memory: &mut M,
        offset: usize,
    ) -> Result<[u64; N], DmaFault> {
        let address = self.base + offset as u64;
        if let Ok(window) = memory.window(address, N * 8, self.access) {
            return Ok(window.load_words(0));
        }
        let mut raw = [[0; 8]; N];
        memory.read(address, raw.as_flattened_mut())?;
        Ok(raw.map(u64::from_le_bytes))
    }

    /// Writes the words of an entry, as [`Ring::load_by_itself`] reads them.
    #[cold]
    fn store_by_itself<M: HostMemory, const N: usize>(
        &self,
        memory: &mut M,
        offset: usize,
        words: [u64; N],
    ) -> Result<(), DmaFault> {
        let address = self.base + offset as u64;
        if let Ok(window) = memory.window(address, N * 8, self.access) {
            window.store_words(0, words, Ordering::Release);
            return Ok(());
        }
        let raw = words.map(u64::to_le_bytes);
        let Some((last, before)) = raw.split_last() else { return Ok(()) };
        memory.write(address, before.as_flattened())?;
        // The last word contains the phase tag, so it is written after the others.
        memory.write(address + before.len() as u64 * 8, last)
    }
}
