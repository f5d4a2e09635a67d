//! The file whose appearance asks for a report of the run so far (fio's `fio-dump-status`).
//!
//! The file is in a folder that others may write to. Only an empty file, as made by `touch`, is a
//! request; it is removed so that it counts once. A file with content, a link or a folder of that
//! name belongs to someone else and is left alone.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Where the file may appear.
#[derive(Debug, Clone)]
pub(crate) struct SnapshotFile {
    path: PathBuf,
    /// The file of the last request if it could not be removed: device, inode and change time.
    answered: Option<(u64, u64, i64, i64)>,
}

impl SnapshotFile {
    pub(crate) fn new(path: PathBuf) -> SnapshotFile {
        SnapshotFile { path, answered: None }
    }

    /// Whether the file has appeared; removes it.
    pub(crate) fn asks(&mut self) -> bool {
        let Ok(found) = std::fs::symlink_metadata(&self.path) else { return false };
        let this = (found.dev(), found.ino(), found.ctime(), found.ctime_nsec());
        if !found.is_file() || found.len() > 0 || found.nlink() > 1 || self.answered == Some(this) {
            return false;
        }
        // A file of another user in a sticky folder cannot be removed, but must count only once.
        self.answered = std::fs::remove_file(&self.path).is_err().then_some(this);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_empty_file_asks_and_it_asks_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fio-dump-status");
        let mut file = SnapshotFile::new(path.clone());
        assert!(!file.asks());
        std::fs::write(&path, "").unwrap();
        assert!(file.asks() && !path.exists() && !file.asks());
        std::fs::write(&path, "mine").unwrap();
        assert!(!file.asks() && path.exists());
        std::fs::remove_file(&path).unwrap();
        std::fs::write(folder.path().join("other"), "").unwrap();
        std::os::unix::fs::symlink("other", &path).unwrap();
        assert!(!file.asks() && path.exists());
    }
}
