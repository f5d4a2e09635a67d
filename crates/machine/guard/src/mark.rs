//! The mark by which a later run recognises a file that iolab created and may therefore overwrite
//! or remove.
//!
//! It is the extended attribute [`MARK_NAME`] (xattr(7)), set when a file or folder is created. It
//! stays with the file when its content is replaced in place, so it proves who created the file,
//! not what is in it now. It belongs to the inode: a link to a user's file does not have it,
//! whatever the link is called. Where user attributes do not exist (some network and older memory
//! file systems), root uses the attribute `trusted.iolab.layout` instead; files of other users stay
//! unmarked.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::XattrFlags;
use rustix::io::Errno;

/// Name of the extended attribute.
pub const MARK_NAME: &str = "user.iolab.layout";

/// The mark for root, on file systems without user attributes.
const TRUSTED_NAME: &str = "trusted.iolab.layout";

/// The state of a file's mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutMark {
    /// iolab created it.
    Present,
    /// It has no mark.
    Absent,
    /// Its file system does not support marks.
    Unsupported,
}

/// Marks an open file or folder as created by iolab, however it was opened (`O_PATH` too). Returns
/// whether its file system supports the mark.
///
/// # Errors
/// The errors of setxattr(2), except that attributes are not supported or not permitted here.
pub fn mark_layout(file: impl AsFd) -> io::Result<bool> {
    for name in [MARK_NAME, TRUSTED_NAME] {
        let set = match rustix::fs::fsetxattr(&file, name, b"1", XattrFlags::empty()) {
            Err(Errno::BADF) => rustix::fs::setxattr(by_number(&file), name, b"1", XattrFlags::empty()),
            other => other,
        };
        match set {
            Ok(()) => return Ok(true),
            Err(Errno::OPNOTSUPP | Errno::PERM | Errno::NOSPC) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(false)
}

/// Looks for the mark of an open file or folder, however it was opened (`O_PATH` too).
///
/// # Errors
/// The errors of getxattr(2), except that there is no such attribute.
pub fn layout_mark(file: &File) -> io::Result<LayoutMark> {
    match attribute(file, MARK_NAME) {
        Ok(()) => return Ok(LayoutMark::Present),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
        Err(errno) => return Err(errno.into()),
    }
    match attribute(file, TRUSTED_NAME) {
        Ok(()) => Ok(LayoutMark::Present),
        // If user attributes work, an unprivileged user could have marked it; that decides.
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::PERM) => Ok(supported(file)),
        Err(errno) => Err(errno.into()),
    }
}

fn attribute(file: &File, name: &str) -> Result<(), Errno> {
    let mut value = [0_u8; 16];
    let found = match rustix::fs::fgetxattr(file, name, &mut value) {
        Err(Errno::BADF) => rustix::fs::getxattr(by_number(file), name, &mut value),
        other => other,
    };
    match found {
        Ok(_) | Err(Errno::RANGE) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// An `O_PATH` descriptor does not support attribute calls; its entry in /proc leads to the same
/// inode.
fn by_number(file: impl AsFd) -> String {
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}

fn supported(file: &File) -> LayoutMark {
    match attribute(file, MARK_NAME) {
        Err(Errno::OPNOTSUPP) => LayoutMark::Unsupported,
        _ => LayoutMark::Absent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_again_wherever_marks_work() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_ne!(layout_mark(file.as_file()).unwrap(), LayoutMark::Present);
        let works = mark_layout(file.as_file()).unwrap();
        let by_path = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
        let path_only = File::from(rustix::fs::open(file.path(), by_path, rustix::fs::Mode::empty()).unwrap());
        for opened in [file.as_file(), &path_only] {
            assert_eq!(layout_mark(opened).unwrap() == LayoutMark::Present, works);
        }
    }
}
