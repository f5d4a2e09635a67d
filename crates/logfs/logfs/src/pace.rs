//! How far a checkpoint has come, and what changes may add to the log meanwhile.
//!
//! The log has room for so much until a checkpoint is done. Changes that took it all at the
//! beginning would wait for the whole checkpoint afterwards; they get it bit by bit, so that each
//! waits for a small part at most.

/// How far a checkpoint has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Bytes of groups that were given to the log.
    pub(crate) described_bytes: u64,
    /// Bytes read back.
    pub(crate) read_bytes: u64,
    /// Whether all was read back: what is left are the anchors.
    pub(crate) is_read: bool,
}

impl Pace {
    /// The part of the room that changes may have taken by now, in sixteenths: of a checkpoint
    /// that will take so many bytes. Some for each of its steps that takes a time of its own.
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
            Pace { described_bytes, read_bytes, is_read }.sixteenths(100)
        });
        assert_eq!(shares, [3, 6, 10, 12, 14, 16]);
        assert_eq!(Pace { is_read: true, ..Pace::default() }.sixteenths(0), 9);
    }
}
