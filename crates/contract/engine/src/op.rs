//! One operation on its way down, and its completion on the way back.

use iolab_options::Direction;

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum OpKind {
    /// Device to slot buffer.
    Read = 0,
    /// Slot buffer to device.
    Write = 1,
    /// Discard `offset..offset+length`.
    Trim = 2,
    /// `fsync(2)` of the file.
    Sync = 3,
    /// `fdatasync(2)` of the file.
    DataSync = 4,
    /// `sync_file_range(2)` of `offset..offset+length`.
    SyncFileRange = 5,
}

impl OpKind {
    /// The direction whose statistics count this operation; `None` for the syncs.
    #[inline]
    pub const fn direction(self) -> Option<Direction> {
        match self {
            OpKind::Read => Some(Direction::Read),
            OpKind::Write => Some(Direction::Write),
            OpKind::Trim => Some(Direction::Trim),
            _ => None,
        }
    }

    /// Whether this is one of the three syncs, which move no data.
    #[inline]
    pub const fn is_sync(self) -> bool {
        (self as u8) >= OpKind::Sync as u8
    }
}

impl From<Direction> for OpKind {
    #[inline]
    fn from(direction: Direction) -> OpKind {
        match direction {
            Direction::Read => OpKind::Read,
            Direction::Write => OpKind::Write,
            Direction::Trim => OpKind::Trim,
        }
    }
}

/// One operation. It names its buffer by slot: the lane knows where the slots are.
///
/// The buffer used is `length` bytes from `buffer_offset` within the slot; `buffer_offset` is not
/// zero only when the rest of a short transfer is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Op {
    /// Byte offset in the file or device.
    pub offset: u64,
    /// Bytes to move (or the length of the range, for trim and sync_file_range).
    pub length: u32,
    /// Bytes of the slot already done. For `SyncFileRange`, which uses no buffer: the
    /// `SYNC_FILE_RANGE_*` bits of `sync_file_range(2)`, 0 meaning all three (wait before, write,
    /// wait after).
    pub buffer_offset: u32,
    /// Index into [`crate::LaneRequest::files`].
    pub file: u32,
    /// Slot, below the depth the lane was opened with.
    pub slot: u16,
    /// What to do.
    pub kind: OpKind,
    /// Per-operation I/O priority class and level as `ioprio_set(2)` packs them, shifted to one
    /// byte (class << 3 | level); 0 means the thread's own priority.
    pub priority: u8,
}

/// The engine's answer to one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Completion {
    /// The slot of the [`Op`], which belongs to the loop again.
    pub slot: u32,
    /// Bytes moved (0 for syncs and trims that succeeded), or a negative errno.
    pub result: i32,
}
