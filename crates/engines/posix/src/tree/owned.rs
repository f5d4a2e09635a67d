//! Whose a tree is: a file in its root says that iolab made it. Nothing is created or removed in
//! any other folder that holds something.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The name of the file.
pub(super) const MARK: &[u8] = b".iolab-tree";

fn mark_in(root: &Path) -> PathBuf {
    root.join(OsStr::from_bytes(MARK))
}

/// Makes the root if it is missing or empty, and checks that it is iolab's. 0 or a negative errno:
/// `EPERM` for a folder that is not.
pub(super) fn claim(root: &Path) -> i32 {
    let errno = |error: io::Error| -error.raw_os_error().unwrap_or(libc::EIO);
    let claimed = || -> io::Result<bool> {
        fs::create_dir_all(root)?;
        if mark_in(root).symlink_metadata().is_ok() {
            return Ok(true);
        }
        if fs::read_dir(root)?.next().is_some() {
            // Another rank may have made it meanwhile.
            return Ok(mark_in(root).symlink_metadata().is_ok());
        }
        match fs::File::create_new(mark_in(root)) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok(true),
        }
    };
    match claimed() {
        Ok(true) => 0,
        Ok(false) => -libc::EPERM,
        Err(error) => errno(error),
    }
}

/// Why a folder must not be changed; `None` if it may.
pub(super) fn refusal(root: &Path) -> Option<String> {
    let is_foreign = mark_in(root).symlink_metadata().is_err()
        && fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_some());
    is_foreign.then(|| {
        format!(
            "{} holds files, and iolab did not make it: name a new or an empty folder with filename=",
            root.display()
        )
    })
}

/// Removes the mark and the root. 0 or a negative errno; the mark is put back if the root is not
/// empty.
pub(super) fn give_up(root: &Path) -> i32 {
    let removed = fs::remove_file(mark_in(root)).and_then(|()| {
        fs::remove_dir(root).inspect_err(|_| {
            // It stays iolab's.
            let _ = fs::File::create_new(mark_in(root));
        })
    });
    removed.map_or_else(|error| -error.raw_os_error().unwrap_or(libc::EIO), |()| 0)
}
