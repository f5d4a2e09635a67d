//! Rings in the host's memory: where commands are fetched from and completions are posted to.
//!
//! Guarantees: a ring is accessed only through the host's current mappings. When they change, the
//! ring is looked up again; if that fails, an access is a fault and nothing worse. A host sees a
//! completion as a whole or not at all: the last word, which has the phase tag, is stored with
//! `Release`.
//!
//! Deliberately not here: doorbells, and what commands mean.

// With their paths, so that `tests/interleavings` can compile this file once more.
#[path = "queue/completion.rs"]
mod completion;
#[path = "queue/submission.rs"]
mod submission;

pub(crate) use completion::{CompletionQueue, CompletionSpec};
pub(crate) use submission::{SubmissionQueue, SubmissionSpec};

use iolab_pci_device::{DmaFault, HostMemory, MappingAccess, SharedBytes};

/// The memory of a ring.
#[derive(Debug)]
pub(crate) struct Ring {
    base: u64,
    bytes: usize,
    access: MappingAccess,
    /// All of it, where one mapping holds it.
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

    /// All of it, where one mapping holds it.
    #[inline(always)]
    fn window(&self) -> Option<&SharedBytes> {
        self.window.as_ref()
    }

    /// Calls `with` with the memory of an entry and the offset in it. A ring may lie in several
    /// mappings; an entry lies in one, because its size divides that of a page.
    #[cold]
    fn entry_by_itself<M: HostMemory, T>(
        &self,
        memory: &mut M,
        offset: usize,
        bytes: usize,
        with: impl FnOnce(&SharedBytes, usize) -> T,
    ) -> Result<T, DmaFault> {
        let window = memory.window(self.base + offset as u64, bytes, self.access)?;
        Ok(with(&window, 0))
    }
}
