//! The offsets of the doorbells (Base, sections 3.1.24 and 3.1.25; PCIe Transport 1.0, section
//! 3.1.2).
//!
//! ```text
//! 1000h                    SQ 0 tail    (admin)
//! 1000h + 1 * (4 << DSTRD) CQ 0 head
//! 1000h + 2 * (4 << DSTRD) SQ 1 tail
//! 1000h + 3 * (4 << DSTRD) CQ 1 head    ...
//! ```
//!
//! The shadow doorbell and EventIdx buffers of Doorbell Buffer Config have the same layout, from
//! offset zero (Base, section 5.7).

/// Offset of the first doorbell in BAR 0.
pub const DOORBELLS: u64 = 0x1000;

/// The distance of doorbells: CAP.DSTRD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoorbellStride(pub u8);

impl DoorbellStride {
    /// Bytes from one doorbell to the next.
    pub const fn bytes(self) -> u64 {
        4 << self.0
    }

    /// Offset in BAR 0 of the tail doorbell of a submission queue.
    pub const fn submission_tail(self, queue: u16) -> u64 {
        DOORBELLS + self.shadow_submission_tail(queue)
    }

    /// Offset in BAR 0 of the head doorbell of a completion queue.
    pub const fn completion_head(self, queue: u16) -> u64 {
        DOORBELLS + self.shadow_completion_head(queue)
    }

    /// Offset in a shadow doorbell or EventIdx buffer of a submission queue's value.
    pub const fn shadow_submission_tail(self, queue: u16) -> u64 {
        2 * queue as u64 * self.bytes()
    }

    /// Offset in a shadow doorbell or EventIdx buffer of a completion queue's value.
    pub const fn shadow_completion_head(self, queue: u16) -> u64 {
        (2 * queue as u64 + 1) * self.bytes()
    }

    /// The queue whose doorbell is at `offset` in BAR 0, and whether it is a completion queue;
    /// `None` if there is no doorbell.
    pub const fn queue_of(self, offset: u64) -> Option<(u64, bool)> {
        if offset < DOORBELLS || !(offset - DOORBELLS).is_multiple_of(self.bytes()) {
            return None;
        }
        let index = (offset - DOORBELLS) / self.bytes();
        Some((index / 2, index % 2 == 1))
    }
}
