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

    /// Whether bytes go through the slot: reads and writes.
    #[inline]
    pub const fn moves_data(self) -> bool {
        matches!(self, OpKind::Read | OpKind::Write)
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
    /// I/O priority of this operation: hint << 5 | class << 3 | level ([`pack_priority`]); 0 means
    /// the thread's own priority.
    pub priority: u8,
}

/// A priority in one byte, as [`Op::priority`] has it. Hints above 7 do not exist (linux/ioprio.h).
pub const fn pack_priority(class: u8, level: u8, hint: u8) -> u8 {
    (hint & 7) << 5 | (class & 3) << 3 | level & 7
}

/// The same priority as the kernel has it (ioprio_set(2)): class in the upper three bits, then ten
/// bits of hint, level in the lower three.
#[inline]
pub const fn io_priority(packed: u8) -> u16 {
    (packed as u16 >> 3 & 3) << 13 | (packed as u16 >> 5) << 3 | packed as u16 & 7
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

/// The range of one file that a worker uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// First byte.
    pub start_bytes: u64,
    /// Bytes from there.
    pub length_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_those_of_the_kernel() {
        for (class, level, hint, expected) in [(1, 0, 0, 0x2000), (2, 4, 0, 0x4004), (3, 7, 7, 0x603f), (0, 0, 0, 0)] {
            assert_eq!(io_priority(pack_priority(class, level, hint)), expected, "{class} {level} {hint}");
        }
    }
}
