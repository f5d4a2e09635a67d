//! A directory of this machine, and creation below it: no link leads out of it.
//!
//! Paths are relative to the directory's descriptor and resolved by openat2(2) with
//! `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`, so that neither names of an image nor links created
//! meanwhile lead elsewhere. The directory itself is the user's choice, and is resolved like any
//! path.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, ResolveFlags, Timestamps, Uid};
use rustix::fs::{chownat, fchmod, linkat, mkdirat, open, openat, openat2, symlinkat, unlinkat, utimensat};
use rustix::io::{Errno, Result};

/// The destination of a copy: an existing directory, and the name below it that the copy gets.
/// Without a name, the content of a directory goes directly into it.
#[derive(Debug, Clone, Copy)]
pub struct CopyTarget<'a> {
    /// The directory, resolved like any path.
    pub folder: &'a Path,
    /// One name, not a path.
    pub name: Option<&'a OsStr>,
}

impl<'a> CopyTarget<'a> {
    /// A path whose last component is the name of the copy; if it has none, as `/` and `..`, the
    /// path is the directory itself.
    pub fn at(path: &'a Path) -> CopyTarget<'a> {
        let parent = path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
        match (parent, path.file_name()) {
            (Some(folder), Some(name)) => CopyTarget { folder, name: Some(name) },
            _ => CopyTarget { folder: path, name: None },
        }
    }
}

/// The opened directory. Paths passed to it are relative; the empty one is the directory itself.
#[derive(Debug)]
pub(super) struct Beneath {
    folder: OwnedFd,
    /// The subdirectory used last: most creations are in the same one.
    last: Option<(PathBuf, OwnedFd)>,
}

/// Whether a name of an image is a single path component.
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

    /// The parent directory of a path, and its last component.
    fn parent<'p>(&mut self, path: &'p Path) -> Result<(&OwnedFd, &'p OsStr)> {
        let name = path.file_name().filter(|name| is_one_name(name.as_bytes())).ok_or(Errno::INVAL)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        if self.last.as_ref().is_none_or(|(known, _)| known != parent) {
            let found = self.find(parent, OFlags::PATH | OFlags::DIRECTORY)?;
            self.last = Some((parent.to_owned(), found));
        }
        self.last.as_ref().map(|(_, folder)| (folder, name)).ok_or(Errno::BADF)
    }

    /// Creates a directory unless there is one; a link to one is refused.
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

    /// Removes a name that is not a directory.
    pub(super) fn remove(&mut self, path: &Path) -> Result<()> {
        let (parent, name) = self.parent(path)?;
        match unlinkat(parent, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            other => other,
        }
    }

    /// Creates a file.
    pub(super) fn make_file(&mut self, path: &Path) -> Result<File> {
        let (parent, name) = self.parent(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(parent, name, flags, Mode::from_raw_mode(0o600)).map(File::from)
    }

    /// Adds a name to a file that was created here.
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

    /// Sets the owner of what is at a path: of a link itself, not of its target.
    pub(super) fn set_owner(&mut self, path: &Path, uid: Uid, gid: Gid) -> Result<()> {
        if path.as_os_str().is_empty() {
            return chownat(&self.folder, "", Some(uid), Some(gid), AtFlags::EMPTY_PATH);
        }
        let (parent, name) = self.parent(path)?;
        chownat(parent, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Sets the mode of a file or directory; never that of a link's target.
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
