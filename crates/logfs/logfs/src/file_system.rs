//! An open file system: its attributes, holds, syncs and statistics. Operations on names and
//! content are in files of their own.

use std::rc::Rc;

use crate::Error;
use crate::activity::Activity;
use crate::instance::Instance;
use crate::locks::Mode;
use crate::record::{Attributes, InodeId, Record};
use crate::space::Need;

/// An open file system. Clones are handles to the same file system.
#[derive(Debug, Clone)]
pub struct LogFs(pub(crate) Rc<Instance>);

/// What `statfs(2)` reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Unit of allocation, bytes.
    pub block_bytes: u32,
    /// Most bytes that content can take, when the log holds only what it always needs.
    pub total_bytes: u64,
    /// Bytes that can still be written, including those that cleaning can reclaim.
    pub free_bytes: u64,
    /// The part of the free bytes that a write is sure to get: whole clusters, as content is
    /// allocated in clusters.
    pub available_bytes: u64,
    /// Bytes of content on the disk.
    pub live_bytes: u64,
    /// Bytes of content in memory and in the log.
    pub inline_bytes: u64,
    /// Inodes.
    pub inodes: u64,
}

/// Attributes to set; those that are `None` stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttributeChange {
    /// Permission bits, the lower 12.
    pub mode: Option<u16>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// ns since 1970.
    pub accessed_ns: Option<u64>,
    /// ns since 1970.
    pub modified_ns: Option<u64>,
}

impl LogFs {
    /// What `stat(2)` reports of an inode.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn stat(&self, inode: InodeId) -> Result<Attributes, Error> {
        let state = self.0.state.borrow();
        state.tree.get(inode).map(crate::tree::Inode::shown).ok_or(Error::NotFound)
    }

    /// Bytes of an inode's content, without holes.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn stored_bytes(&self, inode: InodeId) -> Result<u64, Error> {
        let state = self.0.state.borrow();
        let node = state.tree.get(inode).ok_or(Error::NotFound)?;
        Ok(node.file().map_or(0, crate::extents::ExtentMap::stored_bytes))
    }

    /// Sets attributes of an inode.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NoSpace`].
    pub async fn set_attributes(&self, inode: InodeId, change: AttributeChange) -> Result<Attributes, Error> {
        let _held = self.0.locks.take_inode(inode, Mode::Exclusive).await;
        // Attributes have a fixed size: nothing grows.
        self.0.admit(|_| Need::Nothing).await?;
        let old = self.stat(inode)?;
        let attributes = Attributes {
            mode: change.mode.map_or(old.mode, |mode| mode & 0o7777),
            uid: change.uid.unwrap_or(old.uid),
            gid: change.gid.unwrap_or(old.gid),
            accessed_ns: change.accessed_ns.unwrap_or(old.accessed_ns),
            modified_ns: change.modified_ns.unwrap_or(old.modified_ns),
            changed_ns: self.0.now(),
            ..old
        };
        self.0.commit(&[Record::Attributes { inode, attributes }])?;
        self.stat(inode)
    }

    /// Keeps an inode and its content, even without a name, until it has been released as often as
    /// held.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn hold(&self, inode: InodeId) -> Result<(), Error> {
        let mut state = self.0.state.borrow_mut();
        let node = state.tree.get_mut(inode).ok_or(Error::NotFound)?;
        node.holders = node.holders.saturating_add(1);
        Ok(())
    }

    /// Undoes one [`LogFs::hold`]; the last one deletes an inode that has no name left.
    pub fn release(&self, inode: InodeId) {
        let is_last = {
            let mut state = self.0.state.borrow_mut();
            let Some(node) = state.tree.get_mut(inode) else { return };
            node.holders = node.holders.saturating_sub(1);
            node.holders == 0 && node.attributes.links == 0
        };
        if is_last {
            // If the file system has failed or is closed, the next opening deletes the inode.
            let _deleted_later = self.0.commit(&[Record::Delete { inode }]);
        }
    }

    /// Makes everything acknowledged before the call durable.
    ///
    /// # Errors
    /// [`Error::Failed`] when the device fails.
    pub async fn sync(&self) -> Result<(), Error> {
        let last = self.0.state.borrow().log.last_ticket;
        self.0.sync_to(last).await
    }

    /// Makes an inode's last change durable, and all changes before it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Failed`].
    pub async fn fsync(&self, inode: InodeId) -> Result<(), Error> {
        let ticket = self.0.state.borrow().tree.get(inode).ok_or(Error::NotFound)?.changed_at;
        self.0.sync_to(ticket).await
    }

    /// As [`LogFs::fsync`] for content and size: does not wait for a change of attributes alone.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Failed`].
    pub async fn fdatasync(&self, inode: InodeId) -> Result<(), Error> {
        let ticket = self.0.state.borrow().tree.get(inode).ok_or(Error::NotFound)?.content_at;
        self.0.sync_to(ticket).await
    }

    /// Whether there are changes that a crash would lose.
    pub fn has_unsynced(&self) -> bool {
        let log = &self.0.state.borrow().log;
        log.last_ticket > log.durable_ticket
    }

    /// Total and free space.
    pub fn space(&self) -> Space {
        let state = self.0.state.borrow();
        let layout = &self.0.layout;
        let cluster_bytes = u64::from(layout.cluster_bytes);
        let live_bytes = state.clusters.live_bytes();
        // Clusters kept beyond this are freed as soon as their space is needed.
        let set_aside = state.set_aside(layout);
        let total_bytes = u64::from(layout.owned).saturating_sub(u64::from(set_aside)) * cluster_bytes;
        let free_bytes = total_bytes.saturating_sub(live_bytes);
        Space {
            block_bytes: layout.block_bytes,
            total_bytes,
            free_bytes,
            available_bytes: free_bytes - free_bytes % cluster_bytes,
            live_bytes,
            inline_bytes: state.tree.inline_bytes(),
            inodes: state.tree.len() as u64,
        }
    }

    /// Background work since opening.
    pub fn activity(&self) -> Activity {
        self.0.state.borrow().activity
    }

    /// Sizes and numbers of this file system.
    pub fn layout(&self) -> crate::Layout {
        self.0.layout
    }

    /// The cleaning settings in effect.
    pub fn cleaning(&self) -> crate::CleaningSettings {
        self.0.cleaning
    }

    /// Starts a checkpoint now, so that the next opening is quick. Never required: one is written
    /// whenever the log has grown.
    pub fn want_checkpoint(&self) {
        self.0.state.borrow_mut().checkpoint_wanted = true;
        self.0.work.notify();
    }
}
