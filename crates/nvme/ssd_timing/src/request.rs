//! Requests to a timing model, and its answers.
//!
//! Guarantees: requests contain no buffers and no memory addresses, only what affects time. The
//! device decodes NVMe commands.

/// The effect of a command on the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandKind {
    /// Host reads.
    Read,
    /// Host writes.
    Write,
    /// All data acknowledged so far must survive a loss of power.
    Flush,
    /// The range is no longer needed (Dataset Management, deallocate).
    Trim,
    /// The range must read as zeros; no data crosses the link.
    WriteZeroes,
    /// The zone that contains the offset is emptied (zoned models; others complete at once).
    ZoneReset,
}

/// One command, with the properties that affect time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimedCommand {
    /// The kind of command.
    pub kind: CommandKind,
    /// First byte. A multiple of 512; the part beyond the visible capacity is ignored.
    pub offset_bytes: u64,
    /// Length in bytes. A multiple of 512; 0 only for [`CommandKind::Flush`] and
    /// [`CommandKind::ZoneReset`].
    pub length_bytes: u64,
    /// Force Unit Access: complete only when the data is on the medium.
    pub fua: bool,
}

impl TimedCommand {
    /// A read.
    pub const fn read(offset_bytes: u64, length_bytes: u64) -> Self {
        Self { kind: CommandKind::Read, offset_bytes, length_bytes, fua: false }
    }

    /// A write without Force Unit Access.
    pub const fn write(offset_bytes: u64, length_bytes: u64) -> Self {
        Self { kind: CommandKind::Write, offset_bytes, length_bytes, fua: false }
    }

    /// A flush.
    pub const fn flush() -> Self {
        Self { kind: CommandKind::Flush, offset_bytes: 0, length_bytes: 0, fua: false }
    }

    /// A deallocation.
    pub const fn trim(offset_bytes: u64, length_bytes: u64) -> Self {
        Self { kind: CommandKind::Trim, offset_bytes, length_bytes, fua: false }
    }
}

/// When a command completes, or when to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompletionTime {
    /// It completes at this time, which is never before the time of the request.
    At(u64),
    /// The write buffer has no room. Nothing has changed: ask again at this time or later, and
    /// before any other command of the same queue.
    Retry {
        /// When the buffer next releases space. Later than the time of the request.
        not_before_ns: u64,
    },
}
