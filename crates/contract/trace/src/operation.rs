//! One operation of a trace.

use crate::{Call, Effect};

/// The file of an operation that has none (`sync`).
pub const NO_FILE: u32 = u32::MAX;

/// No time, length or offset of a trace reaches this: sums and doubled differences fit 64 bits.
pub(crate) const BOUND: u64 = 1 << 59;

/// A request of a thread to the kernel, and its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// When the call began, ns since the trace did.
    pub time_ns: u64,
    /// Until it returned; for asynchronous ones, until the program learned of the completion.
    pub duration_ns: u64,
    /// Which thread, a number of the trace's table.
    pub thread: u32,
    /// Which call.
    pub call: Call,
    /// Which file, a number of the trace's table, or [`NO_FILE`].
    pub file: u32,
    /// Its offset in the file, bytes; `None` if it is unknown or has no meaning. For `lseek`, the
    /// new position.
    pub offset: Option<u64>,
    /// The bytes that were asked for, which may be far more than there are: a program that copies a
    /// file may ask for 2^63 - 1.
    pub length: u64,
    /// Bytes moved, or 0; an error as its negative number (errno(3)).
    pub result: i64,
    /// How.
    pub flags: Flags,
}

impl Operation {
    /// Bytes that were moved.
    pub fn bytes(&self) -> u64 {
        if self.call.moves_data() { u64::try_from(self.result).unwrap_or(0) } else { 0 }
    }

    /// Whether it was to read or write and moved no byte: it failed, or read at the end of a file.
    pub fn moved_nothing(&self) -> bool {
        matches!(self.call.effect(), Effect::Read | Effect::Write) && self.bytes() == 0
    }

    /// Whether the kernel returned an error.
    pub fn has_failed(&self) -> bool {
        self.result < 0
    }

    /// When it ended, ns since the trace began.
    pub fn end_ns(&self) -> u64 {
        self.time_ns.saturating_add(self.duration_ns)
    }

    /// A copy whose numbers are clamped to what a trace may hold: programs may ask to copy 2^63 - 1
    /// bytes.
    pub(crate) fn within_bounds(self) -> Operation {
        const MOST: u64 = BOUND - 1;
        Operation {
            time_ns: self.time_ns.min(MOST),
            duration_ns: self.duration_ns.min(MOST),
            offset: self.offset.filter(|offset| *offset <= MOST),
            length: self.length.min(MOST),
            result: self.result.clamp(-(MOST as i64), MOST as i64),
            ..self
        }
    }

    /// Whether every number is one that a trace may hold.
    pub(crate) fn is_sound(&self) -> bool {
        let numbers =
            [self.time_ns, self.duration_ns, self.length, self.offset.unwrap_or(0), self.result.unsigned_abs()];
        numbers.iter().all(|number| *number < BOUND)
    }
}

/// Properties of an operation, as bits. Those of the descriptor are stored with each operation,
/// because a program may change them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u32);

impl Flags {
    /// Past the page cache (`O_DIRECT`).
    pub const DIRECT: Flags = Flags(1);
    /// Durable data when it returns (`O_DSYNC`, `RWF_DSYNC`).
    pub const DATA_SYNC: Flags = Flags(1 << 1);
    /// Durable data and attributes when it returns (`O_SYNC`, `RWF_SYNC`).
    pub const FILE_SYNC: Flags = Flags(1 << 2);
    /// At the end of the file (`O_APPEND`, `RWF_APPEND`).
    pub const APPEND: Flags = Flags(1 << 3);
    /// Not waiting (`RWF_NOWAIT`, `IOCB_NOWAIT`).
    pub const NO_WAIT: Flags = Flags(1 << 4);
    /// Of `open`: makes the file (`O_CREAT`).
    pub const CREATES: Flags = Flags(1 << 5);
    /// Of `open`: empties the file (`O_TRUNC`).
    pub const EMPTIES: Flags = Flags(1 << 6);
    /// Of `open`: for reading alone. Of `mmap`: a mapping that cannot be written.
    pub const READ_ONLY: Flags = Flags(1 << 7);
    /// Of `mmap`: what is written goes to the file (`MAP_SHARED`).
    pub const SHARED: Flags = Flags(1 << 8);
    /// Of `fallocate`: frees or shifts a range instead of allocating it (a mode other than
    /// `FALLOC_FL_KEEP_SIZE`).
    pub const CHANGES_RANGE: Flags = Flags(1 << 9);
    /// Read ahead or for the file system's own purposes (block layer).
    pub const META: Flags = Flags(1 << 10);
    /// Its end was not seen: `result` is the requested length, the duration that of the submission.
    pub const END_UNSEEN: Flags = Flags(1 << 16);
    /// The end was found later than it happened: the duration is an upper bound.
    pub const END_LATE: Flags = Flags(1 << 17);

    /// These and those.
    #[must_use]
    pub fn and(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// These, and those if `wanted`.
    #[must_use]
    pub fn and_if(self, wanted: bool, other: Flags) -> Flags {
        if wanted { self.and(other) } else { self }
    }

    /// Whether all of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The words of what is set, for texts.
    pub fn words(self) -> Vec<&'static str> {
        const WORDS: [(Flags, &str); 13] = [
            (Flags::DIRECT, "direct"),
            (Flags::DATA_SYNC, "dsync"),
            (Flags::FILE_SYNC, "sync"),
            (Flags::APPEND, "append"),
            (Flags::NO_WAIT, "nowait"),
            (Flags::CREATES, "create"),
            (Flags::EMPTIES, "truncate"),
            (Flags::READ_ONLY, "read-only"),
            (Flags::SHARED, "shared"),
            (Flags::CHANGES_RANGE, "changes-range"),
            (Flags::META, "meta"),
            (Flags::END_UNSEEN, "end-unseen"),
            (Flags::END_LATE, "end-late"),
        ];
        WORDS.iter().filter(|(flag, _)| self.has(*flag)).map(|(_, word)| *word).collect()
    }
}
