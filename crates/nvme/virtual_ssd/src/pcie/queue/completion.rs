//! A completion queue, as seen by its producer.
//!
//! Guarantees: an entry that the host has not consumed is never overwritten. Room is reserved when
//! a command is fetched, so that there is an entry for it when it completes.

use std::sync::atomic::Ordering;

use iolab_nvme_spec::CompletionEntry;
use iolab_nvme_spec::completion::COMPLETION_ENTRY_BYTES;
use iolab_pci_device::{DmaFault, HostMemory, MappingAccess};

use super::Ring;

/// The parameters with which a controller creates a completion queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompletionSpec {
    pub(crate) id: u16,
    pub(crate) base: u64,
    pub(crate) entries: u32,
    /// The vector to signal, if interrupts are enabled.
    pub(crate) vector: Option<u16>,
}

/// A completion queue.
#[derive(Debug)]
pub(crate) struct CompletionQueue {
    pub(crate) spec: CompletionSpec,
    ring: Ring,
    tail: u32,
    head: u32,
    phase: bool,
    /// The last refused doorbell value, so that the host is notified once.
    refused_head: Option<u32>,
    /// Entries that are neither used nor reserved for fetched commands.
    room: u32,
    /// Entries posted since the last interrupt.
    pub(crate) unsignalled: u32,
    /// When the first of them was posted.
    pub(crate) unsignalled_since_ns: u64,
}

impl CompletionQueue {
    pub(crate) fn new<M: HostMemory>(memory: &mut M, spec: CompletionSpec) -> CompletionQueue {
        let bytes = spec.entries as usize * COMPLETION_ENTRY_BYTES;
        let ring = Ring::new(memory, spec.base, bytes, MappingAccess::ReadWrite);
        CompletionQueue {
            spec,
            ring,
            tail: 0,
            head: 0,
            phase: true,
            refused_head: None,
            room: spec.entries - 1,
            unsignalled: 0,
            unsignalled_since_ns: 0,
        }
    }

    #[inline]
    fn used(&self) -> u32 {
        if self.tail >= self.head { self.tail - self.head } else { self.tail + self.spec.entries - self.head }
    }

    /// Entries that are neither used nor reserved.
    #[inline]
    pub(crate) fn room(&self) -> u32 {
        self.room
    }

    /// Takes the head doorbell; `false` if it claims entries that were not posted.
    pub(crate) fn set_head(&mut self, head: u32) -> bool {
        if head >= self.spec.entries {
            return false;
        }
        let consumed = if head >= self.head { head - self.head } else { head + self.spec.entries - self.head };
        let is_valid = consumed <= self.used();
        if is_valid {
            self.head = head;
            self.room += consumed;
        }
        is_valid
    }

    /// Records an invalid value; returns whether it is a new one.
    #[cold]
    pub(crate) fn refuse_head(&mut self, head: u32) -> bool {
        self.refused_head.replace(head) != Some(head)
    }

    /// Reserves an entry for a command.
    #[inline]
    pub(crate) fn reserve(&mut self) {
        self.room = self.room.saturating_sub(1);
    }

    /// Releases a reserved entry, because the command will not complete, or completes now.
    #[inline]
    pub(crate) fn release(&mut self) {
        self.room += 1;
    }

    /// Records that a posted completion has not been signalled to a host that uses interrupts.
    #[inline]
    pub(crate) fn note_unsignalled(&mut self, now_ns: u64) {
        if self.unsignalled == 0 {
            self.unsignalled_since_ns = now_ns;
        }
        self.unsignalled += 1;
    }

    /// Posts a completion. The caller has checked that there is room.
    #[inline(always)]
    pub(crate) fn post<M: HostMemory>(&mut self, memory: &mut M, entry: CompletionEntry) -> Result<(), DmaFault> {
        self.post_with_phase(memory, entry, self.phase)
    }

    /// Posts a completion with the phase tag of the previous round, which the host does not see.
    #[cold]
    pub(crate) fn post_stale<M: HostMemory>(&mut self, memory: &mut M, entry: CompletionEntry) -> Result<(), DmaFault> {
        self.post_with_phase(memory, entry, !self.phase)
    }

    #[inline(always)]
    fn post_with_phase<M: HostMemory>(
        &mut self,
        memory: &mut M,
        entry: CompletionEntry,
        phase: bool,
    ) -> Result<(), DmaFault> {
        let words = entry.with_phase(phase).words;
        let offset = self.tail as usize * COMPLETION_ENTRY_BYTES;
        match self.ring.window() {
            Some(window) => window.store_words(offset, words, Ordering::Release),
            None => self.ring.store_by_itself(memory, offset, words)?,
        }
        self.room = self.room.saturating_sub(1);
        self.tail += 1;
        if self.tail == self.spec.entries {
            self.tail = 0;
            self.phase = !self.phase;
        }
        Ok(())
    }

    /// Looks the ring up again after mappings have changed.
    pub(crate) fn look_up<M: HostMemory>(&mut self, memory: &mut M) {
        self.ring.look_up(memory);
    }
}
