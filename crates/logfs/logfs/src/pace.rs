//! Progress of a checkpoint, and how much changes may add to the log meanwhile.
//!
//! The log has limited room until a checkpoint is done. If changes used all of it at the beginning,
//! later ones would wait for the whole checkpoint. They get the room step by step instead, so that
//! each waits for a small part at most.

/// Progress of a checkpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    /// The bytes that it was expected to take when it began.
    pub(crate) begun_bytes: u64,
    /// Bytes of groups appended to the log.
    pub(crate) described_bytes: u64,
    /// Bytes read back.
    pub(crate) read_bytes: u64,
    /// Whether all has been read back; only the anchors are left to write.
    pub(crate) is_read: bool,
}

impl Pace {
    /// The part of the room that changes may have used by now, in sixteenths, for a checkpoint of
    /// `expected_bytes`. Each step that takes noticeable time has its share.
    pub(crate) fn sixteenths(&self, expected_bytes: u64) -> u64 {
        let share = |bytes: u64, of: u64| of * bytes.min(expected_bytes) / expected_bytes.max(1);
        let read = if self.is_read { 4 } else { share(self.read_bytes, 4) };
        let anchors = if self.is_read { 2 } else { 0 };
        3 + share(self.described_bytes, 7) + read + anchors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_get_more_room_with_every_step_and_never_more_than_all() {
        let steps =
            [(0, 0, false), (50, 0, false), (100, 0, false), (100, 50, false), (120, 150, false), (120, 150, true)];
        let shares = steps.map(|(described_bytes, read_bytes, is_read)| {
            Pace { described_bytes, read_bytes, is_read, ..Pace::default() }.sixteenths(100)
        });
        assert_eq!(shares, [3, 6, 10, 12, 14, 16]);
        assert_eq!(Pace { is_read: true, ..Pace::default() }.sixteenths(0), 9);
    }
}
