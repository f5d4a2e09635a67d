//! A command in flight: what the transport keeps for each slot of a queue.

/// The identifier of no command.
pub(super) const IDLE: u32 = u32::MAX;

/// A command in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    /// Its identifier, or [`IDLE`].
    pub(super) cid: u32,
    pub(super) opcode: u8,
    /// Whether it reads blocks: then either all its data arrives, or an error.
    pub(super) reads: bool,
    /// Whether the host sends data that is not in the capsule.
    pub(super) is_asked: bool,
    /// Whether a digest of its data was wrong.
    pub(super) is_damaged: bool,
    pub(super) address: u64,
    pub(super) bytes: u32,
    /// Bytes that were received or sent.
    pub(super) moved: u32,
}

/// A slot without a command.
pub(super) const NOTHING: InFlight =
    InFlight { cid: IDLE, opcode: 0, reads: false, is_asked: false, is_damaged: false, address: 0, bytes: 0, moved: 0 };
