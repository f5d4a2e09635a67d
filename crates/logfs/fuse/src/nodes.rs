//! The inodes that the kernel knows, with the number of lookups, and whose pages it may cache. An
//! inode is held as long as the kernel knows it.

use std::collections::HashMap;

use iolab_logfs::{InodeId, LocalVolume};

/// What the kernel knows of an inode.
#[derive(Debug, Default)]
struct Node {
    /// The number of LOOKUPs minus that of FORGETs.
    lookups: u64,
    /// It was opened for access through the page cache, and its pages were not dropped since.
    may_be_cached: bool,
    /// Open handles for access through the page cache.
    cached_handles: u64,
    /// How often such a handle was opened.
    cached_opens: u64,
}

/// The handle of a file that was opened with `O_DIRECT`, and of one that was opened without.
const DIRECT_HANDLE: u64 = 0;
const CACHED_HANDLE: u64 = 1;

/// What the page cache may have of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MayBeCached {
    /// No pages.
    Nothing,
    /// Pages that programs use through open files.
    InUse,
    /// Pages that were left by files that are closed. None is added before the file is opened
    /// again, which changes the number.
    LeftBehind { opens: u64 },
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
            let cached = handle(open_flags) == CACHED_HANDLE;
            node.may_be_cached |= cached;
            node.cached_handles += u64::from(cached);
            node.cached_opens += u64::from(cached);
        }
    }

    /// The kernel closes a handle, after the last descriptor and the last mapping of it, and before
    /// it forgets the inode (`fuse_prepare_release` of Linux).
    pub(crate) fn closed(&mut self, inode: InodeId, handle: u64) {
        if handle == CACHED_HANDLE
            && let Some(node) = self.0.get_mut(&inode)
        {
            node.cached_handles = node.cached_handles.saturating_sub(1);
        }
    }

    /// What the page cache may have of an inode. A file that was only opened with `O_DIRECT` has
    /// nothing, unless it is mapped through such a descriptor.
    pub(crate) fn may_be_cached(&self, inode: InodeId) -> MayBeCached {
        match self.0.get(&inode) {
            Some(node) if node.may_be_cached && node.cached_handles == 0 => {
                MayBeCached::LeftBehind { opens: node.cached_opens }
            }
            Some(node) if node.may_be_cached => MayBeCached::InUse,
            _ => MayBeCached::Nothing,
        }
    }

    /// The kernel has dropped all pages that were [left behind](MayBeCached::LeftBehind).
    pub(crate) fn dropped(&mut self, inode: InodeId, opens: u64) {
        if let Some(node) = self.0.get_mut(&inode) {
            node.may_be_cached &= node.cached_opens != opens;
        }
    }
}

/// The handle that OPEN and CREATE with these flags of open(2) return.
pub(crate) fn handle(open_flags: u32) -> u64 {
    if is_direct(open_flags) { DIRECT_HANDLE } else { CACHED_HANDLE }
}

/// Whether the flags of open(2) bypass the page cache.
pub(crate) fn is_direct(open_flags: u32) -> bool {
    open_flags & libc::O_DIRECT as u32 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: InodeId = InodeId(7);
    const DIRECT: u32 = libc::O_DIRECT as u32;

    fn known() -> Nodes {
        Nodes(HashMap::from([(FILE, Node { lookups: 1, ..Node::default() })]))
    }

    #[test]
    fn a_file_has_pages_from_its_first_open_until_they_are_dropped_after_the_last_close() {
        let mut nodes = known();
        nodes.opened(FILE, DIRECT);
        assert_eq!(nodes.may_be_cached(FILE), MayBeCached::Nothing);
        nodes.opened(FILE, 0);
        nodes.opened(FILE, 0);
        nodes.closed(FILE, handle(DIRECT));
        nodes.closed(FILE, handle(0));
        assert_eq!(nodes.may_be_cached(FILE), MayBeCached::InUse);
        nodes.closed(FILE, handle(0));
        assert_eq!(nodes.may_be_cached(FILE), MayBeCached::LeftBehind { opens: 2 });
        nodes.dropped(FILE, 2);
        assert_eq!(nodes.may_be_cached(FILE), MayBeCached::Nothing);
        assert_eq!(nodes.may_be_cached(InodeId(8)), MayBeCached::Nothing, "never opened");
    }

    #[test]
    fn pages_of_a_file_that_was_opened_again_meanwhile_are_not_taken_for_dropped() {
        let mut nodes = known();
        nodes.opened(FILE, 0);
        nodes.closed(FILE, handle(0));
        assert_eq!(nodes.may_be_cached(FILE), MayBeCached::LeftBehind { opens: 1 });
        nodes.opened(FILE, 0);
        nodes.closed(FILE, handle(0));
        nodes.dropped(FILE, 1);
        assert_eq!(nodes.may_be_cached(FILE), MayBeCached::LeftBehind { opens: 2 });
    }
}
