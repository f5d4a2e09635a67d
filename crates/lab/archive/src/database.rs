//! The database of runs and studies: its location, and what is added automatically.
//!
//! Keeping is a service, not a part of the run: an error of the database is only a warning. When
//! the program runs as fio, nothing is kept.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use iolab_activity::{Console, Failure, FailureKind, ProgressLine, ProgressUnit};
use iolab_bounded_read::STUDY_FOLDER;
use iolab_comparison::RunSummary;
use iolab_configuration::UserSetting;
use iolab_process::INTERRUPTS;
use iolab_recording::Recording;
use iolab_store::{Database, DatabaseError, EntryKind, NewEntry};
use iolab_study::JobSource;

use crate::run_files::{self, TrialFile};
use crate::{recordings, study_files};

/// The user's `database`, else `NAME.db` beside the folder of recordings. `None` if nothing must be
/// kept: `none`, or an empty `IOLAB_DB`.
///
/// # Errors
/// There is no folder for it.
pub fn path() -> Result<Option<PathBuf>, Failure> {
    if std::env::var_os("IOLAB_DB").is_some_and(|value| value.is_empty()) {
        return Ok(None);
    }
    match iolab_configuration::folder(UserSetting::Database) {
        Some(value) if value.as_os_str() == "none" => Ok(None),
        Some(value) => Ok(Some(value)),
        None => Ok(Some(recordings::folder()?.with_extension("db"))),
    }
}

/// The database, for a command that asks for it.
///
/// # Errors
/// There is none, or it cannot be opened.
pub fn open() -> Result<Database, Failure> {
    let path = path()?.ok_or_else(no_database)?;
    make_folder(&path)?;
    Database::open(&path).map_err(failure)
}

/// The database, for reading only: it may be in a read-only place.
///
/// # Errors
/// There is none, or it cannot be opened.
pub fn open_to_read() -> Result<Database, Failure> {
    let path = path()?.ok_or_else(no_database)?;
    match Database::open_to_read(&path).map_err(failure)? {
        Some(store) => Ok(store),
        None => open(),
    }
}

fn no_database() -> Failure {
    Failure::mistake(format!("{} turns the database off: set it to a file, or remove it", turned_off_by()))
}

/// What turned the database off.
pub fn turned_off_by() -> String {
    let configured = iolab_configuration::value(UserSetting::Database);
    configured.map_or("IOLAB_DB".to_owned(), |(_, origin)| origin.to_string())
}

/// The files that a database is made of.
pub fn parts(path: &Path) -> Vec<PathBuf> {
    let with = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    ["", "-wal", "-shm", "-journal"].map(with).into()
}

fn make_folder(path: &Path) -> Result<(), Failure> {
    match path.parent() {
        Some(folder) => Ok(iolab_outputs::make_private_folder(folder)?),
        None => Ok(()),
    }
}

/// The database's errors that the user can fix become the user's mistakes.
pub fn failure(error: DatabaseError) -> Failure {
    let message = format!("{error}");
    match error {
        DatabaseError::Sqlite { .. } | DatabaseError::Busy { .. } => Failure::failed(message),
        _ => Failure::mistake(message),
    }
}

/// Lists a run that has been recorded.
pub fn keep_run(recording_path: &Path, recording: &Recording, console: &dyn Console) {
    // The content of a pipe or a device cannot be found again.
    if recording_path.is_file() {
        keep_with(console, |store| {
            store.add(&of_recording(recording_path, recording)).map_err(failure)?;
            Ok(())
        });
    }
}

/// Lists a study with all its trials so far.
pub fn keep_study(folder: &Path, console: &dyn Console) {
    keep_with(console, |store| add_study(store, folder).map(|_| ()));
}

fn keep_with(console: &dyn Console, work: impl FnOnce(&mut Database) -> Result<(), Failure>) {
    if matches!(path(), Ok(None)) {
        return;
    }
    if let Err(failure) = open().and_then(|mut store| work(&mut store)) {
        let reason = failure.message;
        console.note(&format!("warning: not listed in the database: {reason}"));
    }
}

/// Adds everything at a path; returns the number of new entries.
///
/// # Errors
/// The path cannot be read or added.
pub fn import(store: &mut Database, path: &Path, console: &dyn Console) -> Result<usize, Failure> {
    let mut progress =
        ProgressLine::new(console, format!("importing {}", path.display()), ProgressUnit::Things("files"), None);
    let mut seen = 0;
    let mut go_on = || {
        seen += 1;
        progress.at(seen);
        INTERRUPTS.load(Ordering::Relaxed) == 0
    };
    import_told(store, path, &mut go_on)
}

fn import_told(store: &mut Database, path: &Path, go_on: &mut dyn FnMut() -> bool) -> Result<usize, Failure> {
    if !go_on() {
        let text = format!(
            "interrupted at {}: everything before it was imported; run the same command again to \
            continue",
            path.display()
        );
        return Err(Failure { kind: FailureKind::Interrupted, ..Failure::failed(text) });
    }
    if !path.is_dir() {
        let entries = of_file(path)?;
        for entry in &entries {
            store.add(entry).map_err(failure)?;
        }
        return Ok(entries.len());
    }
    if study_files::is_study(path) {
        return add_study(store, path);
    }
    let mut added = 0;
    for entry in run_files::entries(path)? {
        let is_file = entry.extension().is_some_and(|extension| extension == "iolab" || extension == "json");
        if is_file || study_files::is_study(&entry) {
            added += import_told(store, &entry, go_on)?;
        }
    }
    Ok(added)
}

/// The entries of a recording or of reports of fio.
fn of_file(path: &Path) -> Result<Vec<NewEntry>, Failure> {
    if run_files::is_recording(path)? {
        let loaded = recordings::load(path)?;
        return Ok(vec![of_recording(path, &loaded.recording)]);
    }
    let summaries = run_files::summaries(path, false)?;
    let entry = |(part, summary): (usize, RunSummary)| NewEntry {
        part: u32::try_from(part).unwrap_or(u32::MAX),
        ..NewEntry::of_run(EntryKind::Fio, absolute(path), summary)
    };
    Ok(summaries.into_iter().enumerate().map(entry).collect())
}

fn of_recording(path: &Path, recording: &Recording) -> NewEntry {
    let path = absolute(path);
    let summary = RunSummary::of_recording(&path, recording, false);
    let sources = recording.plan.sources.iter().map(|source| format!("# {}\n{}", source.name, source.text.trim_end()));
    NewEntry { job_text: sources.collect::<Vec<_>>().join("\n"), ..NewEntry::of_run(EntryKind::Run, path, summary) }
}

fn add_study(store: &mut Database, folder: &Path) -> Result<usize, Failure> {
    let (study, files) = run_files::study(folder)?;
    let is_command = matches!(study.job, JobSource::Command(_));
    let text = |name: &str| iolab_bounded_read::read_text(&folder.join(name), STUDY_FOLDER).ok();
    let mut trials = Vec::new();
    for TrialFile { path, block, points } in files {
        let entry = match is_command {
            true => NewEntry::of_run(EntryKind::Run, absolute(&path), run_files::printed(&path, &study)?),
            false => match of_file(&path)?.pop() {
                Some(entry) => entry,
                None => continue,
            },
        };
        trials.push(NewEntry { block: Some(block), points, ..entry });
    }
    let first = trials.iter().min_by_key(|trial| trial.summary.started_unix_ns.unwrap_or(u64::MAX));
    let facts = first.map(|trial| trial.summary.clone()).unwrap_or_default();
    let end = |trial: &NewEntry| Some(trial.summary.started_unix_ns?.saturating_add(trial.summary.elapsed_ns?));
    let elapsed_ns = trials.iter().filter_map(end).max().zip(facts.started_unix_ns).map(|(end, start)| end - start);
    let summary = RunSummary {
        elapsed_ns,
        jobs: Vec::new(),
        findings: Vec::new(),
        flaw: None,
        of_the_run: Default::default(),
        ..facts
    };
    let parent = store.add(&NewEntry {
        title: study.title.clone(),
        job_text: text(study_files::JOB).unwrap_or_default(),
        analysis: text(study_files::ANALYSIS),
        ..NewEntry::of_run(EntryKind::Study, absolute(folder), summary)
    });
    let parent = parent.map_err(failure)?;
    for trial in &mut trials {
        trial.parent = Some(parent);
        store.add(trial).map_err(failure)?;
    }
    Ok(1 + trials.len())
}

/// Paths are absolute, so that entries are found from any folder.
fn absolute(path: &Path) -> String {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}
