//! Why data was not copied between host and media, and the status for the host.

use iolab_memory::Lost;
use iolab_nvme_spec::Status;

use crate::command_error::CommandError;
use crate::data_window::Unreachable;

/// An access to the media or to the host's memory failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyError {
    /// The host has not mapped its memory for this access.
    Host,
    /// The media has no such bytes.
    Media,
    /// The media has no space for the written data.
    Full,
    /// The media had such bytes, but has lost them.
    Lost,
    /// The media has lost such bytes, which a write found out.
    NotWritten,
}

impl From<Lost> for CopyError {
    fn from(_: Lost) -> CopyError {
        CopyError::Lost
    }
}

impl CopyError {
    /// The status of a command with this error on a block.
    #[cold]
    pub(crate) fn command_error(self, lba: u64) -> CommandError {
        match self {
            CopyError::Host => Unreachable.into(),
            CopyError::Media => CommandError::permanent(Status::INTERNAL_ERROR).on_block(lba),
            CopyError::Lost => CommandError::permanent(Status::UNRECOVERED_READ_ERROR).on_block(lba),
            CopyError::NotWritten => CommandError::permanent(Status::WRITE_FAULT).on_block(lba),
            CopyError::Full => CommandError::transient(Status::CAPACITY_EXCEEDED).on_block(lba),
        }
    }
}

impl From<Unreachable> for CopyError {
    fn from(_: Unreachable) -> CopyError {
        CopyError::Host
    }
}
