//! Keeping the store small: which entries may go, what their files take, and deleting those files.
//!
//! A file is deleted only if iolab made it and nobody writes it: recordings, recognised by their
//! content, and the files of a study's folder, recognised by their names. Everything else stays,
//! and is named.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use iolab_activity::Failure;
use iolab_store::{DatabaseEntry, EntryKind};

use crate::recordings::is_locked;
use crate::{run_files, study_files};

/// Which entries may go: those that meet every condition that is set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Started before this time, ns since the Unix epoch. An entry whose start is not known stays.
    pub before_unix_ns: Option<u64>,
    /// Older than this number of entries of the same kind and title.
    pub keep_newest: Option<usize>,
    /// Its file no longer exists.
    pub is_missing: bool,
    /// Entries with tags or a note, which otherwise stay, may go, too.
    pub with_marked: bool,
}

impl Retention {
    /// Whether there is no condition: everything could go.
    pub fn is_empty(&self) -> bool {
        self.before_unix_ns.is_none() && self.keep_newest.is_none() && !self.is_missing
    }

    /// The entries that may go, of `entries` sorted newest first.
    pub fn expendable<'e>(&self, entries: &'e [DatabaseEntry]) -> Vec<&'e DatabaseEntry> {
        let mut newer: HashMap<(&str, &str), usize> = HashMap::new();
        let mut may_go = |entry: &'e DatabaseEntry| {
            let count = newer.entry((entry.kind.word(), &entry.title)).or_default();
            let is_newest = self.keep_newest.is_some_and(|keep| *count < keep);
            *count += 1;
            let is_old = |before| entry.started_unix_ns.is_some_and(|started| started < before);
            let is_marked = !entry.tags.is_empty() || !entry.note.is_empty();
            !is_newest
                && self.before_unix_ns.is_none_or(is_old)
                && (!self.is_missing || !Path::new(&entry.path).exists())
                && (self.with_marked || !is_marked)
        };
        entries.iter().filter(|entry| may_go(entry)).collect()
    }
}

/// What a file, or a folder with all in it, takes on disk, bytes; 0 if it does not exist. Links are
/// not followed.
pub fn disk_usage(path: &Path) -> u64 {
    let Ok(metadata) = path.symlink_metadata() else { return 0 };
    /// `st_blocks` counts these, whatever the file system's blocks are (stat(2)).
    const BLOCK: u64 = 512;
    let own = metadata.blocks() * BLOCK;
    match metadata.is_dir() {
        true => own + run_files::entries(path).unwrap_or_default().iter().map(|entry| disk_usage(entry)).sum::<u64>(),
        false => own,
    }
}

/// What became of the files of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deletion {
    /// What the deleted files took on disk, bytes.
    pub freed: u64,
    /// What was left, with the reason.
    pub left: Vec<(PathBuf, String)>,
}

/// Deletes the recording of a run, or what iolab keeps in the folder of a study. A report of fio
/// stays: iolab did not make it.
///
/// # Errors
/// Somebody writes it, or it cannot be deleted.
pub fn delete_files(entry: &DatabaseEntry) -> Result<Deletion, Failure> {
    let path = Path::new(&entry.path);
    let mut deletion = Deletion::default();
    if !path.exists() {
        return Ok(deletion);
    }
    match entry.kind {
        EntryKind::Fio => deletion.left.push((path.to_owned(), "iolab did not write it".to_owned())),
        EntryKind::Run if !path.is_file() || !run_files::is_recording(path)? => {
            deletion.left.push((path.to_owned(), "not a recording".to_owned()));
        }
        EntryKind::Run => {
            refuse_locked(path)?;
            delete(path, &mut deletion)?;
        }
        EntryKind::Study => {
            refuse_locked(&path.join(study_files::STUDY))?;
            delete_study(path, &mut deletion)?;
        }
    }
    Ok(deletion)
}

fn refuse_locked(path: &Path) -> Result<(), Failure> {
    match File::open(path) {
        Ok(file) if is_locked(&file) => {
            Err(Failure::mistake(format!("{}: still being written: wait until its run has ended", path.display())))
        }
        _ => Ok(()),
    }
}

fn delete(path: &Path, deletion: &mut Deletion) -> Result<(), Failure> {
    let size = disk_usage(path);
    std::fs::remove_file(path).map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
    deletion.freed += size;
    Ok(())
}

fn delete_study(folder: &Path, deletion: &mut Deletion) -> Result<(), Failure> {
    let is_own = |path: &Path, endings: &[&str]| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
            && ending.is_some_and(|own| endings.contains(&own))
    };
    for (name, endings) in study_files::FOLDERS {
        let within = folder.join(name);
        if !within.is_dir() {
            continue;
        }
        for path in run_files::entries(&within)? {
            match is_own(&path, endings) {
                true => delete(&path, deletion)?,
                false => deletion.left.push((path, "not a file of the study".to_owned())),
            }
        }
        // A folder with more in it stays.
        let _not_empty = std::fs::remove_dir(&within);
    }
    // What makes the folder a study's goes last, so that an interrupted deletion can be repeated.
    for name in [study_files::JOB, study_files::ANALYSIS, study_files::STUDY] {
        let path = folder.join(name);
        if path.is_file() {
            delete(&path, deletion)?;
        }
    }
    if std::fs::remove_dir(folder).is_err() {
        let within: Vec<PathBuf> = study_files::folders().map(|name| folder.join(name)).collect();
        let others = run_files::entries(folder)?.into_iter().filter(|path| !within.contains(path));
        deletion.left.extend(others.map(|path| (path, "not a file of the study".to_owned())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: i64, title: &str, started: Option<u64>) -> DatabaseEntry {
        DatabaseEntry {
            id,
            kind: EntryKind::Run,
            title: title.to_owned(),
            path: "/no such file".to_owned(),
            part: 0,
            parent: None,
            block: None,
            points: Vec::new(),
            started_unix_ns: started,
            elapsed_ns: None,
            tool: String::new(),
            hostname: None,
            kernel: None,
            cpu_model: None,
            job_text: String::new(),
            flaw: None,
            note: String::new(),
            analysis: None,
            tags: Vec::new(),
            options: Default::default(),
            figures: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn gone(retention: Retention, entries: &[DatabaseEntry]) -> Vec<i64> {
        retention.expendable(entries).iter().map(|entry| entry.id).collect()
    }

    #[test]
    fn an_entry_goes_if_it_meets_every_condition() {
        let mut entries = vec![
            entry(6, "a", Some(600)),
            entry(5, "a", Some(500)),
            entry(4, "b", Some(400)),
            entry(3, "a", Some(300)),
            entry(2, "a", Some(200)),
            entry(1, "b", None),
        ];
        entries[4].tags.push("base".to_owned());
        let before = Retention { before_unix_ns: Some(450), ..Retention::default() };
        assert_eq!(gone(before, &entries), [4, 3]);
        let newest = Retention { keep_newest: Some(1), ..Retention::default() };
        assert_eq!(gone(newest, &entries), [5, 3, 1]);
        assert_eq!(gone(Retention { keep_newest: Some(1), ..before }, &entries), [3]);
        assert_eq!(gone(Retention { with_marked: true, ..before }, &entries), [4, 3, 2]);
        let missing = Retention { is_missing: true, ..Retention::default() };
        assert_eq!(gone(missing, &entries), [6, 5, 4, 3, 1]);
        entries[0].path = "/".to_owned();
        assert_eq!(gone(missing, &entries), [5, 4, 3, 1]);
        assert!(Retention { with_marked: true, ..Retention::default() }.is_empty());
    }
}
