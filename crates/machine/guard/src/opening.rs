//! Opens a path without following unwanted links, and without changing anything.
//!
//! A path that the user named is followed through symbolic links: the opened file is judged, not
//! the name. A generated name stays below the folder of its job: it is resolved component by
//! component, each opened from the one before (openat(2)) with `O_NOFOLLOW`, and neither `..` nor a
//! symbolic link is accepted. What has been opened cannot be exchanged for something else
//! afterwards.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::GuardedPath;

/// Why a path could not be opened.
#[derive(Debug)]
pub(crate) enum Closed {
    /// It leads out of its folder, or through a link.
    Strays(String),
    /// The system's error.
    Errno(Errno),
}

impl From<Errno> for Closed {
    fn from(errno: Errno) -> Closed {
        Closed::Errno(errno)
    }
}

/// A name in an open folder, or a path relative to the current one.
#[derive(Debug)]
pub(crate) struct Place {
    folder: Option<OwnedFd>,
    name: OsString,
    follow: OFlags,
}

impl Place {
    /// Finds the folder of a target; `make_folders` creates what is missing of it.
    pub(crate) fn of(target: &GuardedPath<'_>, make_folders: bool) -> Result<Place, Closed> {
        let Some(beneath) = target.beneath else {
            if make_folders && let Some(parent) = parent_of(target.path).filter(|parent| !parent.exists()) {
                std::fs::create_dir_all(parent).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            }
            return Ok(Place { folder: None, name: target.path.into(), follow: OFlags::empty() });
        };
        let outside = || {
            let folder = match beneath.as_os_str().is_empty() {
                true => "the current folder".to_owned(),
                false => beneath.display().to_string(),
            };
            Closed::Strays(format!("a generated name must stay below {folder}"))
        };
        let inner = target.path.strip_prefix(beneath).map_err(|_| outside())?;
        let mut names = Vec::new();
        for component in inner.components() {
            match component {
                Component::Normal(name) => names.push(name),
                Component::CurDir => {}
                _ => return Err(outside()),
            }
        }
        let Some((last, folders)) = names.split_last() else { return Err(outside()) };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = rustix::fs::open(nameable(beneath), flags, Mode::empty())?;
        for name in folders {
            folder = enter(&folder, name, make_folders)?;
        }
        Ok(Place { folder: Some(folder), name: (*last).to_owned(), follow: OFlags::NOFOLLOW })
    }

    /// Opens what is there.
    pub(crate) fn open(&self, flags: OFlags, mode: Mode) -> Result<File, Closed> {
        let flags = flags | self.follow | OFlags::CLOEXEC;
        let opened = match &self.folder {
            Some(folder) => rustix::fs::openat(folder, &self.name, flags, mode),
            None => rustix::fs::openat(CWD, &self.name, flags, mode),
        };
        match opened {
            Ok(fd) => Ok(File::from(fd)),
            Err(Errno::LOOP) if self.folder.is_some() => Err(link()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens what is there with `O_PATH`, only to examine it; `None` if there is nothing. A
    /// symbolic link at a generated name is an error.
    pub(crate) fn look(&self) -> Result<Option<File>, Closed> {
        match self.open(OFlags::PATH, Mode::empty()) {
            Ok(file) if file.metadata().is_ok_and(|metadata| metadata.file_type().is_symlink()) => Err(link()),
            Ok(file) => Ok(Some(file)),
            Err(Closed::Errno(Errno::NOENT)) => Ok(None),
            Err(closed) => Err(closed),
        }
    }

    /// Removes the name.
    pub(crate) fn unlink(&self) -> Result<(), Errno> {
        match &self.folder {
            Some(folder) => rustix::fs::unlinkat(folder, &self.name, rustix::fs::AtFlags::empty()),
            None => rustix::fs::unlink(&self.name),
        }
    }

    /// Whether the name itself is a symbolic link.
    pub(crate) fn is_link(&self) -> bool {
        let found = match &self.folder {
            Some(folder) => rustix::fs::statat(folder, &self.name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW),
            None => rustix::fs::lstat(&self.name),
        };
        found.is_ok_and(|found| rustix::fs::FileType::from_raw_mode(found.st_mode).is_symlink())
    }
}

/// The folder that contains a path, if the path names one.
fn parent_of(path: &Path) -> Option<&Path> {
    path.parent().filter(|parent| !parent.as_os_str().is_empty())
}

/// Replaces the empty path of the current folder by `.`.
fn nameable(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

fn link() -> Closed {
    Closed::Strays("it is a symbolic link; generated names do not follow links".to_owned())
}

/// Opens the folder `name` in `folder`; creates it if it is missing and `make` is set.
fn enter(folder: &OwnedFd, name: &OsStr, make: bool) -> Result<OwnedFd, Closed> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Err(Errno::NOENT) if make => match rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Ok(rustix::fs::openat(folder, name, flags, Mode::empty())?),
            Err(errno) => Err(errno.into()),
        },
        // For a link, `O_DIRECTORY` and `O_NOFOLLOW` together also give ENOTDIR (open(2)).
        Err(Errno::NOTDIR | Errno::LOOP) => {
            Err(Closed::Strays(format!("{} in the path is a symbolic link or not a folder", name.display())))
        }
        other => Ok(other?),
    }
}

/// Another path to the same open inode, for opening it again with other flags.
pub(crate) fn again(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
