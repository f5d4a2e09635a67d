//! The contract of block devices.

use std::os::fd::OwnedFd;

use crate::Buffer;

/// Size and unit of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Its size, a multiple of the block.
    pub size_bytes: u64,
    /// Offsets and lengths of requests are multiples of this. A block is written whole or not at
    /// all.
    pub block_bytes: u32,
}

/// What to do, with the buffer it takes.
#[derive(Debug)]
pub enum Action {
    /// Fill the buffer from here.
    Read {
        /// Offset, bytes.
        at: u64,
        /// As many bytes as it is long.
        buffer: Buffer,
    },
    /// Store the buffer here.
    Write {
        /// Offset, bytes.
        at: u64,
        /// As many bytes as it is long.
        buffer: Buffer,
    },
    /// Make durable all writes that have completed.
    Flush,
    /// The content of a range is not needed any more; it may read as anything afterwards.
    Discard {
        /// Offset, bytes.
        at: u64,
        /// Length, bytes.
        length: u64,
    },
}

/// An action without what it carries.
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
    /// Which kind it is.
    pub fn kind(&self) -> ActionKind {
        match self {
            Action::Read { .. } => ActionKind::Read,
            Action::Write { .. } => ActionKind::Write,
            Action::Flush => ActionKind::Flush,
            Action::Discard { .. } => ActionKind::Discard,
        }
    }

    /// Offset and length, bytes; nothing for a flush.
    pub fn range(&self) -> (u64, u64) {
        match self {
            Action::Read { at, buffer } | Action::Write { at, buffer } => (*at, buffer.len() as u64),
            Action::Flush => (0, 0),
            Action::Discard { at, length } => (*at, *length),
        }
    }

    /// The buffer, to be given back.
    pub fn into_buffer(self) -> Option<Buffer> {
        match self {
            Action::Read { buffer, .. } | Action::Write { buffer, .. } => Some(buffer),
            _ => None,
        }
    }
}

/// One request on its way down.
#[derive(Debug)]
pub struct DiskRequest {
    /// Comes back in the completion; the owner's to choose, unique among requests in flight.
    pub tag: u64,
    /// What to do.
    pub action: Action,
}

impl DiskRequest {
    /// Completes it as it is, with this result.
    pub fn complete(self, result: Result<(), DeviceError>) -> DiskCompletion {
        DiskCompletion { tag: self.tag, buffer: self.action.into_buffer(), result }
    }
}

/// One request on its way back.
#[derive(Debug)]
pub struct DiskCompletion {
    /// The request's tag.
    pub tag: u64,
    /// The request's buffer; what it holds after a failed read says nothing.
    pub buffer: Option<Buffer>,
    /// Whether all of it was done.
    pub result: Result<(), DeviceError>,
}

/// What a device answers instead of doing what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceError {
    /// The operation failed, with this errno.
    Failed(i32),
    /// The range reaches beyond the end, or is not of whole blocks.
    BadRange,
    /// The device is gone, and all further requests end like this.
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
    /// Size and unit; they never change.
    fn geometry(&self) -> Geometry;

    /// Takes a request, or gives it back when no more can be in flight. What is wrong with a
    /// request is said by its completion.
    ///
    /// # Errors
    /// The request itself: reap, then offer it again.
    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest>;

    /// Sets out what was submitted and appends completions to `done`; when `wait`, at least one,
    /// unless nothing is in flight.
    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>);

    /// A descriptor that becomes readable when [`BlockDevice::reap`] has something to do, which
    /// calms it; for who waits for other things, too. `None` from a device that has nothing under
    /// way between calls, or that cannot be waited for so.
    fn waking(&mut self) -> Option<OwnedFd> {
        None
    }

    /// Whether it is memory of this process, which holds what this process put there and ends with
    /// it. Decorators say no: they stand for other devices.
    fn is_memory(&self) -> bool {
        false
    }
}

impl Geometry {
    /// Whether a device of this geometry can be asked for a range.
    pub fn admits(&self, action: &Action) -> bool {
        let (at, length) = action.range();
        let block = u64::from(self.block_bytes);
        let whole = at.is_multiple_of(block) && length.is_multiple_of(block);
        whole && at.checked_add(length).is_some_and(|end| end <= self.size_bytes)
    }

    /// What can be answered without the device: a range that it does not have, or no bytes at all.
    /// `None` when it has to be asked.
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
}
