//! One request of the kernel, and its answer.
//!
//! Plain data; what becomes of it is the exporter's business.

/// What the kernel wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Fill the slot from its start with `length` bytes of the device.
    Read,
    /// Store the first `length` bytes of the slot.
    Write,
    /// The range has to read as zeroes afterwards.
    Zero,
    /// The range is not needed any more and may read as anything.
    Discard,
    /// What was written and answered before has to survive a loss of power.
    Flush,
}

impl RequestKind {
    /// Whether the device holds something else afterwards.
    pub(crate) fn changes_data(self) -> bool {
        matches!(self, RequestKind::Write | RequestKind::Zero | RequestKind::Discard)
    }
}

/// One request; its slot is named beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportRequest {
    /// What to do.
    pub kind: RequestKind,
    /// Byte offset on the exported device; need not be aligned.
    pub offset: u64,
    /// Bytes; need not be aligned, and may exceed a slot only where no data moves.
    pub length: u64,
}

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// The slot of the request, which is the kernel interface's again.
    pub slot: u16,
    /// What was asked for, cut at the end of the device.
    pub request: ExportRequest,
    /// Bytes moved, 0 for requests that move none, or a negative errno.
    pub result: i32,
}
