//! Why an output cannot be written, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why an output is not written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Something else stands at its name.
    #[error("{}: this is {what}, not {wanted} that iolab wrote, so iolab does not replace it: name another file, or add --force", path.display())]
    Foreign {
        /// The name.
        path: PathBuf,
        /// What stands there.
        what: &'static str,
        /// What may stand there.
        wanted: &'static str,
    },
    /// The existing file is never replaced, not even with --force.
    #[error("{}: {what}: iolab never writes output there", path.display())]
    Never {
        /// The name.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// It would replace what the same command reads.
    #[error("{}: this is {what}, an input of the same command: use another file for the output", path.display())]
    Input {
        /// The name.
        path: PathBuf,
        /// What it is to the command.
        what: String,
    },
    /// Two outputs of one command have the same name.
    #[error("{}: {one} and {other} would go to the same file: rename one of them", path.display())]
    Clash {
        /// The name.
        path: PathBuf,
        /// What wants it.
        one: String,
        /// What wants it, too.
        other: String,
    },
    /// The name cannot be an output: it is empty or a folder, or its folder is missing or not
    /// writable.
    #[error("{}: {reason}", path.display())]
    Unusable {
        /// The name.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file at the name changed since it was judged.
    #[error("{}: another file appeared under this name in the meantime; it was not changed", path.display())]
    Changed {
        /// The name.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The name.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl OutputError {
    /// Whether writing would have destroyed something, which the user may allow.
    pub fn is_refusal(&self) -> bool {
        matches!(self, OutputError::Foreign { .. } | OutputError::Never { .. } | OutputError::Input { .. })
    }

    /// Whether the user named what cannot be an output.
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
