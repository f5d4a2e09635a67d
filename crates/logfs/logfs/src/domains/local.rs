//! A volume whose domains are all on this core: what is in memory is returned at once, without
//! waiting.
//!
//! For callers that serve requests and would otherwise make a task for each.

use std::ops::Deref;

use iolab_disk::Buffer;

use super::volume::{Volume, root_of, sum_of};
use crate::content::WithBuffer;
use crate::names::DirectoryEntry;
use crate::record::{Attributes, InodeId, InodeKind};
use crate::{Activity, Error, LogFs, Space};

/// A [`Volume`] on a core that serves all domains, or one core's part of it
/// ([`LocalVolume::part`]). Operations that change something or wait are those of the volume.
#[derive(Debug, Clone)]
pub struct LocalVolume(Volume);

impl Deref for LocalVolume {
    type Target = Volume;

    fn deref(&self) -> &Volume {
        &self.0
    }
}

impl TryFrom<Volume> for LocalVolume {
    type Error = Error;

    /// # Errors
    /// [`Error::Invalid`] when other cores serve domains too.
    fn try_from(volume: Volume) -> Result<LocalVolume, Error> {
        let is_local = volume.worker.domains.len() == volume.layout().domains as usize;
        if is_local { Ok(LocalVolume(volume)) } else { Err(Error::Invalid("a volume that other cores serve, too")) }
    }
}

impl LocalVolume {
    /// The part of a volume that this core serves, where other cores serve the rest. Inodes of
    /// other cores are not found, and the root directory's attributes are those of the domains
    /// here; ask [`Volume::serves`] first.
    pub fn part(volume: Volume) -> LocalVolume {
        LocalVolume(volume)
    }

    fn owner(&self, inode: InodeId) -> Result<&LogFs, Error> {
        self.0.here(inode).ok_or(Error::NotFound)
    }

    fn domains(&self) -> impl Iterator<Item = &LogFs> {
        self.0.worker.domains.values()
    }

    /// The underlying volume.
    pub fn into_volume(self) -> Volume {
        self.0
    }

    /// As [`Volume::stat`].
    ///
    /// # Errors
    /// As [`Volume::stat`].
    pub fn stat(&self, inode: InodeId) -> Result<Attributes, Error> {
        if inode == InodeId::ROOT {
            root_of(self.domains().map(|fs| fs.stat(inode)))
        } else {
            self.owner(inode)?.stat(inode)
        }
    }

    /// As [`LogFs::stored_bytes`].
    ///
    /// # Errors
    /// As [`LogFs::stored_bytes`].
    pub fn stored_bytes(&self, inode: InodeId) -> Result<u64, Error> {
        self.owner(inode)?.stored_bytes(inode)
    }

    /// As [`LogFs::device_number`].
    ///
    /// # Errors
    /// As [`LogFs::device_number`].
    pub fn device_number(&self, inode: InodeId) -> Result<u32, Error> {
        self.owner(inode)?.device_number(inode)
    }

    /// As [`LogFs::read_link`].
    ///
    /// # Errors
    /// As [`LogFs::read_link`].
    pub fn read_link(&self, inode: InodeId) -> Result<Vec<u8>, Error> {
        self.owner(inode)?.read_link(inode)
    }

    /// As [`LogFs::lookup`].
    ///
    /// # Errors
    /// As [`LogFs::lookup`].
    pub fn lookup(&self, directory: InodeId, name: &[u8]) -> Result<DirectoryEntry, Error> {
        if directory != InodeId::ROOT {
            return self.owner(directory)?.lookup(directory, name);
        }
        let found = match name {
            b".." => Some((InodeId::ROOT, InodeKind::Directory)),
            _ => self.0.worker.root.borrow().get(name),
        };
        let (inode, kind) = found.ok_or(Error::NotFound)?;
        Ok(DirectoryEntry { name: name.to_vec(), inode, kind })
    }

    /// As [`LogFs::read_directory`].
    ///
    /// # Errors
    /// As [`LogFs::read_directory`].
    pub fn read_directory(&self, directory: InodeId, after: &[u8], most: usize) -> Result<Vec<DirectoryEntry>, Error> {
        if directory == InodeId::ROOT {
            return Ok(self.0.worker.root.borrow().after(after, most));
        }
        self.owner(directory)?.read_directory(directory, after, most)
    }

    /// As [`LogFs::read_into`].
    ///
    /// # Errors
    /// As [`LogFs::read_into`].
    pub async fn read_into(&self, inode: InodeId, offset: u64, buffer: Buffer) -> WithBuffer<usize> {
        match self.owner(inode) {
            Ok(fs) => fs.read_into(inode, offset, buffer).await,
            Err(error) => (Err(error), Some(buffer)),
        }
    }

    /// As [`LogFs::write_buffer`].
    ///
    /// # Errors
    /// As [`LogFs::write_buffer`].
    pub async fn write_buffer(&self, inode: InodeId, offset: u64, buffer: Buffer) -> WithBuffer<()> {
        match self.owner(inode) {
            Ok(fs) => fs.write_buffer(inode, offset, buffer).await,
            Err(error) => (Err(error), Some(buffer)),
        }
    }

    /// As [`LogFs::next_data`].
    ///
    /// # Errors
    /// As [`LogFs::next_data`].
    pub fn next_data(&self, inode: InodeId, offset: u64) -> Result<Option<u64>, Error> {
        self.owner(inode)?.next_data(inode, offset)
    }

    /// As [`LogFs::next_hole`].
    ///
    /// # Errors
    /// As [`LogFs::next_hole`].
    pub fn next_hole(&self, inode: InodeId, offset: u64) -> Result<Option<u64>, Error> {
        self.owner(inode)?.next_hole(inode, offset)
    }

    /// As [`LogFs::extended`].
    ///
    /// # Errors
    /// As [`LogFs::extended`].
    pub fn extended(&self, inode: InodeId, name: &[u8]) -> Result<Vec<u8>, Error> {
        self.owner(inode)?.extended(inode, name)
    }

    /// As [`LogFs::extended_names`].
    ///
    /// # Errors
    /// As [`LogFs::extended_names`].
    pub fn extended_names(&self, inode: InodeId) -> Result<Vec<Vec<u8>>, Error> {
        self.owner(inode)?.extended_names(inode)
    }

    /// As [`LogFs::hold`].
    ///
    /// # Errors
    /// As [`LogFs::hold`].
    pub fn hold(&self, inode: InodeId) -> Result<(), Error> {
        self.owner(inode)?.hold(inode)
    }

    /// As [`LogFs::release`].
    pub fn release(&self, inode: InodeId) {
        if let Ok(fs) = self.owner(inode) {
            fs.release(inode);
        }
    }

    /// As [`Volume::space`].
    pub fn space(&self) -> Space {
        let spaces: Vec<Space> = self.domains().map(LogFs::space).collect();
        sum_of(self.0.layout().block_bytes, &spaces)
    }

    /// Background work of all domains since opening.
    pub fn activity(&self) -> Activity {
        self.domains().fold(Activity::default(), |sum, fs| sum.and(&fs.activity()))
    }

    /// Whether a domain has changes that a crash would lose.
    pub fn has_unsynced(&self) -> bool {
        self.domains().any(LogFs::has_unsynced)
    }
}
