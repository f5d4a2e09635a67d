//! What is in a folder, for tests of what programs leave behind.

use std::path::Path;

/// The names in it, in order.
///
/// # Panics
/// Where it cannot be read.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.map(|entry| entry.file_name());
    let names = entries.map(|entry| name(entry).unwrap_or_else(|error| panic!("{}: {error}", folder.display())));
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
