//! The mark on files that iolab wrote: an extended attribute with the kind and length of the file.
//!
//! If the length differs, the file has been changed since, and only its content is judged. File
//! systems without user attributes have no marks.

use std::fs::File;

use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

use crate::OutputKind;

/// Name of the extended attribute, xattr(7).
pub const MARK_NAME: &str = "user.iolab.output";

/// Replaces the length while the file is being written.
const UNFINISHED: &str = "?";

/// Marks a file that is being written (`length` is `None`) or finished. Where marks are impossible,
/// the content decides.
pub(crate) fn set(file: &File, kind: OutputKind, length: Option<u64>) {
    let length = length.map_or(UNFINISHED.to_owned(), |length| length.to_string());
    let _ = fsetxattr(file, MARK_NAME, format!("{} {length}", kind.word()).as_bytes(), XattrFlags::empty());
}

/// Whether a file of this length has the mark of its kind.
pub(crate) fn is_on(file: &File, kind: OutputKind, length: u64) -> bool {
    let mut value = [0_u8; 64];
    let Ok(count) = fgetxattr(file, MARK_NAME, &mut value) else { return false };
    let text = std::str::from_utf8(&value[..count]).unwrap_or_default();
    let Some((word, found)) = text.split_once(' ') else { return false };
    word == kind.word() && (found == UNFINISHED || found == length.to_string())
}
