//! What is in files: its size, holes, and, in modules of their own, reading and writing. Reads and
//! writes lock the inode shared, what depends on its size exclusively.
//!
//! A write's content is with the device before its record exists, so that a record never leads to
//! bytes that were not sent. Clusters under a read or write are pinned, so that they are not given
//! away meanwhile. Content in a [`iolab_disk::Buffer`] goes from and to the device without a copy
//! where it fills whole blocks.

mod reading;
mod writing;

use crate::locks::Mode;
use crate::record::{InodeId, Record};
use crate::space::Need;
use crate::{Error, LogFs};

/// Largest size of a file, bytes.
const MOST_BYTES: u64 = i64::MAX as u64;

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

    /// Sets the size; what is cut off is gone, what is added reads as zeroes.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::IsDirectory`], [`Error::TooLarge`], [`Error::NoSpace`] (never
    /// when the file becomes smaller).
    pub async fn truncate(&self, inode: InodeId, size: u64) -> Result<(), Error> {
        if size > MOST_BYTES {
            return Err(Error::TooLarge);
        }
        let _held = self.0.locks.take_inode(inode, Mode::Exclusive).await;
        self.0.admit(|_| Need::Nothing).await?;
        self.check_file(inode)?;
        self.0.commit(&[Record::Truncate { inode, size, time: self.0.now() }]).map(drop)
    }

    /// Makes a range read as zeroes and gives its space back; the size stays
    /// (`FALLOC_FL_PUNCH_HOLE`).
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

    /// Makes the file at least `offset + length` long (`fallocate(2)` with mode 0). Nothing is set
    /// aside: nothing is overwritten in place, so that every write needs new space anyhow.
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
