//! What quick answers and tasks share.

use std::cell::RefCell;
use std::rc::Rc;

use iolab_clock::Clock;
use iolab_fuse::abi::{Body, open_flag};
use iolab_logfs::{Error, InodeId, LocalVolume};

use crate::attributes::KnownAttributes;
use crate::directories::Directories;
use crate::nodes::Nodes;
use crate::notices::Notices;
use crate::privileges::strip_privileges;

/// The bytes of an answer, or an errno.
pub(crate) type Answer = Result<Vec<u8>, i32>;

/// The file system and what the kernel has been told of it.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) fs: LocalVolume,
    pub(crate) clock: Clock,
    pub(crate) nodes: Rc<RefCell<Nodes>>,
    pub(crate) directories: Rc<RefCell<Directories>>,
    pub(crate) notices: Rc<RefCell<Notices>>,
}

impl World {
    pub(crate) fn new(fs: LocalVolume, clock: Clock, notices: Notices) -> World {
        let notices = Rc::new(RefCell::new(notices));
        World { fs, clock, nodes: Rc::default(), directories: Rc::default(), notices }
    }

    /// Takes privileges from a file that is changed by who may not keep them, and tells the kernel,
    /// which would go by the old mode for as long as it keeps attributes.
    pub(crate) async fn strip_privileges(&self, inode: InodeId) -> Result<(), Error> {
        if strip_privileges(&self.fs, inode).await? {
            let told = self.notices.borrow_mut().attributes_changed(inode);
            told.await;
        }
        Ok(())
    }

    /// Tells the kernel of an inode: `struct fuse_entry_out`.
    pub(crate) fn entry(&self, inode: InodeId) -> Answer {
        let told = KnownAttributes::of(&self.fs, inode).map_err(|error| error.errno())?;
        self.nodes.borrow_mut().remember(&self.fs, inode).map_err(|error| error.errno())?;
        Ok(built(|body| told.entry_out(body)))
    }
}

/// Bytes that something writes.
pub(crate) fn built(write: impl for<'a> Fn(Body<'a>) -> Body<'a>) -> Vec<u8> {
    /// The longest answer that is not a transfer: `struct fuse_statx_out`.
    const MOST_BYTES: usize = 288;
    let mut bytes = [0; MOST_BYTES];
    let length = write(Body::new(&mut bytes)).length();
    bytes[..length.unwrap_or_default()].to_vec()
}

/// What a failed sync is for programs: the file system answers changes with `EROFS` from then on,
/// but the sync itself with `EIO`.
pub(crate) fn sync_errno(error: &Error) -> i32 {
    if matches!(error, Error::Failed(_)) { libc::EIO } else { error.errno() }
}

/// `struct fuse_open_out` of a file.
pub(crate) fn open_out(body: Body<'_>) -> Body<'_> {
    body.u64(0).u32(open_flag::KEEP_CACHE | open_flag::NOFLUSH).u32(0)
}
