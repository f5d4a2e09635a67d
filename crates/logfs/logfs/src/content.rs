//! File content: size and holes, and, in submodules, reading and writing. Reads and writes lock the
//! inode shared; operations that depend on its size lock it exclusively.
//!
//! The content of a write is on the device before its record exists, so that no record refers to
//! bytes that were not written. Clusters being read or written are pinned, so that they are not
//! reallocated meanwhile. Content in an [`iolab_disk::Buffer`] is transferred without a copy where
//! it fills whole blocks.

mod reading;
mod vectored;
mod writing;

pub use vectored::Span;

use iolab_disk::Buffer;

use crate::locks::Mode;
use crate::record::{InodeId, Record};
use crate::space::Need;
use crate::{Error, LogFs};

/// The result of a call with a buffer, and the buffer unless the device lost it, or another core to
/// which it was sent.
pub(crate) type WithBuffer<T> = (Result<T, Error>, Option<Buffer>);

/// Largest size of a file, bytes.
const MOST_BYTES: u64 = i64::MAX as u64;

/// Refuses a range of a file that ends beyond the largest size.
fn check_range(offset: u64, length: u64) -> Result<(), Error> {
    let fits = offset.checked_add(length).is_some_and(|end| end <= MOST_BYTES);
    if fits { Ok(()) } else { Err(Error::TooLarge) }
}

impl LogFs {
    pub(crate) fn check_file(&self, inode: InodeId) -> Result<(), Error> {
        let state = self.0.state.borrow();
        let node = state.tree.get(inode).ok_or(Error::NotFound)?;
        match (node.file(), node.names()) {
            (Some(_), _) => Ok(()),
            (None, Some(_)) => Err(Error::IsDirectory),
            (None, None) => Err(Error::Invalid("a symbolic link has no content")),
        }
    }

    /// Sets the size. Bytes beyond it are dropped; added bytes read as zeroes.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::IsDirectory`], [`Error::TooLarge`], [`Error::NoSpace`] (never
    /// when the file shrinks).
    pub async fn truncate(&self, inode: InodeId, size: u64) -> Result<(), Error> {
        if size > MOST_BYTES {
            return Err(Error::TooLarge);
        }
        let _held = self.0.locks.take_inode(inode, Mode::Exclusive).await;
        self.0.admit(|_| Need::Nothing).await?;
        self.check_file(inode)?;
        self.0.commit(&[Record::Truncate { inode, size, time: self.0.now() }]).map(drop)
    }

    /// Makes a range read as zeroes and frees its space; the size stays (`FALLOC_FL_PUNCH_HOLE`).
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::IsDirectory`], [`Error::Invalid`] for an empty range.
    pub async fn punch(&self, inode: InodeId, offset: u64, length: u64) -> Result<(), Error> {
        if length == 0 || offset.checked_add(length).is_none() {
            return Err(Error::Invalid("the range is empty or ends beyond the largest offset"));
        }
        let _held = self.0.locks.take_inode(inode, Mode::Exclusive).await;
        self.0.admit(|_| Need::Nothing).await?;
        self.check_file(inode)?;
        self.0.commit(&[Record::Punch { inode, offset, length, time: self.0.now() }]).map(drop)
    }

    /// Makes the file at least `offset + length` long (`fallocate(2)` with mode 0). Reserves no
    /// space: content is never overwritten in place, so every write needs new space anyway.
    ///
    /// # Errors
    /// As [`LogFs::truncate`].
    pub async fn allocate(&self, inode: InodeId, offset: u64, length: u64) -> Result<(), Error> {
        let end = offset.checked_add(length).filter(|end| *end <= MOST_BYTES && length > 0);
        let end = end.ok_or(if length == 0 { Error::Invalid("the range is empty") } else { Error::TooLarge })?;
        let _held = self.0.locks.take_inode(inode, Mode::Exclusive).await;
        self.0.admit(|_| Need::Nothing).await?;
        self.check_file(inode)?;
        if self.stat(inode)?.size >= end {
            return Ok(());
        }
        self.0.commit(&[Record::Truncate { inode, size: end, time: self.0.now() }]).map(drop)
    }
}
