//! Directories for outputs.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use crate::OutputError;

/// Creates a directory and its parents if they are missing.
///
/// # Errors
/// It cannot be created, or something else has its name.
pub fn make_folder(path: &Path) -> Result<(), OutputError> {
    make(path, 0o777)
}

/// Creates a directory for recordings: only its owner may access it, whatever the umask (0700).
///
/// # Errors
/// As [`make_folder`].
pub fn make_private_folder(path: &Path) -> Result<(), OutputError> {
    make(path, 0o700)
}

fn make(path: &Path, mode: u32) -> Result<(), OutputError> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    let made = DirBuilder::new().recursive(true).mode(mode).create(path);
    made.map_err(|error| OutputError::io("creating", path, error))
}
