//! One line for each operation, for `grep` and for people.

use std::io::Read;

use iolab_trace::{Operation, Reader};

/// The header of the columns of [`line`](fn@line).
pub fn line_titles() -> &'static str {
    "seconds     thread  call  offset  length  result  duration  flags  file"
}

/// An operation as a line: spaces between columns, `-` for a missing value, the file last.
pub fn line<R: Read>(operation: &Operation, reader: &Reader<R>) -> String {
    let thread = reader.threads().get(operation.thread as usize);
    let thread = thread.map_or_else(|| "-".to_owned(), |thread| word(&format!("{}/{}", thread.name, thread.id)));
    let path = reader.files().get(operation.file as usize).map_or("-", |file| file.path.as_str());
    let flags = operation.flags.words().join(",");
    format!(
        "{:.9} {thread} {} {} {} {} {:.6} {} {path}",
        operation.time_ns as f64 / 1e9,
        word(operation.call.name()),
        operation.offset.map_or_else(|| "-".to_owned(), |offset| offset.to_string()),
        operation.length,
        operation.result,
        operation.duration_ns as f64 / 1e9,
        if flags.is_empty() { "-" } else { &flags },
    )
}

/// A text without spaces, so that columns can be counted.
fn word(text: &str) -> String {
    text.replace(' ', "_")
}
