//! The interface of block devices.

use std::os::fd::OwnedFd;

use crate::Buffer;

/// Size and block size of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Its size, a multiple of `block_bytes`.
    pub size_bytes: u64,
    /// Offsets and lengths of requests are multiples of this. A block is written completely or not
    /// at all.
    pub block_bytes: u32,
}

/// What a request does, with its buffer.
#[derive(Debug)]
pub enum Action {
    /// Reads into the buffer.
    Read {
        /// Offset, bytes.
        at: u64,
        /// Its length is the number of bytes.
        buffer: Buffer,
    },
    /// Writes the buffer.
    Write {
        /// Offset, bytes.
        at: u64,
        /// Its length is the number of bytes.
        buffer: Buffer,
    },
    /// Makes all completed writes durable.
    Flush,
    /// Says that the content of a range is no longer needed; afterwards it may read as anything.
    Discard {
        /// Offset, bytes.
        at: u64,
        /// Length, bytes.
        length: u64,
    },
}

/// The kind of an [`Action`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActionKind {
    /// [`Action::Read`]
    Read,
    /// [`Action::Write`]
    Write,
    /// [`Action::Flush`]
    Flush,
    /// [`Action::Discard`]
    Discard,
}

impl Action {
    /// Its kind.
    pub fn kind(&self) -> ActionKind {
        match self {
            Action::Read { .. } => ActionKind::Read,
            Action::Write { .. } => ActionKind::Write,
            Action::Flush => ActionKind::Flush,
            Action::Discard { .. } => ActionKind::Discard,
        }
    }

    /// Offset and length, bytes; zeroes for a flush.
    pub fn range(&self) -> (u64, u64) {
        match self {
            Action::Read { at, buffer } | Action::Write { at, buffer } => (*at, buffer.len() as u64),
            Action::Flush => (0, 0),
            Action::Discard { at, length } => (*at, *length),
        }
    }

    /// Its buffer, to be returned to the owner.
    pub fn into_buffer(self) -> Option<Buffer> {
        match self {
            Action::Read { buffer, .. } | Action::Write { buffer, .. } => Some(buffer),
            _ => None,
        }
    }
}

/// One request to a device.
#[derive(Debug)]
pub struct DiskRequest {
    /// Returned in the completion. The caller chooses it; unique among requests in flight.
    pub tag: u64,
    /// What to do.
    pub action: Action,
}

impl DiskRequest {
    /// Completes it with this result.
    pub fn complete(self, result: Result<(), DeviceError>) -> DiskCompletion {
        DiskCompletion { tag: self.tag, buffer: self.action.into_buffer(), result }
    }
}

/// The completion of one request.
#[derive(Debug)]
pub struct DiskCompletion {
    /// The request's tag.
    pub tag: u64,
    /// The request's buffer; its content after a failed read is undefined.
    pub buffer: Option<Buffer>,
    /// Whether all of it succeeded.
    pub result: Result<(), DeviceError>,
}

/// Why a device did not do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceError {
    /// The operation failed, with this errno.
    Failed(i32),
    /// The range reaches beyond the end, or does not consist of whole blocks.
    BadRange,
    /// The device is gone; all further requests fail like this.
    Gone,
}

impl std::fmt::Display for DeviceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DeviceError::Failed(errno) => write!(f, "{}", std::io::Error::from_raw_os_error(*errno)),
            DeviceError::BadRange => {
                write!(f, "a range is beyond the end of the device or not a multiple of its blocks")
            }
            DeviceError::Gone => write!(f, "the device is gone"),
        }
    }
}

impl std::error::Error for DeviceError {}

/// A disk, owned by one thread.
pub trait BlockDevice {
    /// Size and block size; they never change.
    fn geometry(&self) -> Geometry;

    /// Takes a request, or returns it when no more can be in flight. An invalid request is reported
    /// by its completion.
    ///
    /// # Errors
    /// The request itself: reap, then submit it again.
    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest>;

    /// Starts what was submitted and appends completions to `done`; with `wait`, at least one,
    /// unless nothing is in flight.
    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>);

    /// A descriptor that becomes readable when [`BlockDevice::reap`] has something to do, and not
    /// readable when that is called; for callers that also wait for other events. `None` from a
    /// device that has nothing in flight between calls, or that cannot be polled.
    fn waking(&mut self) -> Option<OwnedFd> {
        None
    }

    /// Whether it is memory of this process, which holds only what this process wrote and ends with
    /// it. Decorators return false: they stand for other devices.
    fn is_memory(&self) -> bool {
        false
    }

    /// Whether the thread that submits a transfer usually does all of it, as with memory, instead
    /// of a device that works beside it.
    fn is_synchronous(&self) -> bool {
        false
    }
}

impl Geometry {
    /// Whether a range is valid for a device of this geometry.
    pub fn admits(&self, action: &Action) -> bool {
        let (at, length) = action.range();
        let block = u64::from(self.block_bytes);
        let whole = at.is_multiple_of(block) && length.is_multiple_of(block);
        whole && at.checked_add(length).is_some_and(|end| end <= self.size_bytes)
    }

    /// The result of a request that does not need the device: an invalid range, or one of zero
    /// bytes. `None` when the device is needed.
    pub(crate) fn answer(&self, action: &Action) -> Option<Result<(), DeviceError>> {
        if !self.admits(action) {
            return Some(Err(DeviceError::BadRange));
        }
        let is_empty = action.range().1 == 0 && action.kind() != ActionKind::Flush;
        is_empty.then_some(Ok(()))
    }
}

impl BlockDevice for Box<dyn BlockDevice> {
    fn geometry(&self) -> Geometry {
        (**self).geometry()
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        (**self).submit(request)
    }

    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>) {
        (**self).reap(wait, done);
    }

    fn waking(&mut self) -> Option<OwnedFd> {
        (**self).waking()
    }

    fn is_memory(&self) -> bool {
        (**self).is_memory()
    }

    fn is_synchronous(&self) -> bool {
        (**self).is_synchronous()
    }
}
