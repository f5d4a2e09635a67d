//! The slots of a queue pair: one for each command that may be in flight.

/// [`Slot::expected`] of a slot without a command.
const IDLE: u32 = u32::MAX;

/// Whether an Abort was sent for a command that took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AbortState {
    /// No.
    NotSent,
    /// Yes. The command's own completion is still due.
    Sent,
}

/// A slot for a command in flight.
#[derive(Debug, Clone)]
#[repr(align(128))]
pub(super) struct Slot {
    /// The identifier of the command in flight, or [`IDLE`].
    expected: u32,
    /// The identifier of the next command.
    next_cid: u16,
    pub(super) abort: AbortState,
    /// How often the command was sent again after resets.
    pub(super) replays: u8,
    /// The command, kept for resending it.
    pub(super) entry: [u64; 8],
    /// When the command was first seen in flight by a check; 0 if no check has seen it yet.
    pub(super) seen_ns: u64,
}

impl Slot {
    /// The slot with this number. Its identifiers differ by `cid_step`, a power of two above all
    /// slot numbers plus one. This way none is FFFFh, which commands must not use (Base, section
    /// 4.2).
    pub(super) fn new(index: u16, cid_step: u16) -> Slot {
        // Each slot starts at a different count of uses, so an identifier with a wrong slot number
        // is hardly ever expected in that slot.
        let first = index.wrapping_add(cid_step.wrapping_mul(index));
        Slot { expected: IDLE, next_cid: first, abort: AbortState::NotSent, replays: 0, entry: [0; 8], seen_ns: 0 }
    }

    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.expected == IDLE
    }

    /// Whether the command in flight has this identifier.
    #[inline]
    pub(super) fn expects(&self, cid: u16) -> bool {
        self.expected == u32::from(cid)
    }

    /// The identifier of the command in flight.
    pub(super) fn cid(&self) -> u16 {
        self.expected as u16
    }

    /// Starts a command. `entry` has no identifier; the returned entry has one.
    #[inline(always)]
    pub(super) fn start(&mut self, mut entry: [u64; 8]) -> [u64; 8] {
        entry[0] |= u64::from(self.next_cid) << 16;
        self.expected = u32::from(self.next_cid);
        self.seen_ns = 0;
        self.entry = entry;
        entry
    }

    /// Ends the command. The next one gets another identifier.
    #[inline]
    pub(super) fn finish(&mut self, cid_step: u16) {
        self.next_cid = self.next_cid.wrapping_add(cid_step);
        self.expected = IDLE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_lead_to_their_slot_and_are_never_the_reserved_one() {
        for bits in [1, 4, 8, 14] {
            let step = 1u16 << bits;
            let mask = step - 1;
            let last = mask - 1;
            let mut slot = Slot::new(last, step);
            for _ in 0..70_000 {
                let cid = slot.next_cid;
                assert_ne!(cid, u16::MAX);
                assert_eq!(cid & mask, last);
                assert_eq!(slot.start([0; 8])[0], u64::from(cid) << 16);
                assert!(slot.expects(cid) && !slot.is_idle());
                slot.finish(step);
                assert!(!slot.expects(cid) && slot.is_idle());
                assert_ne!(slot.next_cid, cid);
            }
        }
    }
}
