//! One thing that is wrong, and where.

use std::fmt;

/// A violation of one rule. Printed as `path:line: what`, which editors can follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Path below the repository.
    pub(crate) path: String,
    /// Line, from 1; 0 when the whole file is meant.
    pub(crate) line: usize,
    /// What is wrong and what to do, in a sentence.
    pub(crate) what: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}
