//! The lock of an image: many readers, or one writer.
//!
//! The lock is advisory (flock(2)) and ends with the process, however that ends. A writer also
//! opens a block device exclusively: the kernel then refuses to mount it, and refuses the open if
//! it is mounted.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::ImageError;

/// Attempts to take the lock: udev locks a device for a moment whenever it has been closed.
const TRIES: u32 = 20;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(25);

/// How an image is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageAccess {
    /// Without changing it: what the file system writes when it is opened stays in memory.
    Read,
    /// For changing it, with exclusive access.
    Write,
}

/// The lock of an image, held until this is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock, or says which process is in the way.
    ///
    /// # Errors
    /// [`ImageError::InUse`], [`ImageError::Missing`], [`ImageError::NoImage`], and the errors of
    /// opening the file.
    pub fn take(path: &Path, access: ImageAccess) -> Result<Lock, ImageError> {
        let failed =
            |what: &'static str| move |source: io::Error| ImageError::Io { path: path.to_owned(), what, source };
        let metadata = match std::fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ImageError::Missing(path.to_owned())),
            other => other.map_err(failed("examining it"))?,
        };
        let is_device = metadata.file_type().is_block_device();
        if !is_device && !metadata.is_file() {
            return Err(ImageError::NoImage(path.to_owned()));
        }
        let writes = access == ImageAccess::Write;
        let exclusive = if writes && is_device { OFlags::EXCL } else { OFlags::empty() };
        let mut options = OpenOptions::new();
        options.read(true).write(writes).custom_flags(exclusive.bits() as i32);
        let in_use = |reason| ImageError::InUse { path: path.to_owned(), reason };
        let file = match options.open(path) {
            Err(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => {
                return Err(in_use("or the kernel (a mount, swap, a volume) has exclusive access"));
            }
            other => other.map_err(failed("opening it"))?,
        };
        let operation =
            if writes { FlockOperation::NonBlockingLockExclusive } else { FlockOperation::NonBlockingLockShared };
        for _ in 0..TRIES {
            match flock(&file, operation) {
                Ok(()) => return Ok(Lock { file, path: path.to_owned() }),
                Err(Errno::WOULDBLOCK) if is_device => std::thread::sleep(PAUSE),
                Err(Errno::WOULDBLOCK) => break,
                Err(errno) => return Err(failed("locking it")(errno.into())),
            }
        }
        Err(in_use(if writes { "reads or writes it" } else { "writes to it" }))
    }

    /// The locked file, open for the given access.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The path of the image.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_read_or_one_writes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let take = |access| Lock::take(file.path(), access);
        let readers = (take(ImageAccess::Read).unwrap(), take(ImageAccess::Read).unwrap());
        assert!(matches!(take(ImageAccess::Write), Err(ImageError::InUse { .. })));
        drop(readers);
        let writer = take(ImageAccess::Write).unwrap();
        assert!(matches!(take(ImageAccess::Write), Err(ImageError::InUse { .. })));
        assert!(matches!(take(ImageAccess::Read), Err(ImageError::InUse { .. })));
        drop(writer);
        assert!(take(ImageAccess::Read).is_ok());
    }

    #[test]
    fn what_is_no_image_is_said() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Lock::take(folder.path(), ImageAccess::Read), Err(ImageError::NoImage(_))));
        assert!(matches!(Lock::take(&folder.path().join("none"), ImageAccess::Read), Err(ImageError::Missing(_))));
    }
}
