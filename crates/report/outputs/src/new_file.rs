//! A new file: written under another name or none, and given its final name by one rename(2) or
//! link(2).
//!
//! Until then it has no name at all if the file system supports this (`O_TMPFILE`, open(2)), so
//! that a killed program leaves nothing behind. Otherwise it has a random name.
//!
//! The file that was judged is compared with the one that the rename replaced; a file that appeared
//! meanwhile gets its name back.

use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use iolab_observe::FileId;
use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;

use crate::identity::Old;
use crate::judge::Name;
use crate::{OutputError, OutputKind, mark};

/// Attempts with random names.
const NAMES_TRIED: u32 = 16;

/// A file before or after it gets its name.
#[derive(Debug)]
pub(crate) struct NewFile {
    pub(crate) file: File,
    name: Name,
    kind: OutputKind,
    /// `None` while it has no name.
    temporary: Option<OsString>,
    old: Option<FileId>,
    has_name: bool,
}

impl NewFile {
    /// Creates the file. From a report or log that it replaces, it takes over who may read it;
    /// recordings are readable by their owner only, whatever the umask.
    pub(crate) fn make(name: Name, kind: OutputKind, old: Option<Old>) -> Result<NewFile, OutputError> {
        let failed = |errno| OutputError::io("creating a temporary file for", &name.path, errno);
        let mode = if kind.is_private() { 0o600 } else { 0o666 };
        let (file, temporary) = match unnamed(&name.folder, mode) {
            Some(file) => (file, None),
            None => named(&name.folder, mode).map(|(file, name)| (file, Some(name))).map_err(failed)?,
        };
        mark::set(&file, kind, None);
        let new = NewFile { file, name, kind, temporary, old: old.map(|old| old.id), has_name: false };
        new.permissions(mode, old)
            .map_err(|errno| OutputError::io("creating a temporary file for", &new.name.path, errno))?;
        Ok(new)
    }

    fn permissions(&self, mode: u32, old: Option<Old>) -> Result<(), Errno> {
        if self.kind.is_private() {
            return rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode));
        }
        let Some(old) = old else { return Ok(()) };
        // Only root may change the owner; the mode is only kept together with the owner.
        if rustix::fs::fchown(&self.file, Some(Uid::from_raw(old.owner)), Some(Gid::from_raw(old.group))).is_ok() {
            rustix::fs::fchmod(&self.file, Mode::from_raw_mode(old.mode & 0o777))?;
        }
        Ok(())
    }

    /// Gives the file its name.
    pub(crate) fn take_name(&mut self) -> Result<(), OutputError> {
        if self.has_name {
            return Ok(());
        }
        let taken = match self.old {
            None => self.take_free_name(),
            Some(old) => self.replace(old),
        };
        match taken {
            Ok(true) => {
                self.has_name = true;
                Ok(())
            }
            Ok(false) => Err(OutputError::Changed { path: self.name.path.clone() }),
            Err(errno) => Err(OutputError::io("renaming to", &self.name.path, errno)),
        }
    }

    /// Returns false when the name is taken by now.
    fn take_free_name(&self) -> Result<bool, Errno> {
        let (folder, to) = (&self.name.folder, &self.name.name);
        let Some(from) = &self.temporary else {
            return match link_unnamed(&self.file, folder, to) {
                Err(Errno::EXIST) => Ok(false),
                linked => linked.map(|()| true),
            };
        };
        match rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => Ok(false),
            // Not every file system supports this. Make a hard link instead, which never replaces a
            // file.
            Err(Errno::INVAL | Errno::NOSYS) => match rustix::fs::linkat(folder, from, folder, to, AtFlags::empty()) {
                Ok(()) => rustix::fs::unlinkat(folder, from, AtFlags::empty()).map(|()| true),
                Err(Errno::EXIST) => Ok(false),
                Err(_) => self.rename_if(None),
            },
            renamed => renamed.map(|()| true),
        }
    }

    /// Returns false when the name now belongs to a file other than the one judged.
    fn replace(&mut self, old: FileId) -> Result<bool, Errno> {
        self.take_temporary_name()?;
        let (folder, Some(from), to) = (&self.name.folder, &self.temporary, &self.name.name) else {
            return Ok(false);
        };
        match rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::EXCHANGE) {
            Ok(()) if id_of(folder, from)? == Some(old) => {
                rustix::fs::unlinkat(folder, from, AtFlags::empty()).map(|()| true)
            }
            Ok(()) => {
                rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::EXCHANGE)?;
                Ok(false)
            }
            // The old file has been removed meanwhile: nothing is replaced.
            Err(Errno::NOENT) => self.take_free_name(),
            Err(Errno::INVAL | Errno::NOSYS) => self.rename_if(Some(old)),
            Err(errno) => Err(errno),
        }
    }

    /// Exchanging two names needs a name for the new file.
    fn take_temporary_name(&mut self) -> Result<(), Errno> {
        if self.temporary.is_none() {
            let name = random_name();
            link_unnamed(&self.file, &self.name.folder, &name)?;
            self.temporary = Some(name);
        }
        Ok(())
    }

    /// For file systems without such a rename: a check, directly followed by the rename.
    fn rename_if(&self, expected: Option<FileId>) -> Result<bool, Errno> {
        let (folder, to) = (&self.name.folder, &self.name.name);
        let Some(from) = self.temporary.as_ref() else { return Ok(false) };
        if id_of(folder, to)? != expected {
            return Ok(false);
        }
        rustix::fs::renameat(folder, from, folder, to).map(|()| true)
    }

    /// Makes the file durable, marks it, and gives it its name.
    pub(crate) fn finish(&mut self) -> Result<(), OutputError> {
        let length = self.file.metadata().map(|metadata| metadata.len()).ok();
        mark::set(&self.file, self.kind, length);
        match self.file.sync_all() {
            // Some files do not support syncing.
            Err(error) if error.kind() != io::ErrorKind::InvalidInput => {
                return Err(OutputError::io("writing", &self.name.path, error));
            }
            _ => {}
        }
        self.take_name()
    }

    /// Removes the file, if its name still belongs to it.
    pub(crate) fn remove(&mut self) {
        let current = if self.has_name { Some(&self.name.name) } else { self.temporary.as_ref() };
        let Some(current) = current else { return };
        let own = rustix::fs::fstat(&self.file).map(|stat| FileId::of_stat(&stat)).ok();
        if own.is_some() && id_of(&self.name.folder, current).ok().flatten() == own {
            // A leftover file is harmless.
            let _ = rustix::fs::unlinkat(&self.name.folder, current, AtFlags::empty());
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.has_name {
            self.remove();
        }
    }
}

pub(crate) fn id_of(folder: &OwnedFd, name: &OsString) -> Result<Option<FileId>, Errno> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileId::of_stat(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// A file without a name; `None` where that is not supported, or where it could not be given a name
/// later.
fn unnamed(folder: &OwnedFd, mode: u32) -> Option<File> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::TMPFILE | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(folder, ".", flags, Mode::from_raw_mode(mode)).ok()?);
    std::fs::symlink_metadata(path_of(&file)).ok().map(|_| file)
}

/// A file with a random name.
fn named(folder: &OwnedFd, mode: u32) -> Result<(File, OsString), Errno> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut made = Err(Errno::EXIST);
    for _ in 0..NAMES_TRIED {
        let name = random_name();
        made = rustix::fs::openat(folder, &name, flags, Mode::from_raw_mode(mode)).map(|fd| (File::from(fd), name));
        if !matches!(made, Err(Errno::EXIST)) {
            break;
        }
    }
    made
}

/// The path with which linkat(2) can name a file without privileges.
fn path_of(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn link_unnamed(file: &File, folder: &OwnedFd, to: &OsString) -> Result<(), Errno> {
    rustix::fs::linkat(rustix::fs::CWD, path_of(file), folder, to, AtFlags::SYMLINK_FOLLOW)
}

/// An unpredictable name; the seed comes from the system.
fn random_name() -> OsString {
    let random = std::hash::RandomState::new().build_hasher().finish();
    OsString::from(format!(".iolab-{random:016x}"))
}
