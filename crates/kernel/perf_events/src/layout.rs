//! The layout of a tracepoint's record, as described in tracefs (Documentation/trace/events.rst).

use std::io;
use std::path::{Path, PathBuf};

/// The usual mount point of tracefs, and the old one.
const PLACES: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];

/// The description of a tracepoint, from its file `format`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracepointLayout {
    text: String,
    id: u64,
}

impl TracepointLayout {
    /// Reads the description of `GROUP/NAME` below the root of a file system.
    ///
    /// # Errors
    /// The file that was tried first, and the kernel's answer: tracefs is not mounted, or there is
    /// no such tracepoint.
    pub fn read(root: &Path, event: &str) -> Result<TracepointLayout, (PathBuf, io::Error)> {
        let mut first = None;
        for place in PLACES {
            let path = root.join(place).join("events").join(event).join("format");
            let found = std::fs::read_to_string(&path).and_then(|text| {
                TracepointLayout::parse(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it has no ID"))
            });
            match found {
                Ok(layout) => return Ok(layout),
                Err(error) => first = first.or(Some((path, error))),
            }
        }
        Err(first.unwrap_or_else(|| (root.to_owned(), io::ErrorKind::NotFound.into())))
    }

    /// Parses a description; `None` if it does not describe a tracepoint.
    pub fn parse(text: &str) -> Option<TracepointLayout> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID: ")?.trim().parse().ok())?;
        Some(TracepointLayout { text: text.to_owned(), id })
    }

    /// The number of the tracepoint, for [`crate::Tracepoint`], and in the first two bytes of its
    /// records.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The offset in a record of a field with at least this size, bytes.
    pub fn offset_of(&self, name: &str, bytes: usize) -> Option<usize> {
        self.text.lines().find_map(|line| {
            let mut parts = line.trim().strip_prefix("field:")?.split(';');
            let declared = parts.next()?.split_whitespace().last()?;
            let same = declared == name || declared.strip_prefix(name).is_some_and(|rest| rest.starts_with('['));
            let offset: usize = parts.next()?.trim().strip_prefix("offset:")?.parse().ok()?;
            let size: usize = parts.next()?.trim().strip_prefix("size:")?.parse().ok()?;
            (same && size >= bytes).then_some(offset)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_size() {
        let text = "name: sys_enter\nID: 348\nformat:\n\
            \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
            \tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\
            \tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n";
        let layout = TracepointLayout::parse(text).unwrap();
        assert_eq!(layout.id(), 348);
        for (name, bytes, expected) in [
            ("id", 8, Some(8)),
            ("args", 48, Some(16)),
            ("args", 56, None),
            ("common_type", 2, Some(0)),
            ("ret", 8, None),
        ] {
            assert_eq!(layout.offset_of(name, bytes), expected, "{name}");
        }
        assert_eq!(TracepointLayout::parse("name: x\n"), None);
    }

    #[test]
    fn a_missing_tracefs_is_named() {
        let (path, error) = TracepointLayout::read(Path::new("/nonexistent"), "block/block_rq_issue").unwrap_err();
        assert_eq!(path, Path::new("/nonexistent/sys/kernel/tracing/events/block/block_rq_issue/format"));
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
