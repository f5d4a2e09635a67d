//! Examines what is at a path.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use iolab_observe::FileId;
use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, Stat, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use crate::kind::{HEAD_BYTES, OutputKind};
use crate::{OutputError, mark};

/// A name in a directory that is kept open.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) path: PathBuf,
    pub(crate) folder: OwnedFd,
    pub(crate) name: OsString,
    pub(crate) folder_id: FileId,
}

impl Name {
    /// Opens the directory of a path; links in the directory part are followed, as in any path of
    /// the user.
    pub(crate) fn open(path: &Path) -> Result<Name, OutputError> {
        let is_folder = path.as_os_str().as_bytes().ends_with(b"/");
        let name = path.file_name().filter(|_| !is_folder);
        let name = name.ok_or_else(|| OutputError::unusable(path, "the name of a folder, not of a file"))?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(parent, flags, Mode::empty()).map_err(|errno| {
            let reason = match errno {
                Errno::NOENT => format!("the folder {} does not exist: create it first", parent.display()),
                Errno::NOTDIR => format!("{} is not a folder", parent.display()),
                other => format!("{}: {}", parent.display(), std::io::Error::from(other)),
            };
            OutputError::unusable(path, reason)
        })?;
        let stat = rustix::fs::fstat(&folder).map_err(|errno| OutputError::io("looking at", path, errno))?;
        Ok(Name { path: path.to_owned(), folder, name, folder_id: FileId::of_stat(&stat) })
    }

    /// The file with the name, without following a link; `None` if there is none.
    pub(crate) fn stat(&self) -> Result<Option<Stat>, OutputError> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty()) {
            Ok(fd) => rustix::fs::fstat(fd).map(Some).map_err(|errno| OutputError::io("looking at", &self.path, errno)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(OutputError::unusable(&self.path, std::io::Error::from(errno).to_string())),
        }
    }

    /// Refuses a directory in which no file can be created.
    pub(crate) fn writable(&self) -> Result<(), OutputError> {
        let access = rustix::fs::accessat(&self.folder, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS);
        access.map_err(|errno| {
            let reason = std::io::Error::from(errno);
            OutputError::unusable(&self.path, format!("no file can be made in its folder: {reason}"))
        })
    }

    /// Refuses a file that is a mount point.
    pub(crate) fn not_mounted(&self) -> Result<(), OutputError> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let facts = rustix::fs::statx(&self.folder, &self.name, flags, StatxFlags::BASIC_STATS);
        // If the kernel does not report it, the rename will fail.
        if facts.is_ok_and(|facts| facts.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)) {
            return Err(OutputError::Never { path: self.path.clone(), what: "it is a mount point".to_owned() });
        }
        Ok(())
    }

    /// Opens the regular file with the name for reading, if it is readable and still the same file.
    pub(crate) fn open_file(&self, id: FileId) -> Option<File> {
        open_regular(&self.folder, &self.name, id)
    }
}

fn open_regular(folder: &OwnedFd, name: &OsStr, id: FileId) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty()).ok()?);
    let stat = rustix::fs::fstat(&file).ok()?;
    (FileId::of_stat(&stat) == id).then_some(file)
}

/// Whether iolab or fio wrote the regular file.
pub(crate) fn is_own(name: &Name, stat: &Stat, kind: OutputKind) -> bool {
    if stat.st_size == 0 {
        // Another process may also use the file under another name.
        return stat.st_nlink <= 1;
    }
    let Some(file) = name.open_file(FileId::of_stat(stat)) else { return false };
    let length = u64::try_from(stat.st_size).unwrap_or(0);
    if mark::is_on(&file, kind, length) {
        return true;
    }
    let mut head = Vec::new();
    let read = file.take(HEAD_BYTES as u64).read_to_end(&mut head);
    read.is_ok() && kind.recognises(&name.path, &head)
}

/// The type of a file, for a sentence.
pub(crate) fn described(stat: &Stat) -> &'static str {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => "a file of its own",
        FileType::Symlink => "a symbolic link",
        FileType::Directory => "a folder",
        FileType::BlockDevice => "a block device",
        FileType::Socket => "a socket",
        _ => "something else",
    }
}
