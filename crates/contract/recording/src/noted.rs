//! Operations as a worker notes them for an iolog: the request, its time, and its file. This module
//! defines the form in the file in which they are kept during the run; the caller reads and writes
//! files.
//!
//! ```text
//!  record:   begun: u64 │ offset: u64 │ length: u32 │ file: 24 bits │ action: u8      (little-endian)
//! ```

use serde::{Deserialize, Serialize};

/// The actions for which an iolog has a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum NotedAction {
    /// A read.
    Read = 0,
    /// A write.
    Write = 1,
    /// A discard.
    Trim = 2,
    /// `fsync(2)`.
    Sync = 3,
    /// `fdatasync(2)`.
    DataSync = 4,
}

impl NotedAction {
    /// All of them, by their numbers.
    pub const ALL: [NotedAction; 5] =
        [NotedAction::Read, NotedAction::Write, NotedAction::Trim, NotedAction::Sync, NotedAction::DataSync];

    /// The word of fio's iolog (fio(1), "Trace file format").
    pub const fn word(self) -> &'static str {
        match self {
            NotedAction::Read => "read",
            NotedAction::Write => "write",
            NotedAction::Trim => "trim",
            NotedAction::Sync => "sync",
            NotedAction::DataSync => "datasync",
        }
    }
}

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotedOperation {
    /// When it was begun, ns since the run began.
    pub begun_ns: u64,
    /// Where, bytes.
    pub offset: u64,
    /// How much, bytes.
    pub length: u32,
    /// The number of its file in the plan of the worker; the lower 24 bits are kept.
    pub file: u32,
    /// What was done.
    pub action: NotedAction,
}

impl NotedOperation {
    /// Bytes of a record.
    pub const BYTES: usize = 24;

    /// The record.
    #[inline]
    pub fn encode(&self) -> [u8; NotedOperation::BYTES] {
        let mut bytes = [0; NotedOperation::BYTES];
        bytes[..8].copy_from_slice(&self.begun_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.length.to_le_bytes());
        bytes[20..].copy_from_slice(&(self.file << 8 | self.action as u32).to_le_bytes());
        bytes
    }

    /// The contents of a record; `None` for an unknown action.
    pub fn decode(bytes: &[u8; NotedOperation::BYTES]) -> Option<NotedOperation> {
        let (begun, rest) = bytes.split_first_chunk::<8>()?;
        let (offset, rest) = rest.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let what = u32::from_le_bytes(*rest.first_chunk::<4>()?);
        Some(NotedOperation {
            begun_ns: u64::from_le_bytes(*begun),
            offset: u64::from_le_bytes(*offset),
            length: u32::from_le_bytes(*length),
            file: what >> 8,
            action: *NotedAction::ALL.get((what & 0xff) as usize)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_what_was_noted() {
        for action in NotedAction::ALL {
            let noted =
                NotedOperation { begun_ns: u64::MAX - 3, offset: 1 << 50, length: u32::MAX, file: 70_000, action };
            assert_eq!(NotedOperation::decode(&noted.encode()), Some(noted));
        }
        assert_eq!(NotedOperation::decode(&[0xff; NotedOperation::BYTES]), None);
    }
}
