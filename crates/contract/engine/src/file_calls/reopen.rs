//! A second descriptor, open for reading and writing, of a file that the runner opened in another
//! mode.
//!
//! Shared writable mappings need a descriptor that may also read, and preallocation one that may
//! write, whatever the job's direction made the runner open. Cold: for `open` of a lane only.
//! Unsafe because it asks fcntl(2) about a descriptor that is a plain number.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::RawFd;

/// Whether `fd` may write and, if so, whether it may read too: `Ok(None)` read-only,
/// `Ok(Some(both))` otherwise.
///
/// Fails with `EBADF` if it is no descriptor.
fn access(fd: RawFd) -> io::Result<Option<bool>> {
    // SAFETY: F_GETFL takes a number and writes nothing.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(match flags & libc::O_ACCMODE {
        libc::O_RDONLY => None,
        mode => Some(mode == libc::O_RDWR),
    })
}

/// Whether `fd` was opened with `O_RDWR` or `O_WRONLY`. Fails with `EBADF` if it is no descriptor.
pub fn is_writable(fd: RawFd) -> io::Result<bool> {
    Ok(access(fd)?.is_some())
}

/// A new descriptor of the same file with `O_RDWR`, or `None` if `fd` already has it.
///
/// It goes through `/proc/self/fd`, so that a renamed or deleted file is still the same one. Fails
/// as `open(2)` does, e.g. with `EACCES` for a file that may not be written.
pub fn reopen_for_writing(fd: RawFd) -> io::Result<Option<File>> {
    if access(fd)? == Some(true) {
        return Ok(None);
    }
    OpenOptions::new().read(true).write(true).open(format!("/proc/self/fd/{fd}")).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_descriptor_gains_the_access_it_lacks() {
        let named = tempfile::NamedTempFile::new().unwrap();
        let readonly = File::open(named.path()).unwrap();
        let writeonly = OpenOptions::new().write(true).open(named.path()).unwrap();
        assert!(!is_writable(readonly.as_raw_fd()).unwrap());
        assert!(is_writable(writeonly.as_raw_fd()).unwrap());
        assert!(reopen_for_writing(named.as_raw_fd()).unwrap().is_none(), "already both");
        for fd in [readonly.as_raw_fd(), writeonly.as_raw_fd()] {
            let both = reopen_for_writing(fd).unwrap().unwrap();
            both.write_all_at(b"x", 0).unwrap();
            both.read_exact_at(&mut [0], 0).unwrap();
        }
        assert_eq!(is_writable(-1).unwrap_err().raw_os_error(), Some(libc::EBADF));
    }
}
