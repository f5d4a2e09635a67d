//! Where a file has content and where it has holes (`SEEK_DATA` and `SEEK_HOLE` of lseek(2)), at
//! byte precision.

use crate::record::InodeId;
use crate::{Error, LogFs};

impl LogFs {
    /// The first stored byte from `offset` on; `None` when only a hole, or the end, follows.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::IsDirectory`], [`Error::Invalid`] for an inode without
    /// content.
    pub fn next_data(&self, inode: InodeId, offset: u64) -> Result<Option<u64>, Error> {
        self.check_file(inode)?;
        let state = self.0.state.borrow();
        let node = state.tree.get(inode).ok_or(Error::NotFound)?;
        let size = node.attributes.size;
        let stretch = node.file().and_then(|file| file.touching(offset, u64::MAX).next());
        Ok(stretch.map(|(start, _)| start.max(offset)).filter(|at| *at < size))
    }

    /// The first byte from `offset` on that is not stored: in a hole, or the end of the file;
    /// `None` when `offset` is not before the end.
    ///
    /// # Errors
    /// As [`LogFs::next_data`].
    pub fn next_hole(&self, inode: InodeId, offset: u64) -> Result<Option<u64>, Error> {
        self.check_file(inode)?;
        let state = self.0.state.borrow();
        let node = state.tree.get(inode).ok_or(Error::NotFound)?;
        let size = node.attributes.size;
        if offset >= size {
            return Ok(None);
        }
        let mut at = offset;
        for (start, extent) in node.file().into_iter().flat_map(|file| file.touching(offset, u64::MAX)) {
            if start > at {
                break;
            }
            at = start + extent.length;
        }
        Ok(Some(at.min(size)))
    }
}
