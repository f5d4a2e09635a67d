//! The tree that is checked: the repository itself, or a fixture of a test.
//!
//! Reads every text file that belongs to it once. What git ignores (build output, recordings) and
//! git's own folder are not part of it.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};

use crate::rust_text::mask;

/// One text file.
#[derive(Debug, Clone)]
pub(crate) struct TextFile {
    /// Path below the root, with `/`.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
    /// [`TextFile::masked`], once somebody asked for it.
    masked: OnceCell<String>,
}

impl TextFile {
    /// The content of a Rust file without comments and literals (see [`mask`]).
    pub(crate) fn masked(&self) -> &str {
        self.masked.get_or_init(|| mask(&self.text))
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }
}

/// A root folder and its files, sorted by path.
#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) root: PathBuf,
    pub(crate) files: Vec<TextFile>,
}

impl Repository {
    /// The repository this package belongs to.
    pub(crate) fn here() -> Result<Repository, String> {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        Repository::read(package.parent().unwrap_or(package))
    }

    /// The tree below `root`.
    pub(crate) fn read(root: &Path) -> Result<Repository, String> {
        let mut files = Vec::new();
        collect(root, root, &mut files).map_err(|error| format!("{}: {error}", root.display()))?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Repository { root: root.to_owned(), files })
    }

    pub(crate) fn rust_files(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// The text of one file, if it is there.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// Whether a file or folder exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<TextFile>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_symlink() || matches!(name.as_str(), "target" | ".git" | "Cargo.lock") || name.ends_with(".iolab") {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if let Ok(text) = fs::read_to_string(&path) {
            let below = path.strip_prefix(root).unwrap_or(&path);
            files.push(TextFile { path: below.to_string_lossy().replace('\\', "/"), text, masked: OnceCell::new() });
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod fixtures {
    //! Small trees that break a rule.

    use super::*;

    /// A repository made of `(path, text)` pairs.
    pub(crate) fn repository(files: &[(&str, &str)]) -> (tempfile::TempDir, Repository) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let repository = Repository::read(folder.path()).unwrap();
        (folder, repository)
    }
}
