//! What quick answers and tasks share.

use std::cell::RefCell;
use std::rc::Rc;

use iolab_clock::Clock;
use iolab_executor::Spawner;
use iolab_fuse::abi::{Body, opcode, open_flag};
use iolab_logfs::{Error, InodeId, LocalVolume};

use crate::attributes::KnownAttributes;
use crate::directories::Directories;
use crate::nodes::Nodes;
use crate::notices::Notices;
use crate::privileges::strip_privileges;

/// The bytes of an answer, or an errno.
pub(crate) type Answer = Result<Vec<u8>, i32>;

/// The file system and what the kernel has been told of it. Of several threads each has its own,
/// for the domains that it serves.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) fs: LocalVolume,
    pub(crate) clock: Clock,
    /// Whether access control lists are kept.
    pub(crate) acl: bool,
    pub(crate) nodes: Rc<RefCell<Nodes>>,
    pub(crate) directories: Rc<RefCell<Directories>>,
    pub(crate) notices: Rc<RefCell<Notices>>,
}

impl World {
    pub(crate) fn new(fs: LocalVolume, clock: Clock, acl: bool, notices: Notices) -> World {
        let notices = Rc::new(RefCell::new(notices));
        World { fs, clock, acl, nodes: Rc::default(), directories: Rc::default(), notices }
    }

    /// Whether this thread answers for an inode by itself. Of the root directory each domain has a
    /// part, so that no thread does where there are several.
    pub(crate) fn is_here(&self, inode: InodeId) -> bool {
        if inode == InodeId::ROOT { !self.fs.is_shared() } else { self.fs.serves(inode) }
    }

    /// Whether the memory of this thread cannot answer such a request of its own.
    pub(crate) fn must_ask_others(&self, code: u32, inode: InodeId) -> bool {
        match code {
            opcode::STATFS => self.fs.is_shared(),
            opcode::GETATTR | opcode::STATX => !self.is_here(inode),
            _ => false,
        }
    }

    /// Takes privileges from a file that is changed by who may not keep them, and tells the kernel,
    /// which would go by the old mode for as long as it keeps attributes.
    pub(crate) async fn strip_privileges(&self, inode: InodeId) -> Result<(), Error> {
        if !self.fs.serves(inode) {
            return self.fs.beside(inode, async move |there: Rc<World>| there.strip_privileges_here(inode).await).await;
        }
        self.strip_privileges_here(inode).await
    }

    async fn strip_privileges_here(&self, inode: InodeId) -> Result<(), Error> {
        if strip_privileges(&self.fs, inode).await? {
            let told = self.notices.borrow_mut().attributes_changed(inode);
            told.await;
        }
        Ok(())
    }

    /// What is known of an inode, wherever it is.
    pub(crate) async fn attributes(&self, inode: InodeId) -> Result<KnownAttributes, Error> {
        if self.is_here(inode) {
            KnownAttributes::of(&self.fs, inode)
        } else {
            KnownAttributes::asked(&self.fs, inode).await
        }
    }

    /// Tells the kernel of an inode: `struct fuse_entry_out`.
    pub(crate) fn entry(&self, inode: InodeId) -> Answer {
        let told = KnownAttributes::of(&self.fs, inode).map_err(|error| error.errno())?;
        self.remember(inode, &told)
    }

    fn remember(&self, inode: InodeId, told: &KnownAttributes) -> Answer {
        self.nodes.borrow_mut().remember(&self.fs, inode).map_err(|error| error.errno())?;
        Ok(built(|body| told.entry_out(body)))
    }

    /// The same wherever the inode is, and that it was opened with these flags of open(2).
    pub(crate) async fn entry_anywhere(&self, inode: InodeId, opened: Option<u32>) -> Answer {
        if self.fs.serves(inode) {
            return self.entry_opened(inode, opened).await;
        }
        let entry = async move |there: Rc<World>| Ok(there.entry_opened(inode, opened).await);
        self.fs.beside(inode, entry).await.map_err(|error| error.errno())?
    }

    /// On the thread of the inode's domain; of the root directory's, the first.
    async fn entry_opened(&self, inode: InodeId, opened: Option<u32>) -> Answer {
        let told = self.attributes(inode).await.map_err(|error| error.errno())?;
        let entry = self.remember(inode, &told)?;
        if let Some(open_flags) = opened {
            self.nodes.borrow_mut().opened(inode, open_flags);
        }
        Ok(entry)
    }

    /// The kernel forgets that it was told of an inode so many times.
    pub(crate) fn forget(&self, inode: InodeId, times: u64, spawner: &Spawner) {
        if self.fs.serves(inode) {
            self.nodes.borrow_mut().forget(&self.fs, inode, times);
            return;
        }
        let fs = self.fs.clone();
        let forget = async move |there: Rc<World>| {
            there.nodes.borrow_mut().forget(&there.fs, inode, times);
            Ok(())
        };
        // A thread that is gone remembers nothing.
        spawner.spawn(async move { drop(fs.beside(inode, forget).await) });
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
