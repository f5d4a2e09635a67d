//! The slots that an export needs, and the error for a pool with others.

use std::fmt;

/// The largest block size of a pool; payloads are a multiple of it.
const PAGE: usize = 4096;

/// Bytes that a slot needs for payloads of `payload_bytes`: room to shift a payload to its position
/// in a block, and for one more block.
pub fn slot_bytes(payload_bytes: usize) -> usize {
    payload_bytes.next_multiple_of(PAGE) + 2 * PAGE
}

/// The largest payload that slots of `slot_bytes` can take at any alignment; 0 if they are too
/// small.
pub fn payload_bytes(slot_bytes: usize) -> usize {
    slot_bytes.saturating_sub(2 * PAGE) / PAGE * PAGE
}

/// The slots that an export needs, for making the pool and opening the lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolShape {
    /// Number of slots, which is the lane's depth.
    pub slots: usize,
    /// Bytes of each.
    pub slot_bytes: usize,
}

/// The pool is not suitable for exporting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolMismatch {
    /// Bytes of its slots.
    pub slot_bytes: usize,
    /// Number of its slots.
    pub slots: usize,
}

impl fmt::Display for PoolMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (slots, bytes) = (self.slots, self.slot_bytes);
        let least = slot_bytes(PAGE);
        write!(f, "cannot export {slots} slots of {bytes} bytes: use 1 to 65536 slots of {least} bytes or more")
    }
}

impl std::error::Error for PoolMismatch {}
