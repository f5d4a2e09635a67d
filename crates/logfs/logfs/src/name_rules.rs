//! Rules for names and for targets of symbolic links.

use crate::Error;

/// Longest name, bytes.
pub(crate) const NAME_BYTES: usize = 255;
/// Longest target of a symbolic link, bytes.
const TARGET_BYTES: usize = 4095;
/// First byte of hidden names in a domain's part of the root directory; no name of a user contains
/// it.
pub(crate) const HIDDEN: u8 = b'/';

pub(crate) fn check_name(name: &[u8]) -> Result<(), Error> {
    match name {
        b"" | b"." | b".." => Err(Error::Invalid("the name is empty, . or ..")),
        _ if name.len() > NAME_BYTES => Err(Error::NameTooLong(NAME_BYTES)),
        _ if name.iter().any(|byte| matches!(byte, 0 | b'/')) => Err(Error::Invalid(
            "the name contains a slash or \
            zero byte",
        )),
        _ => Ok(()),
    }
}

pub(crate) fn check_target(target: &[u8]) -> Result<(), Error> {
    match target.len() {
        0 => Err(Error::Invalid("the link target is empty or contains a zero byte")),
        _ if target.contains(&0) => Err(Error::Invalid("the link target is empty or contains a zero byte")),
        _ if target.len() > TARGET_BYTES => Err(Error::NameTooLong(TARGET_BYTES)),
        _ => Ok(()),
    }
}
