//! Properties of a path before a run touches it: kind, size, block size, free space, whether direct
//! I/O works.
//!
//! Changes nothing, with one exception that it cleans up itself: whether direct I/O works in a
//! folder is tried with an unnamed temporary file.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iolab_order::Arrange;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The kind of file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// There is no file.
    Missing,
    /// A regular file.
    Regular,
    /// A block device.
    BlockDevice,
    /// A character device.
    CharacterDevice,
    /// A folder.
    Directory,
    /// A pipe or socket.
    Other,
}

/// Properties of one path, symbolic links followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    /// The kind.
    pub kind: FileKind,
    /// Size of the file or device, bytes; 0 for other kinds.
    pub size_bytes: u64,
    /// Bytes allocated to a regular file (less than its size when it has holes).
    pub allocated_bytes: u64,
}

/// Whether `O_DIRECT` works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectIo {
    /// The file can be opened with it.
    Works,
    /// The file system refuses it (`EINVAL`, open(2)).
    Refused,
    /// It could not be tried: no permission, no such folder.
    Unknown,
}

/// Examines `path`. A missing file is a fact, not an error.
///
/// # Errors
/// The errors of stat(2) except `ENOENT`; for a device, those of opening it.
pub fn file_facts(path: &Path) -> io::Result<FileFacts> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(FileFacts { kind: FileKind::Missing, size_bytes: 0, allocated_bytes: 0 });
        }
        Err(error) => return Err(error),
    };
    let file_type = metadata.file_type();
    let facts = |kind, size_bytes, allocated_bytes| FileFacts { kind, size_bytes, allocated_bytes };
    Ok(if file_type.is_file() {
        // st_blocks counts 512-byte units whatever the block size (stat(3type)).
        facts(FileKind::Regular, metadata.len(), metadata.blocks() * 512)
    } else if file_type.is_block_device() {
        facts(FileKind::BlockDevice, device_bytes(path)?, 0)
    } else if file_type.is_dir() {
        facts(FileKind::Directory, 0, 0)
    } else if file_type.is_char_device() {
        facts(FileKind::CharacterDevice, 0, 0)
    } else {
        facts(FileKind::Other, 0, 0)
    })
}

/// Size of a block device, from the position of its end, which equals the result of the
/// `BLKGETSIZE64` ioctl.
fn device_bytes(path: &Path) -> io::Result<u64> {
    File::open(path)?.seek(SeekFrom::End(0))
}

/// Logical block size of a block device, bytes (`BLKSSZGET`): the alignment of direct I/O.
///
/// # Errors
/// The errors of opening the device; `ENOTTY` for anything that is not a block device.
pub fn logical_block_bytes(path: &Path) -> io::Result<u32> {
    let file = File::open(path)?;
    Ok(rustix::fs::ioctl_blksszget(&file)?)
}

/// Bytes that an ordinary user may still write to the file system of `path`, or of its nearest
/// existing parent (statvfs(3), `f_bavail`).
///
/// # Errors
/// The errors of statvfs(3) for that folder.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let given = path.ancestors().filter(|ancestor| !ancestor.as_os_str().is_empty());
    let nearest = given.filter(|ancestor| ancestor.exists()).map(Path::to_owned).next();
    let facts = rustix::fs::statvfs(nearest.unwrap_or_else(|| PathBuf::from(".")))?;
    Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
}

/// All regular files below a folder, recursively, sorted. Symbolic links to files count; links to
/// folders are not followed.
///
/// # Errors
/// The first folder that cannot be read.
pub fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.path().is_file() {
                files.push(entry.path());
            }
        }
    }
    files.arrange();
    Ok(files)
}

/// Whether the file at `path` can be opened with `O_DIRECT`; for a folder, whether files in it can
/// be; for a missing file, whether one in its folder can be.
pub fn direct_io_at(path: &Path) -> DirectIo {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => direct_io_in(path),
        Ok(_) => {
            let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::NONBLOCK | OFlags::CLOEXEC;
            verdict(rustix::fs::open(path, flags, Mode::empty()).map(drop))
        }
        Err(_) => match path.parent() {
            Some(folder) if folder.as_os_str().is_empty() => direct_io_in(Path::new(".")),
            Some(folder) => direct_io_in(folder),
            None => DirectIo::Unknown,
        },
    }
}

fn direct_io_in(folder: &Path) -> DirectIo {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    // A file system without unnamed files gives EOPNOTSUPP in both cases; only both results
    // together are conclusive.
    match rustix::fs::open(folder, flags | OFlags::DIRECT, Mode::RUSR | Mode::WUSR) {
        Err(Errno::INVAL) if rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR).is_err() => DirectIo::Unknown,
        outcome => verdict(outcome.map(drop)),
    }
}

fn verdict(outcome: Result<(), Errno>) -> DirectIo {
    match outcome {
        Ok(()) => DirectIo::Works,
        Err(Errno::INVAL) => DirectIo::Refused,
        Err(_) => DirectIo::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_paths_that_every_machine_has() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"12345").unwrap();
        for (path, kind, size) in [
            (file.as_path(), FileKind::Regular, 5),
            (folder.path(), FileKind::Directory, 0),
            (Path::new("/dev/null"), FileKind::CharacterDevice, 0),
            (&folder.path().join("none"), FileKind::Missing, 0),
        ] {
            let facts = file_facts(path).unwrap();
            assert_eq!((facts.kind, facts.size_bytes), (kind, size), "{}", path.display());
        }
        assert!(file_facts(&file.join("below")).is_err(), "a file is no folder");
    }

    #[test]
    fn a_hole_is_not_allocated() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let facts = file_facts(file.path()).unwrap();
        assert_eq!(facts.size_bytes, 1 << 20);
        assert!(facts.allocated_bytes < 1 << 20);
    }

    #[test]
    fn only_block_devices_have_a_logical_block_size() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(logical_block_bytes(file.path()).is_err());
    }

    #[test]
    fn free_space_is_that_of_the_nearest_folder() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path(), &folder.path().join("a/b/c"), Path::new("relative"), Path::new("/proc/none/such")] {
            assert!(free_bytes(path).is_ok(), "{}", path.display());
        }
    }

    #[test]
    fn files_are_found_below_and_links_to_folders_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("z"), "").unwrap();
        fs::write(at("a/b/c"), "").unwrap();
        std::os::unix::fs::symlink(folder.path(), at("a/loop")).unwrap();
        std::os::unix::fs::symlink(at("z"), at("link")).unwrap();
        assert_eq!(files_below(folder.path()).unwrap(), [at("a/b/c"), at("link"), at("z")]);
        assert!(files_below(&at("none")).is_err());
    }

    #[test]
    fn direct_io_is_refused_by_proc_and_agrees_within_one_folder() {
        assert_eq!(direct_io_at(Path::new("/proc/self/status")), DirectIo::Refused);
        assert_eq!(direct_io_at(Path::new("/no/such/folder/file")), DirectIo::Unknown);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let missing = direct_io_at(&file);
        assert_eq!(missing, direct_io_at(folder.path()));
        fs::write(&file, b"").unwrap();
        if missing != DirectIo::Unknown {
            assert_eq!(direct_io_at(&file), missing);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "probing leaves nothing behind");
    }
}
