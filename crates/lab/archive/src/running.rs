//! Runs that go on: their partial recordings, which they keep locked.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::recordings::is_locked;

/// The partial recording of a run that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningFile {
    /// The name that its recording will have.
    pub name: String,
    /// The partial recording.
    pub path: PathBuf,
}

impl RunningFile {
    /// The partial recording at `path`.
    pub fn at(path: PathBuf) -> Option<RunningFile> {
        let name = path.file_name()?.to_str()?.strip_suffix(".partial")?.to_owned();
        Some(RunningFile { name, path })
    }
}

/// The runs that record into a folder now, by name. A folder that cannot be read has none.
pub fn running(folder: &Path) -> Vec<RunningFile> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // A link could lead anywhere.
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut found: Vec<RunningFile> = files
        .filter_map(|entry| RunningFile::at(entry.path()))
        .filter(|run| File::open(&run.path).is_ok_and(|file| is_running(&file)))
        .collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

/// Whether a run still appends to this file.
pub fn is_running(file: &File) -> bool {
    is_locked(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_locked_files_of_the_folder_itself_are_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name);
        for name in ["a.iolab.partial", "left.iolab.partial", "b.iolab", "c.iolab.partial.1"] {
            std::fs::write(place(name), "x").expect("a file");
        }
        std::os::unix::fs::symlink(place("a.iolab.partial"), place("link.iolab.partial")).expect("a link");
        let held = File::open(place("a.iolab.partial")).expect("a file");
        held.lock().expect("a lock");
        let found = running(folder.path());
        assert_eq!(found, [RunningFile { name: "a.iolab".to_owned(), path: place("a.iolab.partial") }]);
        drop(held);
        assert!(running(folder.path()).is_empty());
        assert!(running(&place("nowhere")).is_empty());
    }
}
