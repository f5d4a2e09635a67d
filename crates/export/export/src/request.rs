//! One request of the kernel, and its result.
//!
//! Plain data; the exporter carries it out.

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Fill the slot from its start with `length` bytes of the device.
    Read,
    /// Store the first `length` bytes of the slot.
    Write,
    /// The range must read as zeroes afterwards.
    Zero,
    /// The range is no longer needed and may read as anything.
    Discard,
    /// Writes that were answered before must survive a loss of power.
    Flush,
}

impl RequestKind {
    /// Whether it changes the device's content.
    pub(crate) fn changes_data(self) -> bool {
        matches!(self, RequestKind::Write | RequestKind::Zero | RequestKind::Discard)
    }
}

/// One request; the slot is passed separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportRequest {
    /// The kind.
    pub kind: RequestKind,
    /// Byte offset on the exported device; need not be aligned.
    pub offset: u64,
    /// Bytes; need not be aligned, and may exceed a slot only if no data are transferred.
    pub length: u64,
}

/// The result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// The slot of the request, which belongs to the kernel interface again.
    pub slot: u16,
    /// The request, cut at the end of the device.
    pub request: ExportRequest,
    /// Bytes transferred, 0 for requests that transfer none, or a negative errno.
    pub result: i32,
}
