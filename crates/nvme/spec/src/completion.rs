//! The completion queue entry: 16 bytes that answer one command (Base, section 4.6).
//!
//! ```text
//! word 63.....49 48 47...32 31...16 15....0
//!    0  DW1: command specific       DW0: command specific
//!    1  SF      P  CID     SQID    SQHD
//! ```

use crate::Status;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bytes of an entry: CC.IOCQES is 4.
pub const COMPLETION_ENTRY_BYTES: usize = 16;

/// A completion queue entry (Base, section 4.6), as two words in memory order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CompletionEntry {
    /// The words.
    pub words: [u64; 2],
}

const _: () = assert!(size_of::<CompletionEntry>() == COMPLETION_ENTRY_BYTES);

impl CompletionEntry {
    /// The answer to command `cid` of submission queue `sqid`; all other fields are zero.
    #[inline]
    pub const fn new(sqid: u16, cid: u16, status: Status) -> CompletionEntry {
        CompletionEntry { words: [0, (sqid as u64) << 16 | (cid as u64) << 32 | (status.0 as u64) << 49] }
    }

    /// Command specific, dword 0.
    #[inline]
    pub const fn dw0(&self) -> u32 {
        self.words[0] as u32
    }

    /// Command specific, dword 1.
    #[inline]
    pub const fn dw1(&self) -> u32 {
        (self.words[0] >> 32) as u32
    }

    /// Both command specific dwords as one number, as Zone Append returns its LBA (ZNS, section
    /// 3.4.1).
    #[inline]
    pub const fn result(&self) -> u64 {
        self.words[0]
    }

    /// The same entry with another result.
    #[must_use]
    #[inline]
    pub const fn with_result(mut self, result: u64) -> CompletionEntry {
        self.words[0] = result;
        self
    }

    /// SQ Head Pointer: how far the controller has fetched.
    #[inline]
    pub const fn sqhd(&self) -> u16 {
        self.words[1] as u16
    }

    /// The same entry with another SQ head pointer.
    #[must_use]
    #[inline]
    pub const fn with_sqhd(mut self, head: u16) -> CompletionEntry {
        self.words[1] = self.words[1] & !0xffff | head as u64;
        self
    }

    /// SQ Identifier.
    #[inline]
    pub const fn sqid(&self) -> u16 {
        (self.words[1] >> 16) as u16
    }

    /// Command Identifier.
    #[inline]
    pub const fn cid(&self) -> u16 {
        (self.words[1] >> 32) as u16
    }

    /// Phase Tag: differs from the previous value in this place.
    #[inline]
    pub const fn phase(&self) -> bool {
        self.words[1] >> 48 & 1 != 0
    }

    /// The same entry with another phase tag.
    #[must_use]
    #[inline]
    pub const fn with_phase(mut self, phase: bool) -> CompletionEntry {
        self.words[1] = self.words[1] & !(1 << 48) | (phase as u64) << 48;
        self
    }

    /// Status Field.
    #[inline]
    pub const fn status(&self) -> Status {
        Status((self.words[1] >> 49) as u16)
    }
}
