//! An open file system and what it tells of itself; operations on names and content are in files of
//! their own.

use std::rc::Rc;

use crate::Error;
use crate::activity::Activity;
use crate::instance::Instance;
use crate::locks::Mode;
use crate::record::{Attributes, InodeId, Record};
use crate::space::Need;

/// An open file system. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct LogFs(pub(crate) Rc<Instance>);

/// What `statfs(2)` tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Unit of allocation, bytes.
    pub block_bytes: u32,
    /// Bytes that content can take at most, with nothing in the log but what it always needs.
    pub total_bytes: u64,
    /// Bytes that can still be written, those included that cleaning wins back.
    pub free_bytes: u64,
    /// Of the free bytes those that a write is sure to find: whole clusters, as content is given
    /// no less at a time.
    pub available_bytes: u64,
    /// Bytes of content on the disk.
    pub live_bytes: u64,
    /// Bytes of content that are in memory and in the log.
    pub inline_bytes: u64,
    /// Inodes.
    pub inodes: u64,
}

/// Attributes to set; what is `None` stays.
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
    /// What `stat(2)` tells of an inode.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn stat(&self, inode: InodeId) -> Result<Attributes, Error> {
        let state = self.0.state.borrow();
        state.tree.get(inode).map(crate::tree::Inode::shown).ok_or(Error::NotFound)
    }

    /// Bytes of an inode's content that are stored, holes left out.
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

    /// Keeps an inode and its content, whatever becomes of its names, until it is released as often
    /// as held.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn hold(&self, inode: InodeId) -> Result<(), Error> {
        let mut state = self.0.state.borrow_mut();
        let node = state.tree.get_mut(inode).ok_or(Error::NotFound)?;
        node.holders = node.holders.saturating_add(1);
        Ok(())
    }

    /// Undoes one [`LogFs::hold`]; an inode that has no name left goes with the last one.
    pub fn release(&self, inode: InodeId) {
        let is_last = {
            let mut state = self.0.state.borrow_mut();
            let Some(node) = state.tree.get_mut(inode) else { return };
            node.holders = node.holders.saturating_sub(1);
            node.holders == 0 && node.attributes.links == 0
        };
        if is_last {
            // A file system that has failed or is closed deletes it when it is opened again.
            let _deleted_later = self.0.commit(&[Record::Delete { inode }]);
        }
    }

    /// Makes everything durable that was acknowledged before the call.
    ///
    /// # Errors
    /// [`Error::Failed`] when the device does not let it.
    pub async fn sync(&self) -> Result<(), Error> {
        let last = self.0.state.borrow().log.last_ticket;
        self.0.sync_to(last).await
    }

    /// Makes an inode's last change durable, and all before it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Failed`].
    pub async fn fsync(&self, inode: InodeId) -> Result<(), Error> {
        let ticket = self.0.state.borrow().tree.get(inode).ok_or(Error::NotFound)?.changed_at;
        self.0.sync_to(ticket).await
    }

    /// The same for content and size: a change of attributes alone is not waited for.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Failed`].
    pub async fn fdatasync(&self, inode: InodeId) -> Result<(), Error> {
        let ticket = self.0.state.borrow().tree.get(inode).ok_or(Error::NotFound)?.content_at;
        self.0.sync_to(ticket).await
    }

    /// Whether there are changes that a crash would take away.
    pub fn has_unsynced(&self) -> bool {
        let log = &self.0.state.borrow().log;
        log.last_ticket > log.durable_ticket
    }

    /// How much there is, and how much is left.
    pub fn space(&self) -> Space {
        let state = self.0.state.borrow();
        let layout = &self.0.layout;
        let cluster_bytes = u64::from(layout.cluster_bytes);
        let live_bytes = state.clusters.live_bytes();
        // What is kept beyond that goes as soon as the space is wanted.
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

    /// What went on in the background since opening.
    pub fn activity(&self) -> Activity {
        self.0.state.borrow().activity
    }

    /// Sizes and numbers of this file system.
    pub fn layout(&self) -> crate::Layout {
        self.0.layout
    }

    /// How it is cleaned.
    pub fn cleaning(&self) -> crate::CleaningSettings {
        self.0.cleaning
    }

    /// Writes a checkpoint now, so that the next opening is quick. Without need: one is written
    /// whenever the log has grown.
    pub fn want_checkpoint(&self) {
        self.0.state.borrow_mut().checkpoint_wanted = true;
        self.0.work.notify();
    }
}
