//! Why an output cannot be written, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why an output is not written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The path has something else.
    #[error("{}: this is {what}, not {wanted} that iolab wrote, so iolab does not replace it: name another file, or add --force", path.display())]
    Foreign {
        /// The path.
        path: PathBuf,
        /// What is there.
        what: &'static str,
        /// What may be there.
        wanted: &'static str,
    },
    /// The existing file is never replaced, even with --force.
    #[error("{}: {what}: iolab never writes output there", path.display())]
    Never {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// It would replace an input of the same command.
    #[error("{}: this is {what}, an input of the same command: use another file for the output", path.display())]
    Input {
        /// The path.
        path: PathBuf,
        /// What the command uses it for.
        what: String,
    },
    /// Two outputs of one command have the same path.
    #[error("{}: {one} and {other} would go to the same file: rename one of them", path.display())]
    Clash {
        /// The path.
        path: PathBuf,
        /// The first output.
        one: String,
        /// The second output.
        other: String,
    },
    /// The path cannot be an output: it is empty or a directory, or its directory is missing or not
    /// writable.
    #[error("{}: {reason}", path.display())]
    Unusable {
        /// The path.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The file at the path has changed since it was judged.
    #[error("{}: another file appeared under this name in the meantime; it was not changed", path.display())]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl OutputError {
    /// Whether writing would destroy something, which the user may allow.
    pub fn is_refusal(&self) -> bool {
        matches!(self, OutputError::Foreign { .. } | OutputError::Never { .. } | OutputError::Input { .. })
    }

    /// Whether the user named a path that cannot be an output.
    pub fn is_mistake(&self) -> bool {
        matches!(self, OutputError::Clash { .. } | OutputError::Unusable { .. })
    }

    pub(crate) fn io(what: &'static str, path: &Path, source: impl Into<io::Error>) -> OutputError {
        OutputError::Io { what, path: path.to_owned(), source: source.into() }
    }

    pub(crate) fn unusable(path: &Path, reason: impl Into<String>) -> OutputError {
        OutputError::Unusable { path: path.to_owned(), reason: reason.into() }
    }
}
