//! The tree that is checked: the repository itself, or a fixture of a test.
//!
//! Reads every text file that belongs to it once. What git ignores (build output, recordings, the
//! demo's page) and git's own folder are not part of it.

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
        let ignored = Ignored::of(root);
        collect(root, root, &ignored, &mut files).map_err(|error| format!("{}: {error}", root.display()))?;
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

/// The patterns of the root's `.gitignore`, of the forms that it uses: `/path`, `*.ending`, and
/// `folder/`.
#[derive(Debug, Default)]
struct Ignored {
    patterns: Vec<String>,
}

impl Ignored {
    fn of(root: &Path) -> Ignored {
        let text = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let is_pattern = |line: &&str| !line.is_empty() && !line.starts_with('#');
        Ignored { patterns: text.lines().map(str::trim_end).filter(is_pattern).map(str::to_owned).collect() }
    }

    /// Whether a path below the root, with `/`, is ignored itself; folders above it were asked
    /// about before.
    fn has(&self, below: &str) -> bool {
        let name = below.rsplit('/').next().unwrap_or(below);
        self.patterns.iter().any(|pattern| match (pattern.strip_prefix('/'), pattern.strip_prefix('*')) {
            (Some(path), _) => below == path,
            (None, Some(ending)) => name.ends_with(ending),
            (None, None) => name == pattern.trim_end_matches('/'),
        })
    }
}

fn collect(root: &Path, folder: &Path, ignored: &Ignored, files: &mut Vec<TextFile>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let below = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_symlink() || matches!(name.as_str(), ".git" | "Cargo.lock") || ignored.has(&below) {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, ignored, files)?;
        } else if let Ok(text) = fs::read_to_string(&path) {
            files.push(TextFile { path: below, text, masked: OnceCell::new() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_ignores_is_not_read() {
        let ignore = "# built\n/target\n/demo.html\n/sub/target\n*.iolab\n__pycache__/\n";
        let (_folder, repository) = fixtures::repository(&[
            (".gitignore", ignore),
            ("demo.html", ""),
            ("sub/demo.html", ""),
            ("sub/run.iolab", ""),
            ("sub/target/built.rs", ""),
            ("sub/other/target.rs", ""),
            ("sub/__pycache__/x.pyc", ""),
            ("target/built.rs", ""),
        ]);
        let paths: Vec<&str> = repository.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".gitignore", "sub/demo.html", "sub/other/target.rs"]);
    }

    /// Patterns that [`Ignored`] would take for something else.
    #[test]
    fn the_own_gitignore_has_no_other_forms() {
        let repository = Repository::here().unwrap();
        for pattern in Ignored::of(&repository.root).patterns {
            let rest = pattern.strip_prefix('/').or_else(|| pattern.strip_prefix('*')).unwrap_or(&pattern);
            let has_other = rest.contains(['*', '?', '[', '!', '\\']);
            let is_plain = pattern.starts_with('/') || !rest.trim_end_matches('/').contains('/');
            assert!(!has_other && is_plain, "{pattern}");
        }
    }
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
