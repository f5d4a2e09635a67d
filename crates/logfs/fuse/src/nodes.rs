//! The inodes that the kernel knows, with the number of lookups, and whose pages it may cache. An
//! inode is held as long as the kernel knows it.

use std::collections::HashMap;

use iolab_logfs::{InodeId, LocalVolume};

/// What the kernel knows of an inode.
#[derive(Debug, Default)]
struct Node {
    /// The number of LOOKUPs minus that of FORGETs.
    lookups: u64,
    /// It was opened for access through the page cache.
    may_be_cached: bool,
}

/// The inodes that the kernel knows.
#[derive(Debug, Default)]
pub(crate) struct Nodes(HashMap<InodeId, Node>);

impl Nodes {
    /// Counts another lookup of an inode by the kernel.
    pub(crate) fn remember(&mut self, fs: &LocalVolume, inode: InodeId) -> Result<(), iolab_logfs::Error> {
        let node = self.0.entry(inode).or_default();
        if node.lookups == 0
            && let Err(error) = fs.hold(inode)
        {
            self.0.remove(&inode);
            return Err(error);
        }
        node.lookups += 1;
        Ok(())
    }

    /// The kernel forgets this number of lookups.
    pub(crate) fn forget(&mut self, fs: &LocalVolume, inode: InodeId, times: u64) {
        let Some(node) = self.0.get_mut(&inode) else { return };
        node.lookups = node.lookups.saturating_sub(times);
        if node.lookups == 0 {
            self.0.remove(&inode);
            fs.release(inode);
        }
    }

    /// An inode was opened with these flags of open(2).
    pub(crate) fn opened(&mut self, inode: InodeId, open_flags: u32) {
        if let Some(node) = self.0.get_mut(&inode) {
            node.may_be_cached |= !is_direct(open_flags);
        }
    }

    /// Whether the page cache may hold pages of an inode. A file that was only opened with
    /// `O_DIRECT` has none, unless it was mapped through such a descriptor.
    pub(crate) fn may_be_cached(&self, inode: InodeId) -> bool {
        self.0.get(&inode).is_some_and(|node| node.may_be_cached)
    }
}

/// Whether the flags of open(2) bypass the page cache.
pub(crate) fn is_direct(open_flags: u32) -> bool {
    open_flags & libc::O_DIRECT as u32 != 0
}
