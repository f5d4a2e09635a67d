//! Text against golden files: what a test makes must be what the file of its crate says, byte for
//! byte.
//!
//! After an intended change, run with `IOLAB_BLESS=1` to rewrite the files, and read the
//! difference. A missing file counts as empty.

use std::path::Path;

/// Compares `actual` with `tests/golden/NAME` of the crate whose folder is `manifest_folder`
/// (`env!("CARGO_MANIFEST_DIR")`).
///
/// # Panics
/// They differ, or a file that is to be rewritten cannot be.
pub fn check_golden(manifest_folder: &str, name: &str, actual: &str) {
    let path = Path::new(manifest_folder).join("tests/golden").join(name);
    if std::env::var_os("IOLAB_BLESS").is_some() {
        std::fs::write(&path, actual).expect("golden files are writable");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{name} differs; IOLAB_BLESS=1 rewrites it");
}

#[cfg(test)]
mod tests {
    use super::check_golden;

    #[test]
    fn the_same_text_passes() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("tests/golden")).unwrap();
        std::fs::write(folder.path().join("tests/golden/a.txt"), "text\n").unwrap();
        check_golden(folder.path().to_str().unwrap(), "a.txt", "text\n");
    }

    #[test]
    #[should_panic]
    fn a_missing_file_is_noticed() {
        // Where files are rewritten, it cannot be written either.
        check_golden("/nowhere", "missing.txt", "text\n");
    }
}
