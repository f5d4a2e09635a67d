//! Whether the kernel can try an operation on a file without waiting.
//!
//! Checked once, before any operation. Guarantees: no content of the file is read or changed.
//!
//! Unsafe: a system call with an address.

use crate::TargetFile;

/// Whether the file or block device refuses operations that must not wait (`RWF_NOWAIT`,
/// preadv2(2)): a RAM disk does, and some file systems. Also `false` if that cannot be found out.
pub fn always_waits(file: &TargetFile) -> bool {
    // Other kinds may have nothing to read, or lose what is read.
    let is_regular = || std::fs::metadata(&file.path).is_ok_and(|metadata| metadata.is_file());
    if !file.is_block_device && !is_regular() {
        return false;
    }
    let mut byte = 0_u8;
    let vector = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // Beyond every end, and aligned for direct files.
    const FAR: libc::off_t = i64::MAX - 0xffff;
    // SAFETY: one element, alive during the call, that describes one byte of this function's.
    let result = unsafe { libc::preadv2(file.fd, &vector, 1, FAR, libc::RWF_NOWAIT) };
    result < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EOPNOTSUPP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::{AsRawFd, RawFd};
    use std::path::Path;

    fn target(path: &Path, fd: RawFd) -> TargetFile {
        TargetFile { path: path.into(), fd, size_bytes: 0, is_block_device: false }
    }

    #[test]
    fn the_answer_is_that_of_a_read_and_nothing_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(4096).unwrap();
        let mut byte = 0_u8;
        let vector = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        // SAFETY: as above.
        let read = unsafe { libc::preadv2(file.as_file().as_raw_fd(), &vector, 1, 0, libc::RWF_NOWAIT) };
        let refused = read < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EOPNOTSUPP);
        assert_eq!(always_waits(&target(file.path(), file.as_file().as_raw_fd())), refused);
    }

    #[test]
    fn what_is_no_file_is_left_alone() {
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(!always_waits(&target(Path::new("pipe"), reader.as_raw_fd())));
        assert!(!always_waits(&target(Path::new("/dev/null"), -1)));
    }

    /// Files of /proc cannot be read without waiting.
    #[test]
    fn a_file_that_cannot_do_without_waiting_is_told_from_one_that_can() {
        let path = Path::new("/proc/self/io");
        let Ok(file) = std::fs::File::open(path) else { return };
        assert!(always_waits(&target(path, file.as_raw_fd())));
    }
}
