//! An open image for many threads: its files, by path and as open files.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use iolab_logfs::{Error, InodeId, InodeKind, LocalVolume, Occupied, Owner};

use crate::committer::Committer;
use crate::open_file::OpenFile;
use crate::service::Service;
use crate::{CallFailure, Location};

/// An open image. It stays open until its last clone and open file are gone. Opening the same image
/// again in this process gives the same one.
#[derive(Debug, Clone)]
pub struct FileSystem(pub(crate) Arc<Shared>);

/// The state shared by the file system and its files.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) service: Service,
    pub(crate) location: Location,
    files: Mutex<HashMap<InodeId, Weak<OpenFile>>>,
    locks: Mutex<HashSet<Vec<u8>>>,
    /// Stopped when this is dropped.
    committer: Mutex<Option<Committer>>,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The file must exist.
    Existing,
    /// A new, empty file; an existing file loses the name.
    Fresh,
    /// The existing file, or an empty one if there is none.
    OrNew,
}

/// The images that are open in this process.
static OPEN: Mutex<Vec<(PathBuf, Weak<Shared>)>> = Mutex::new(Vec::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Mode and owner of a new file or directory.
pub(crate) fn owner(mode: u16) -> Owner {
    let (uid, gid) = iolab_image::user();
    Owner { mode, uid, gid }
}

impl FileSystem {
    /// Opens the image of a location; its options apply if the image is not open in this process
    /// yet.
    ///
    /// # Errors
    /// Why it cannot be opened: another process, no file system, a damaged one.
    pub fn open(location: &Location) -> Result<FileSystem, CallFailure> {
        let mut open = locked(&OPEN);
        open.retain(|(_, shared)| shared.strong_count() > 0);
        let path = std::fs::canonicalize(&location.image).unwrap_or_else(|_| location.image.clone());
        let known = open.iter().find(|(other, _)| *other == path).and_then(|(_, shared)| shared.upgrade());
        if let Some(shared) = known {
            return Ok(FileSystem(shared));
        }
        let shared = Arc::new(Shared {
            service: Service::start(location)?,
            location: location.clone(),
            files: Mutex::default(),
            locks: Mutex::default(),
            committer: Mutex::new(None),
        });
        if location.commit_seconds > 0 {
            let image = Arc::downgrade(&shared);
            let commit = move || {
                // The next change or sync reports a failed commit.
                image.upgrade().map(|shared| shared.commit().ok()).is_some()
            };
            *locked(&shared.committer) = Committer::start(location.commit_seconds, commit);
        }
        open.push((path, Arc::downgrade(&shared)));
        Ok(FileSystem(shared))
    }

    /// Opens a file.
    ///
    /// # Errors
    /// As `open(2)`.
    pub fn open_file(&self, path: &[u8], how: How) -> Result<Arc<OpenFile>, CallFailure> {
        let wanted = path.to_vec();
        let opened = self.0.service.call(async move |fs: LocalVolume| open_inode(&fs, &wanted, how).await);
        let (inode, size) = opened.map_err(|error| CallFailure::of(path, &error))?;
        let mut files = locked(&self.0.files);
        if let Some(file) = files.get(&inode).and_then(Weak::upgrade) {
            // The file holds its inode already.
            self.0.service.tell(move |fs| fs.release(inode));
            return Ok(file);
        }
        let file = Arc::new(OpenFile::new(&self.0, inode, path, size));
        files.insert(inode, Arc::downgrade(&file));
        Ok(file)
    }

    /// Locks a name against others that lock it, until it is unlocked. Only one process has the
    /// image open, so no other needs to know.
    ///
    /// # Errors
    /// `EAGAIN` when it is locked.
    pub fn lock(&self, path: &[u8]) -> Result<(), CallFailure> {
        if locked(&self.0.locks).insert(path.to_vec()) {
            return Ok(());
        }
        let message = format!("{}: already locked by this process", String::from_utf8_lossy(path));
        Err(CallFailure { errno: rustix::io::Errno::AGAIN.raw_os_error(), message })
    }

    /// Undoes [`FileSystem::lock`].
    pub fn unlock(&self, path: &[u8]) {
        locked(&self.0.locks).remove(path);
    }

    /// Makes everything written before the call durable, gathered bytes included.
    ///
    /// # Errors
    /// As `sync(2)`.
    pub fn sync(&self) -> Result<(), CallFailure> {
        self.0.commit()
    }
}

impl Shared {
    /// The files that are open.
    pub(crate) fn open_files(&self) -> Vec<Arc<OpenFile>> {
        locked(&self.files).values().filter_map(Weak::upgrade).collect()
    }

    /// The open file of an inode.
    pub(crate) fn open_file(&self, inode: InodeId) -> Option<Arc<OpenFile>> {
        locked(&self.files).get(&inode).and_then(Weak::upgrade)
    }

    /// Sends the gathered bytes of all files, and makes everything durable.
    pub(crate) fn commit(&self) -> Result<(), CallFailure> {
        for file in self.open_files() {
            file.send()?;
        }
        let synced =
            self.service.call(async |fs: LocalVolume| if fs.has_unsynced() { fs.sync().await } else { Ok(()) });
        synced.map_err(|error| CallFailure::of(b"sync", &error))
    }

    /// Removes a file that is no longer open.
    pub(crate) fn closed(&self, inode: InodeId) {
        let mut files = locked(&self.files);
        // It may have been opened again meanwhile.
        if files.get(&inode).is_some_and(|file| file.strong_count() == 0) {
            files.remove(&inode);
        }
        drop(files);
        self.service.tell(move |fs| fs.release(inode));
    }
}

/// Finds or creates a file, and holds it.
async fn open_inode(fs: &LocalVolume, path: &[u8], how: How) -> Result<(InodeId, u64), Error> {
    let (directory, name) = fs.resolve_parent(path).await?;
    let found = match fs.lookup(directory, name) {
        Ok(entry) if entry.kind == InodeKind::Directory => return Err(Error::IsDirectory),
        Ok(entry) => Some(entry.inode),
        Err(Error::NotFound) => None,
        Err(error) => return Err(error),
    };
    let inode = match (found, how) {
        (Some(inode), How::Existing | How::OrNew) => inode,
        (None, How::Existing) => return Err(Error::NotFound),
        (None, How::OrNew) => fs.create(directory, name, owner(0o644)).await?,
        (_, How::Fresh) => {
            if found.is_some() {
                fs.unlink(directory, name).await?;
            }
            fs.create(directory, name, owner(0o644)).await?
        }
    };
    fs.hold(inode)?;
    Ok((inode, fs.stat(inode)?.size))
}

/// Renames as `rename(2)` does.
pub(crate) async fn rename(fs: &LocalVolume, from: &[u8], to: &[u8]) -> Result<(), Error> {
    let (from, to) = (fs.resolve_parent(from).await?, fs.resolve_parent(to).await?);
    fs.rename(from, to, Occupied::Replace).await
}
