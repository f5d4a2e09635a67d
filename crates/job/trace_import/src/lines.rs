//! Lines of a text that somebody else wrote: bytes that are no text are shown as such, and a line
//! has a longest length.

use std::io::{BufRead, Read};

use crate::sink::ImportError;

/// Longest line, bytes; strace prints no more than some kilobytes unless it is told to print
/// buffers whole.
pub(crate) const LONGEST: u64 = 1 << 20;

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Without its end.
    Text(String),
    /// It was longer than a line may be, and was passed over.
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
