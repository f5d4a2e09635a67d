//! The environment: variables that count, and the user's own folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// An environment variable; an empty one counts as not set.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The user's own folder.
pub(crate) fn home() -> Option<PathBuf> {
    variable("HOME").map(PathBuf::from).filter(|home| Path::is_absolute(home))
}
