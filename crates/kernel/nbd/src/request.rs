//! Requests of a client.
//!
//! ```text
//! 0      4       6      8        16       24       28
//! | magic | flags | type | cookie | offset | length |  then the data of a write      (big-endian)
//! ```

use crate::errors::NbdStreamError;

/// Bytes of a request, without the data of a write.
pub const REQUEST_BYTES: usize = 28;

const MAGIC: u32 = 0x2560_9513;

/// Flags of a request.
pub mod command_flags {
    /// The reply comes when the change survives a loss of power.
    pub const FUA: u16 = 1;
    /// Zeroes must be allocated.
    pub const NO_HOLE: u16 = 2;
    /// A read is answered by one chunk.
    pub const DONT_FRAGMENT: u16 = 4;
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NbdCommand {
    /// Data from the export.
    Read,
    /// Data, which follows the request.
    Write,
    /// The client leaves; there is no reply.
    Disconnect,
    /// All that was answered is to survive a loss of power.
    Flush,
    /// A range is not needed any more.
    Trim,
    /// A range is to read as zeroes.
    WriteZeroes,
    /// Another number.
    Other(u16),
}

impl NbdCommand {
    const fn number(self) -> u16 {
        match self {
            NbdCommand::Read => 0,
            NbdCommand::Write => 1,
            NbdCommand::Disconnect => 2,
            NbdCommand::Flush => 3,
            NbdCommand::Trim => 4,
            NbdCommand::WriteZeroes => 6,
            NbdCommand::Other(number) => number,
        }
    }

    const fn of(number: u16) -> NbdCommand {
        match number {
            0 => NbdCommand::Read,
            1 => NbdCommand::Write,
            2 => NbdCommand::Disconnect,
            3 => NbdCommand::Flush,
            4 => NbdCommand::Trim,
            6 => NbdCommand::WriteZeroes,
            other => NbdCommand::Other(other),
        }
    }
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NbdRequest {
    /// What it asks for.
    pub command: NbdCommand,
    /// [`command_flags`].
    pub flags: u16,
    /// The client's name for it, which its replies repeat.
    pub cookie: u64,
    /// Where, bytes.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
}

impl NbdRequest {
    /// Its bytes.
    #[inline]
    pub fn encode(&self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        bytes[..4].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.command.number().to_be_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_be_bytes());
        bytes[24..].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }

    /// The request at the beginning of `bytes`; `None` if it has not come as a whole.
    ///
    /// # Errors
    /// There is something else.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<Option<NbdRequest>, NbdStreamError> {
        let Some((bytes, _)) = bytes.split_first_chunk::<REQUEST_BYTES>() else { return Ok(None) };
        if bytes[..4] != MAGIC.to_be_bytes() {
            return Err(NbdStreamError("a request does not begin with its magic number"));
        }
        let u16_at = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        Ok(Some(NbdRequest {
            command: NbdCommand::of(u16_at(6)),
            flags: u16_at(4),
            cookie: u64_at(bytes, 8),
            offset: u64_at(bytes, 16),
            length: u32_at(bytes, 24),
        }))
    }
}

/// The number at `at`, which the caller knows to be there.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(number)
}

/// The number at `at`, which the caller knows to be there.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_be_bytes(number)
}
