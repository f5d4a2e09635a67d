//! Runs that go on: their partial recordings, which they keep locked.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use iolab_order::Arrange;
use iolab_plan::Plan;
use iolab_recording::partial::GrowingRecording;

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
    found.arrange_by(|one, other| one.name.cmp(&other.name));
    found
}

/// Whether a run still appends to this file.
pub fn is_running(file: &File) -> bool {
    is_locked(file)
}

/// Leaves the processors of a run to its workers: uses others where there are some, and only what
/// is left of them otherwise. For a process that follows one run: its children would inherit that.
pub fn stay_away_from(plan: &Plan) {
    // Neither is worth a word if the system refuses it: the run is right in any case.
    let _ = iolab_process::set_nice(10);
    let of_workers = plan.workers.iter().filter_map(|worker| worker.process.cpus.as_ref());
    let taken: Vec<usize> = of_workers.flatten().copied().collect();
    let spare: Vec<usize> = iolab_process::cpus_allowed().into_iter().filter(|cpu| !taken.contains(cpu)).collect();
    if !taken.is_empty() && !spare.is_empty() {
        let _ = iolab_process::set_cpus(&spare);
    }
}

/// Most bytes read at once.
const MOST_BYTES: usize = 16 << 20;

/// Reads a partial recording while a run appends to it.
#[derive(Debug)]
pub struct RunReader {
    file: File,
    at_byte: u64,
    /// What has been read.
    pub growing: GrowingRecording,
    /// What is wrong with the file: nothing after it is read.
    pub trouble: Option<String>,
}

impl RunReader {
    /// A reader of the file at `path`; `None` if it cannot be opened.
    pub fn open(path: &Path) -> Option<RunReader> {
        let file = File::open(path).ok()?;
        Some(RunReader { file, at_byte: 0, growing: GrowingRecording::default(), trouble: None })
    }

    /// Whether a run still appends to the file.
    pub fn goes_on(&self) -> bool {
        is_running(&self.file)
    }

    /// Reads what is new. Returns whether that changes anything.
    pub fn read(&mut self) -> bool {
        let mut has_changed = false;
        while self.trouble.is_none() {
            let length = self.file.metadata().map_or(0, |metadata| metadata.len());
            let left = usize::try_from(length.saturating_sub(self.at_byte)).unwrap_or(MOST_BYTES).min(MOST_BYTES);
            let mut bytes = vec![0; left];
            if left == 0 || self.file.read_exact_at(&mut bytes, self.at_byte).is_err() {
                break;
            }
            self.at_byte += left as u64;
            match self.growing.feed(&bytes) {
                Ok(changed) => has_changed |= changed,
                Err(error) => self.trouble = Some(error.to_string()),
            }
        }
        has_changed || self.trouble.is_some()
    }
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
