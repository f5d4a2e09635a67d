//! The tree of a file system whose requests are served by several threads.
//!
//! Reads and writes of the file do not lock it: a flag remembers that data changed until times are
//! asked for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::fuse::tree::Tree;

/// A tree for several threads.
#[derive(Debug, Clone)]
pub(crate) struct SharedTree {
    shared: Arc<(Mutex<Tree>, AtomicBool)>,
}

impl SharedTree {
    pub(crate) fn new(tree: Tree) -> SharedTree {
        SharedTree { shared: Arc::new((Mutex::new(tree), AtomicBool::new(false))) }
    }

    /// The file's data have changed.
    #[inline]
    pub(crate) fn touch(&self) {
        let touched = &self.shared.1;
        if !touched.load(Ordering::Relaxed) {
            touched.store(true, Ordering::Relaxed);
        }
    }

    /// Locks the tree, after all changes so far have been noted in it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Tree> {
        let (tree, touched) = &*self.shared;
        // A tree is consistent between two requests, so that a panic of a thread leaves nothing
        // half done.
        let mut tree = tree.lock().unwrap_or_else(PoisonError::into_inner);
        if touched.swap(false, Ordering::Relaxed) {
            tree.touch();
        }
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuse::tree::FILE;
    use iolab_fuse::abi::Body;

    #[test]
    fn a_change_by_one_thread_is_seen_by_another() {
        let tree = SharedTree::new(Tree::new("disk", crate::Size::new(1 << 20, 512).unwrap(), (0, 0), 7));
        let modified = |now: u64| {
            let mut bytes = [0; 128];
            tree.lock().get_attributes(FILE, now, Body::new(&mut bytes)).unwrap();
            // attr_valid and its fraction, then ino, size, blocks, atime, mtime.
            u64::from_ne_bytes(bytes[16 + 32..16 + 40].try_into().unwrap())
        };
        assert_eq!(modified(100), 7);
        let other = tree.clone();
        std::thread::spawn(move || other.touch()).join().unwrap();
        assert_eq!(modified(200), 200);
        assert_eq!(modified(300), 200, "nothing changed since");
    }
}
