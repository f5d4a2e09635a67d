//! A folder of this machine, and what is made below it: nothing on the way is followed out of it.
//!
//! Paths are relative to the folder's descriptor and resolved by openat2(2) with `RESOLVE_BENEATH`
//! and `RESOLVE_NO_SYMLINKS`, so that neither names of an image nor links that somebody puts there
//! meanwhile lead elsewhere. The folder itself is the user's choice, and found as any path is.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, ResolveFlags, Timestamps, Uid};
use rustix::fs::{chownat, fchmod, linkat, mkdirat, open, openat, openat2, symlinkat, unlinkat, utimensat};
use rustix::io::{Errno, Result};

/// Where a copy goes: a folder that is there, and the name below it that what is copied gets;
/// without one, what is in a directory goes into the folder.
#[derive(Debug, Clone, Copy)]
pub struct CopyTarget<'a> {
    /// The folder, found as any path is.
    pub folder: &'a Path,
    /// One name, not a path.
    pub name: Option<&'a OsStr>,
}

impl<'a> CopyTarget<'a> {
    /// A path whose last name is that of the copy; without one, as of `/` and `..`, it is the
    /// folder itself.
    pub fn at(path: &'a Path) -> CopyTarget<'a> {
        let parent = path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
        match (parent, path.file_name()) {
            (Some(folder), Some(name)) => CopyTarget { folder, name: Some(name) },
            _ => CopyTarget { folder: path, name: None },
        }
    }
}

/// The folder, opened. Paths given to it are relative; the empty one is the folder itself.
#[derive(Debug)]
pub(super) struct Beneath {
    folder: OwnedFd,
    /// The folder used last: most things are made side by side.
    last: Option<(PathBuf, OwnedFd)>,
}

/// Whether a name of an image is the name of one thing and no path.
pub(super) fn is_one_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.iter().any(|byte| matches!(byte, 0 | b'/'))
}

impl Beneath {
    pub(super) fn open(folder: &Path) -> Result<Beneath> {
        let folder = open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Beneath { folder, last: None })
    }

    fn find(&self, path: &Path, flags: OFlags) -> Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        openat2(&self.folder, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
    }

    /// The folder that a path is in, and its last name.
    fn parent<'p>(&mut self, path: &'p Path) -> Result<(&OwnedFd, &'p OsStr)> {
        let name = path.file_name().filter(|name| is_one_name(name.as_bytes())).ok_or(Errno::INVAL)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        if self.last.as_ref().is_none_or(|(known, _)| known != parent) {
            let found = self.find(parent, OFlags::PATH | OFlags::DIRECTORY)?;
            self.last = Some((parent.to_owned(), found));
        }
        self.last.as_ref().map(|(_, folder)| (folder, name)).ok_or(Errno::BADF)
    }

    /// Makes a folder where there is none; one that is there will do, a link to one will not.
    pub(super) fn make_folder(&mut self, path: &Path) -> Result<()> {
        if !path.as_os_str().is_empty() {
            let (parent, name) = self.parent(path)?;
            match mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        self.find(path, OFlags::PATH | OFlags::DIRECTORY).map(drop)
    }

    /// Takes away what has a name and is no folder.
    pub(super) fn remove(&mut self, path: &Path) -> Result<()> {
        let (parent, name) = self.parent(path)?;
        match unlinkat(parent, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            other => other,
        }
    }

    /// A new file.
    pub(super) fn make_file(&mut self, path: &Path) -> Result<File> {
        let (parent, name) = self.parent(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(parent, name, flags, Mode::from_raw_mode(0o600)).map(File::from)
    }

    /// Another name of a file that was made here.
    pub(super) fn link(&mut self, first: &Path, path: &Path) -> Result<()> {
        let first_parent = self.find(first.parent().unwrap_or(Path::new("")), OFlags::PATH | OFlags::DIRECTORY)?;
        let first_name = first.file_name().ok_or(Errno::INVAL)?;
        let (parent, name) = self.parent(path)?;
        linkat(&first_parent, first_name, parent, name, AtFlags::empty())
    }

    pub(super) fn make_symlink(&mut self, target: &[u8], path: &Path) -> Result<()> {
        let (parent, name) = self.parent(path)?;
        symlinkat(OsStr::from_bytes(target), parent, name)
    }

    /// Gives what is at a path to somebody: a link itself, not what it leads to.
    pub(super) fn set_owner(&mut self, path: &Path, uid: Uid, gid: Gid) -> Result<()> {
        if path.as_os_str().is_empty() {
            return chownat(&self.folder, "", Some(uid), Some(gid), AtFlags::EMPTY_PATH);
        }
        let (parent, name) = self.parent(path)?;
        chownat(parent, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Sets the mode of a file or folder; never that of something a link leads to.
    pub(super) fn set_mode(&self, path: &Path, mode: Mode) -> Result<()> {
        fchmod(self.find(path, OFlags::RDONLY | OFlags::NONBLOCK)?, mode)
    }

    /// Sets the times of what is at a path: of a link itself.
    pub(super) fn set_times(&mut self, path: &Path, times: &Timestamps) -> Result<()> {
        if path.as_os_str().is_empty() {
            return utimensat(&self.folder, ".", times, AtFlags::empty());
        }
        let (parent, name) = self.parent(path)?;
        utimensat(parent, name, times, AtFlags::SYMLINK_NOFOLLOW)
    }
}
