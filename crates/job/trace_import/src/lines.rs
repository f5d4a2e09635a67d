//! Lines of a foreign text: invalid bytes are replaced, and the length of a line is limited.

use std::io::{BufRead, Read};

use crate::sink::ImportError;

/// Longest line, bytes. strace prints at most a few kilobytes unless it is asked to print whole
/// buffers.
pub(crate) const LONGEST: u64 = 1 << 20;

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The line without its end.
    Text(String),
    /// The line exceeded the limit and was skipped.
    TooLong,
}

/// The next line; `None` at the end.
pub(crate) fn next(input: &mut impl BufRead) -> Result<Option<Line>, ImportError> {
    let mut bytes = Vec::new();
    input.by_ref().take(LONGEST).read_until(b'\n', &mut bytes).map_err(ImportError::Input)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.last() != Some(&b'\n') && bytes.len() as u64 == LONGEST {
        loop {
            bytes.clear();
            input.by_ref().take(LONGEST).read_until(b'\n', &mut bytes).map_err(ImportError::Input)?;
            if bytes.is_empty() || bytes.last() == Some(&b'\n') {
                return Ok(Some(Line::TooLong));
            }
        }
    }
    while matches!(bytes.last(), Some(b'\n' | b'\r')) {
        bytes.pop();
    }
    Ok(Some(Line::Text(String::from_utf8_lossy(&bytes).into_owned())))
}
