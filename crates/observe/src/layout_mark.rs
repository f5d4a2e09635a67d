//! The mark by which a later run knows a file that iolab made itself and may therefore overwrite.
//!
//! It is the extended attribute [`MARK_NAME`] (xattr(7)), set when a file is laid out. It stays with the file
//! when its content is replaced in place, so it proves who made the file, not what is in it now. File systems
//! without user attributes cannot carry it: there only names tell ([`is_fio_generated_name`]).

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::XattrFlags;
use rustix::io::Errno;

/// Name of the extended attribute.
pub const MARK_NAME: &str = "user.iolab.layout";

/// What a file says of its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutMark {
    /// iolab made it.
    Present,
    /// It carries no mark.
    Absent,
    /// Its file system cannot carry marks.
    Unsupported,
}

/// Marks an open file as made by iolab. Returns whether its file system can carry the mark.
///
/// # Errors
/// Whatever setxattr(2) says except that attributes are not supported or not permitted here.
pub fn mark_layout(file: impl AsFd) -> io::Result<bool> {
    match rustix::fs::fsetxattr(file, MARK_NAME, b"1", XattrFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::PERM | Errno::NOSPC) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Looks for the mark.
///
/// # Errors
/// Whatever getxattr(2) says except that there is no such attribute.
pub fn layout_mark(path: &Path) -> io::Result<LayoutMark> {
    let mut value = [0_u8; 16];
    match rustix::fs::getxattr(path, MARK_NAME, &mut value) {
        Ok(_) | Err(Errno::RANGE) => Ok(LayoutMark::Present),
        Err(Errno::NODATA) => Ok(LayoutMark::Absent),
        Err(Errno::OPNOTSUPP) => Ok(LayoutMark::Unsupported),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether a path is named as fio names the files it makes: `job.N.M`, job number and file number.
pub fn is_fio_generated_name(path: &Path) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let mut from_the_right = name.rsplitn(3, '.');
    let (file, job, title) = (from_the_right.next(), from_the_right.next(), from_the_right.next());
    file.is_some_and(is_number) && job.is_some_and(is_number) && title.is_some_and(|title| !title.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names() {
        for (name, expected) in [
            ("job.0.0", true),
            ("/data/my.job.12.3", true),
            ("job.0", false),
            ("0.0", false),
            (".0.0", false),
            ("photo.jpg", false),
            ("report.2026.final", false),
            ("job.0.", false),
            ("/", false),
        ] {
            assert_eq!(is_fio_generated_name(Path::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn a_mark_is_found_again_wherever_marks_work() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_ne!(layout_mark(file.path()).unwrap(), LayoutMark::Present);
        if mark_layout(file.as_file()).unwrap() {
            assert_eq!(layout_mark(file.path()).unwrap(), LayoutMark::Present);
        } else {
            assert_ne!(layout_mark(file.path()).unwrap(), LayoutMark::Present);
        }
    }

    #[test]
    fn a_missing_file_is_an_error() {
        assert!(layout_mark(Path::new("/no/such/file")).is_err());
    }
}
