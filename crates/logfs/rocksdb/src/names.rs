//! Operations on names, as blocking calls.

use iolab_logfs::{Attributes, Error, InodeId, InodeKind, LocalVolume, Space};

use crate::file_system::{owner, rename};
use crate::{CallFailure, FileSystem};

/// The status of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Bytes of a file, including those that it has gathered.
    pub size: u64,
    /// Last change of content, seconds since 1970.
    pub modified_seconds: u64,
    /// Number of names.
    pub links: u32,
    /// Inode number, the same for all its names.
    pub inode: u64,
    /// Whether it is a directory.
    pub is_directory: bool,
}

impl FileSystem {
    fn at<T: Send + 'static>(
        &self,
        path: &[u8],
        work: impl AsyncFnOnce(LocalVolume, Vec<u8>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, CallFailure> {
        let name = path.to_vec();
        let done = self.0.service.call(async move |fs: LocalVolume| work(fs, name).await);
        done.map_err(|error| CallFailure::of(path, &error))
    }

    /// What is at a path.
    ///
    /// # Errors
    /// As `stat(2)`.
    pub fn status(&self, path: &[u8]) -> Result<Status, CallFailure> {
        let (inode, found) = self.at(path, async |fs: LocalVolume, path: Vec<u8>| {
            let inode = fs.resolve(&path).await?;
            Ok((inode, fs.stat(inode)?))
        })?;
        let gathered = self.0.open_file(inode).map(|file| file.size());
        Ok(status(inode, &found, gathered))
    }

    /// The names in a directory, in their order.
    ///
    /// # Errors
    /// As `opendir(3)`.
    pub fn children(&self, path: &[u8]) -> Result<Vec<Vec<u8>>, CallFailure> {
        self.at(path, async |fs: LocalVolume, path: Vec<u8>| {
            let inode = fs.resolve(&path).await?;
            if fs.stat(inode)?.kind != InodeKind::Directory {
                return Err(Error::NotDirectory);
            }
            let entries = fs.read_directory(inode, b"", usize::MAX)?;
            Ok(entries.into_iter().map(|entry| entry.name).collect())
        })
    }

    /// Removes a name of a file.
    ///
    /// # Errors
    /// As `unlink(2)`.
    pub fn unlink(&self, path: &[u8]) -> Result<(), CallFailure> {
        self.at(path, async |fs: LocalVolume, path: Vec<u8>| {
            let (directory, name) = fs.resolve_parent(&path).await?;
            fs.unlink(directory, name).await
        })
    }

    /// Gives a file another name; an existing file with that name loses it.
    ///
    /// # Errors
    /// As `rename(2)`.
    pub fn rename(&self, from: &[u8], to: &[u8]) -> Result<(), CallFailure> {
        let target = to.to_vec();
        self.at(from, async move |fs: LocalVolume, from: Vec<u8>| rename(&fs, &from, &target).await)
    }

    /// Adds a name to a file.
    ///
    /// # Errors
    /// As `link(2)`.
    pub fn link(&self, from: &[u8], to: &[u8]) -> Result<(), CallFailure> {
        let target = to.to_vec();
        self.at(from, async move |fs: LocalVolume, from: Vec<u8>| {
            let inode = fs.resolve(&from).await?;
            let (directory, name) = fs.resolve_parent(&target).await?;
            fs.link(inode, directory, name).await
        })
    }

    /// Creates a directory.
    ///
    /// # Errors
    /// As `mkdir(2)`.
    pub fn make_directory(&self, path: &[u8]) -> Result<(), CallFailure> {
        self.at(path, async |fs: LocalVolume, path: Vec<u8>| {
            let (directory, name) = fs.resolve_parent(&path).await?;
            fs.make_directory(directory, name, owner(0o755)).await.map(drop)
        })
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// As `rmdir(2)`.
    pub fn remove_directory(&self, path: &[u8]) -> Result<(), CallFailure> {
        self.at(path, async |fs: LocalVolume, path: Vec<u8>| {
            let (directory, name) = fs.resolve_parent(&path).await?;
            fs.remove_directory(directory, name).await
        })
    }

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// As `fsync(2)`.
    pub fn sync_directory(&self, path: &[u8]) -> Result<(), CallFailure> {
        self.at(path, async |fs: LocalVolume, path: Vec<u8>| {
            let inode = fs.resolve(&path).await?;
            fs.fsync(inode).await
        })
    }

    /// Total and free space.
    ///
    /// # Errors
    /// When the file system is closed.
    pub fn space(&self) -> Result<Space, CallFailure> {
        self.at(b"the file system", async |fs: LocalVolume, _| Ok(fs.space()))
    }
}

fn status(inode: InodeId, found: &Attributes, gathered: Option<u64>) -> Status {
    const NS_PER_SECOND: u64 = 1_000_000_000;
    Status {
        size: gathered.unwrap_or(found.size).max(found.size),
        modified_seconds: found.modified_ns / NS_PER_SECOND,
        links: found.links,
        inode: inode.0,
        is_directory: found.kind == InodeKind::Directory,
    }
}
