//! The two rings of a queue (Base, section 4.1).
//!
//! The memory is shared with the device. Entries are written and read word by word. The word that
//! publishes an entry is written last and read first. This module checks positions that the device
//! reports, and nothing else about entries.

use std::sync::atomic::Ordering;

use iolab_nvme_spec::CompletionEntry;
use iolab_nvme_spec::completion::COMPLETION_ENTRY_BYTES;
use iolab_nvme_spec::submission::SUBMISSION_ENTRY_BYTES;
use iolab_pci_device::SharedBytes;

/// The ring of commands: this side writes at the tail, the device fetches at the head.
#[derive(Debug)]
pub(crate) struct SubmissionRing {
    memory: SharedBytes,
    entries: u32,
    tail: u32,
    /// The head that the device has reported.
    head: u32,
    /// The tail that was written to the doorbell.
    rung: u32,
}

/// Room for one entry.
#[derive(Debug)]
pub struct Room {
    /// The tail after it.
    next: u32,
}

impl SubmissionRing {
    /// An empty ring over `entries` entries of memory.
    pub(crate) fn new(memory: SharedBytes, entries: u32) -> SubmissionRing {
        assert!(memory.len() >= entries as usize * SUBMISSION_ENTRY_BYTES, "a submission ring larger than its memory");
        SubmissionRing { memory, entries, tail: 0, head: 0, rung: 0 }
    }

    /// Empties the ring; the device has forgotten it.
    pub(crate) fn restart(&mut self) {
        (self.tail, self.head, self.rung) = (0, 0, 0);
    }

    /// Leaves no room in the ring until it is restarted.
    pub(crate) fn close(&mut self) {
        self.head = self.after(self.tail);
    }

    #[inline]
    fn after(&self, position: u32) -> u32 {
        let next = position + 1;
        if next == self.entries { 0 } else { next }
    }

    /// Returns room for another entry, if there is any. One entry always stays empty (Base, section
    /// 4.1.2).
    #[inline(always)]
    pub(crate) fn room(&self) -> Option<Room> {
        let next = self.after(self.tail);
        (next != self.head).then_some(Room { next })
    }

    /// Writes an entry at the tail.
    #[inline(always)]
    pub(crate) fn push(&mut self, room: Room, words: [u64; 8]) {
        self.memory.store_words(self.tail as usize * SUBMISSION_ENTRY_BYTES, words, Ordering::Release);
        self.tail = room.next;
    }

    /// The new tail, if the doorbell must be rung.
    #[inline]
    pub(crate) fn take_unrung(&mut self) -> Option<u32> {
        if self.tail == self.rung {
            return None;
        }
        self.rung = self.tail;
        Some(self.tail)
    }

    /// Takes the head that the device reports; returns `false` if it is beyond the submitted
    /// entries.
    #[inline]
    pub(crate) fn fetched(&mut self, head: u16) -> bool {
        let head = u32::from(head);
        // The common case: the device has fetched everything.
        if head == self.rung {
            self.head = head;
            return true;
        }
        let ahead = |position: u32| {
            if position >= self.head { position - self.head } else { position + self.entries - self.head }
        };
        if head >= self.entries || ahead(head) > ahead(self.rung) {
            return false;
        }
        self.head = head;
        true
    }
}

/// The ring of completions: the device writes, this side reads at the head.
#[derive(Debug)]
pub(crate) struct CompletionRing {
    memory: SharedBytes,
    entries: u32,
    head: u32,
    /// The phase tag of a new entry, at its position in the entry's second word.
    phase: u64,
    /// Entries consumed since the doorbell was rung.
    unreported: u32,
    /// How many entries are consumed before the doorbell is rung.
    batch: u32,
}

/// The phase tag in the second word of an entry.
const PHASE: u64 = 1 << 48;

impl CompletionRing {
    /// An empty ring over `entries` zeroed entries of memory. The doorbell is rung after at least
    /// `batch` consumed entries: the device needs the head only before its ring is full.
    pub(crate) fn new(memory: SharedBytes, entries: u32, batch: u32) -> CompletionRing {
        assert!(memory.len() >= entries as usize * COMPLETION_ENTRY_BYTES, "a completion ring larger than its memory");
        CompletionRing { memory, entries, head: 0, phase: PHASE, unreported: 0, batch }
    }

    /// Empties the ring; the device has forgotten it.
    pub(crate) fn restart(&mut self) {
        self.memory.fill(0, self.entries as usize * COMPLETION_ENTRY_BYTES, 0);
        (self.head, self.phase, self.unreported) = (0, PHASE, 0);
    }

    /// The entry at the head, if the device has written it.
    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<CompletionEntry> {
        let words = self.memory.load_published(self.head as usize * COMPLETION_ENTRY_BYTES);
        if (words[1] ^ self.phase) & PHASE != 0 { None } else { Some(CompletionEntry { words }) }
    }

    /// Moves to the next entry.
    #[inline]
    pub(crate) fn pop(&mut self) {
        self.head += 1;
        if self.head == self.entries {
            self.head = 0;
            self.phase ^= PHASE;
        }
    }

    /// Records that this many entries were popped. Returns the head if the doorbell must be rung
    /// now.
    #[inline(always)]
    pub(crate) fn consumed(&mut self, entries: u32) -> Option<u32> {
        self.unreported += entries;
        if self.unreported < self.batch {
            return None;
        }
        self.unreported = 0;
        Some(self.head)
    }

    /// The head.
    #[inline]
    pub(crate) fn head(&self) -> u32 {
        self.head
    }
}

#[cfg(test)]
mod tests {
    use super::super::sync::model;
    use super::*;
    use iolab_nvme_spec::Status;

    fn memory(bytes: usize) -> SharedBytes {
        SharedBytes::anonymous(bytes).unwrap()
    }

    #[test]
    fn a_submission_ring_keeps_one_entry_empty_and_wraps() {
        model(|| {
            let mut ring = SubmissionRing::new(memory(4096), 3);
            for round in 0..7u64 {
                ring.push(ring.room().unwrap(), [round; 8]);
                let tail = ring.take_unrung().unwrap();
                assert_eq!(u64::from(tail), (round + 1) % 3);
                ring.push(ring.room().unwrap(), [round; 8]);
                assert!(ring.room().is_none(), "one entry stays empty");
                ring.tail = tail;
                assert!(ring.fetched(tail as u16));
            }
            assert!(ring.take_unrung().is_none());
        });
    }

    #[test]
    fn the_device_is_told_of_the_head_after_so_many_entries() {
        model(|| {
            let mut ring = CompletionRing::new(memory(4096), 16, 4);
            let told: Vec<Option<u32>> = [1, 2, 1, 3, 5, 1]
                .map(|entries| {
                    (0..entries).for_each(|_| ring.pop());
                    ring.consumed(entries)
                })
                .into();
            assert_eq!(told, [None, None, Some(4), None, Some(12), None]);
            ring.restart();
            assert_eq!(ring.consumed(3), None, "the ring of the new life has consumed nothing before");
        });
    }

    #[test]
    fn heads_beyond_what_was_rung_are_refused() {
        model(|| {
            let mut ring = SubmissionRing::new(memory(4096), 4);
            ring.push(ring.room().unwrap(), [1; 8]);
            ring.push(ring.room().unwrap(), [2; 8]);
            assert!(!ring.fetched(1), "pushed, but never rung");
            ring.take_unrung();
            assert!(ring.fetched(1) && ring.fetched(1) && ring.fetched(2));
            for nonsense in [1, 3, 4, 0xffff] {
                assert!(!ring.fetched(nonsense), "{nonsense}");
            }
        });
    }

    #[test]
    fn a_completion_ring_sees_each_entry_once_by_its_phase() {
        model(|| {
            let memory = memory(4096);
            let mut ring = CompletionRing::new(memory.clone(), 2, 1);
            for round in 0..6u16 {
                assert!(ring.peek().is_none());
                let entry = CompletionEntry::new(1, round, Status::SUCCESS).with_phase(round / 2 % 2 == 0);
                memory.store_words(usize::from(round % 2) * 16, entry.words, Ordering::Release);
                assert_eq!(ring.peek(), Some(entry));
                ring.pop();
                assert_eq!(ring.consumed(1), Some(ring.head()));
            }
            assert_eq!(ring.head(), 0);
        });
    }
}
