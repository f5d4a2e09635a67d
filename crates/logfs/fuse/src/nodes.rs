//! Which inodes the kernel knows, and how often it was told of each: an inode is held as long as
//! the kernel knows it.

use std::collections::HashMap;

use iolab_logfs::{InodeId, LocalVolume};

/// The counts of LOOKUP, less those of FORGET.
#[derive(Debug, Default)]
pub(crate) struct Nodes(HashMap<InodeId, u64>);

impl Nodes {
    /// The kernel is told of an inode once more.
    pub(crate) fn remember(&mut self, fs: &LocalVolume, inode: InodeId) -> Result<(), iolab_logfs::Error> {
        let count = self.0.entry(inode).or_default();
        if *count == 0
            && let Err(error) = fs.hold(inode)
        {
            self.0.remove(&inode);
            return Err(error);
        }
        *count += 1;
        Ok(())
    }

    /// The kernel forgets so many times.
    pub(crate) fn forget(&mut self, fs: &LocalVolume, inode: InodeId, times: u64) {
        let Some(count) = self.0.get_mut(&inode) else { return };
        *count = count.saturating_sub(times);
        if *count == 0 {
            self.0.remove(&inode);
            fs.release(inode);
        }
    }
}
