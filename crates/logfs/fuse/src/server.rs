//! State shared by quick replies and tasks.

use std::cell::RefCell;
use std::rc::Rc;

use iolab_clock::Clock;
use iolab_executor::Spawner;
use iolab_fuse::abi::{Body, opcode, open_flag};
use iolab_logfs::{Error, InodeId, LocalVolume};

use crate::attributes::KnownAttributes;
use crate::directories::Directories;
use crate::nodes::{self, Nodes};
use crate::notices::Notices;
use crate::privileges::strip_privileges;

/// The bytes of a reply, or an errno.
pub(crate) type Answer = Result<Vec<u8>, i32>;

/// The file system and what the kernel knows of it. Each of several threads has its own, for the
/// domains that it serves.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) fs: LocalVolume,
    pub(crate) clock: Clock,
    /// Whether access control lists are kept.
    pub(crate) acl: bool,
    pub(crate) nodes: Rc<RefCell<Nodes>>,
    pub(crate) directories: Rc<RefCell<Directories>>,
    pub(crate) notices: Rc<RefCell<Notices>>,
}

impl Server {
    pub(crate) fn new(fs: LocalVolume, clock: Clock, acl: bool, notices: Notices) -> Server {
        let notices = Rc::new(RefCell::new(notices));
        Server { fs, clock, acl, nodes: Rc::default(), directories: Rc::default(), notices }
    }

    /// Whether this thread alone can answer for an inode. Each domain has a part of the root
    /// directory, so that no thread can answer for that where there are several.
    pub(crate) fn is_here(&self, inode: InodeId) -> bool {
        if inode == InodeId::ROOT { !self.fs.is_shared() } else { self.fs.serves(inode) }
    }

    /// Whether such a request cannot be answered from the memory of this thread.
    pub(crate) fn must_ask_others(&self, code: u32, inode: InodeId) -> bool {
        match code {
            opcode::STATFS => self.fs.is_shared(),
            opcode::GETATTR | opcode::STATX => !self.is_here(inode),
            _ => false,
        }
    }

    /// Strips privileges of a file changed by a process without the right to keep them, and
    /// notifies the kernel, which would otherwise use the old mode for as long as it caches
    /// attributes.
    pub(crate) async fn strip_privileges(&self, inode: InodeId) -> Result<(), Error> {
        if !self.fs.serves(inode) {
            return self
                .fs
                .beside(inode, async move |there: Rc<Server>| there.strip_privileges_here(inode).await)
                .await;
        }
        self.strip_privileges_here(inode).await
    }

    async fn strip_privileges_here(&self, inode: InodeId) -> Result<(), Error> {
        if strip_privileges(&self.fs, inode).await? {
            let sent = self.notices.borrow_mut().attributes_changed(inode);
            sent.await;
        }
        Ok(())
    }

    /// The attributes of an inode on any thread.
    pub(crate) async fn attributes(&self, inode: InodeId) -> Result<KnownAttributes, Error> {
        if self.is_here(inode) {
            KnownAttributes::of(&self.fs, inode)
        } else {
            KnownAttributes::asked(&self.fs, inode).await
        }
    }

    /// `struct fuse_entry_out` of an inode; counts as a lookup by the kernel.
    pub(crate) fn entry(&self, inode: InodeId) -> Answer {
        let known = KnownAttributes::of(&self.fs, inode).map_err(|error| error.errno())?;
        self.remember(inode, &known)
    }

    fn remember(&self, inode: InodeId, known: &KnownAttributes) -> Answer {
        self.nodes.borrow_mut().remember(&self.fs, inode).map_err(|error| error.errno())?;
        Ok(built(|body| known.entry_out(body)))
    }

    /// As [`Server::entry`] for an inode on any thread; also notes that it was opened with these
    /// flags of open(2).
    pub(crate) async fn entry_anywhere(&self, inode: InodeId, opened: Option<u32>) -> Answer {
        if self.fs.serves(inode) {
            return self.entry_opened(inode, opened).await;
        }
        let entry = async move |there: Rc<Server>| Ok(there.entry_opened(inode, opened).await);
        self.fs.beside(inode, entry).await.map_err(|error| error.errno())?
    }

    /// Runs on the thread of the inode's domain; for the root directory on that of the first.
    async fn entry_opened(&self, inode: InodeId, opened: Option<u32>) -> Answer {
        let known = self.attributes(inode).await.map_err(|error| error.errno())?;
        let entry = self.remember(inode, &known)?;
        if let Some(open_flags) = opened {
            self.nodes.borrow_mut().opened(inode, open_flags);
        }
        Ok(entry)
    }

    /// The kernel drops this number of lookups of an inode.
    pub(crate) fn forget(&self, inode: InodeId, times: u64, spawner: &Spawner) {
        if self.fs.serves(inode) {
            self.nodes.borrow_mut().forget(&self.fs, inode, times);
            return;
        }
        let fs = self.fs.clone();
        let forget = async move |there: Rc<Server>| {
            there.nodes.borrow_mut().forget(&there.fs, inode, times);
            Ok(())
        };
        // A thread that is gone has no lookups.
        spawner.start(async move { drop(fs.beside(inode, forget).await) });
    }
}

/// The bytes that `write` produces.
pub(crate) fn built(write: impl for<'a> Fn(Body<'a>) -> Body<'a>) -> Vec<u8> {
    /// The longest reply that is not a transfer: `struct fuse_statx_out`.
    const MOST_BYTES: usize = 288;
    let mut bytes = [0; MOST_BYTES];
    let length = write(Body::new(&mut bytes)).length();
    bytes[..length.unwrap_or_default()].to_vec()
}

/// The errno for a failed sync: `EIO`, although the file system answers later changes with `EROFS`.
pub(crate) fn sync_errno(error: &Error) -> i32 {
    if matches!(error, Error::Failed(_)) { libc::EIO } else { error.errno() }
}

/// `struct fuse_open_out` of a file that was opened with these flags of open(2).
pub(crate) fn open_out(body: Body<'_>, open_flags: u32) -> Body<'_> {
    body.u64(nodes::handle(open_flags)).u32(open_flag::KEEP_CACHE | open_flag::NOFLUSH).u32(0)
}
