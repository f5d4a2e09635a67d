//! Creates what an operation needs, before anything is measured.
//!
//! It only adds: whatever exists is left unchanged.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

use iolab_engine::{OpenError, TargetFile};

/// What must exist for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition {
    /// The directory above.
    Parent,
    /// A file at the path.
    File,
    /// A directory at the path.
    Directory,
}

/// Creates the missing parts of `needs`: a file gets the job's size, without blocks.
pub(crate) fn prepare(file: &TargetFile, needs: Precondition) -> Result<(), OpenError> {
    let made = match needs {
        Precondition::Parent => make_parent(&file.path),
        Precondition::File => make_file(&file.path, file.size_bytes),
        Precondition::Directory => make_directory(&file.path),
    };
    made.map_err(|error| OpenError {
        message: format!("cannot prepare {} for its operation: {error}", file.path.display()),
        errno: error.raw_os_error(),
    })
}

fn make_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => fs::create_dir_all(parent),
        _ => Ok(()),
    }
}

/// An existing path may not be a directory: then the operation reports `ENOTDIR`.
fn make_directory(path: &Path) -> io::Result<()> {
    match fs::create_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn make_file(path: &Path, size_bytes: u64) -> io::Result<()> {
    make_parent(path)?;
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file.set_len(size_bytes),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}
