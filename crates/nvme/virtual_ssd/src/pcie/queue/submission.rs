//! A submission queue, as seen by its consumer.

use std::sync::atomic::Ordering;

use iolab_nvme_spec::SubmissionEntry;
use iolab_nvme_spec::submission::SUBMISSION_ENTRY_BYTES;
use iolab_pci_device::{DmaFault, HostMemory, MappingAccess, SharedWord};

use super::Ring;

/// The parameters with which a controller creates a submission queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SubmissionSpec {
    pub(crate) id: u16,
    /// Its completion queue.
    pub(crate) completion: u16,
    pub(crate) base: u64,
    pub(crate) entries: u32,
}

/// A submission queue.
#[derive(Debug)]
pub(crate) struct SubmissionQueue {
    pub(crate) spec: SubmissionSpec,
    ring: Ring,
    head: u32,
    tail: u32,
    /// The last refused doorbell value, so that the host is notified once.
    refused_tail: Option<u32>,
    /// Until when the command at the head waits for the medium.
    pub(crate) stalled_until_ns: u64,
    /// Its place among the completion queues of its dispatcher.
    pub(crate) completion_index: usize,
    /// The register that the host writes its tail to.
    doorbell: SharedWord,
    /// One bit for each identifier of a command that was taken and has not been answered yet;
    /// allocated with the first one.
    outstanding: Option<Box<[u64; 1 << 10]>>,
}

impl SubmissionQueue {
    pub(crate) fn new<M: HostMemory>(
        memory: &mut M,
        spec: SubmissionSpec,
        completion_index: usize,
        doorbell: SharedWord,
    ) -> SubmissionQueue {
        let bytes = spec.entries as usize * SUBMISSION_ENTRY_BYTES;
        let ring = Ring::new(memory, spec.base, bytes, MappingAccess::Read);
        let (head, tail, refused_tail, stalled_until_ns) = (0, 0, None, 0);
        SubmissionQueue {
            spec,
            ring,
            head,
            tail,
            refused_tail,
            stalled_until_ns,
            completion_index,
            doorbell,
            outstanding: None,
        }
    }

    /// Whether a command with this identifier is unanswered.
    #[inline(always)]
    pub(crate) fn is_outstanding(&self, cid: u16) -> bool {
        self.outstanding.as_ref().is_some_and(|bits| bits[usize::from(cid >> 6)] >> (cid & 63) & 1 != 0)
    }

    /// Records that a command was taken and will be answered later.
    #[inline]
    pub(crate) fn set_outstanding(&mut self, cid: u16) {
        let bits = self.outstanding.get_or_insert_with(|| Box::new([0; 1 << 10]));
        bits[usize::from(cid >> 6)] |= 1 << (cid & 63);
    }

    /// Records that a taken command is answered, or never will be.
    #[inline]
    pub(crate) fn clear_outstanding(&mut self, cid: u16) {
        if let Some(bits) = &mut self.outstanding {
            bits[usize::from(cid >> 6)] &= !(1 << (cid & 63));
        }
    }

    /// The value that the host has written to its doorbell.
    #[inline(always)]
    pub(crate) fn rung(&self) -> u32 {
        self.doorbell.load(Ordering::Acquire)
    }

    /// Takes the tail doorbell; `false` if its value is no entry of the queue.
    #[inline]
    pub(crate) fn set_tail(&mut self, tail: u32) -> bool {
        let is_valid = tail < self.spec.entries;
        if is_valid {
            self.tail = tail;
        }
        is_valid
    }

    /// Records an invalid value; returns whether it is a new one.
    #[cold]
    pub(crate) fn refuse_tail(&mut self, tail: u32) -> bool {
        self.refused_tail.replace(tail) != Some(tail)
    }

    /// The number of waiting commands.
    #[inline]
    pub(crate) fn waiting(&self) -> u32 {
        if self.tail >= self.head { self.tail - self.head } else { self.tail + self.spec.entries - self.head }
    }

    /// The last accepted tail.
    #[inline]
    pub(crate) fn tail(&self) -> u32 {
        self.tail
    }

    /// The next command to fetch.
    #[inline]
    pub(crate) fn head(&self) -> u16 {
        self.head as u16
    }

    /// Reads the command at the head.
    #[inline(always)]
    pub(crate) fn fetch<M: HostMemory>(&self, memory: &mut M) -> Result<SubmissionEntry, DmaFault> {
        let offset = self.head as usize * SUBMISSION_ENTRY_BYTES;
        let words = match self.ring.window() {
            Some(window) => window.load_words::<8>(offset),
            None => self.ring.load_by_itself(memory, offset)?,
        };
        Ok(SubmissionEntry { words })
    }

    /// Opcode, namespace and first block of the command after the one at the head, if there is one.
    #[inline]
    pub(crate) fn peek_next(&self) -> Option<(u8, u32, u64)> {
        if self.waiting() < 2 {
            return None;
        }
        let next = if self.head + 1 == self.spec.entries { 0 } else { self.head + 1 };
        let window = self.ring.window()?;
        let words = window.load_words::<6>(next as usize * SUBMISSION_ENTRY_BYTES);
        Some((words[0] as u8, (words[0] >> 32) as u32, words[5]))
    }

    /// Advances the head past the taken command.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.head = if self.head + 1 == self.spec.entries { 0 } else { self.head + 1 };
    }

    /// Looks the ring up again after mappings have changed.
    pub(crate) fn look_up<M: HostMemory>(&mut self, memory: &mut M) {
        self.ring.look_up(memory);
    }
}
