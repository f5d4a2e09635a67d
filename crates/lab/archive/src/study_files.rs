//! The files of a study's folder: their names, and which folders are studies.
//!
//! ```text
//! FOLDER/study.json            the study, as it was read
//!        base.fio              its job
//!        jobs/c003.fio         the job of configuration 3, which iolab or fio can run by itself
//!        trials/b02-c003.iolab the recording of its trial in block 2
//!        trials/b02-c003.log   what that trial said
//!        trials/b02-c003.failed why its set-up failed; tried again when the study goes on
//!        trials/b02-c003-l04.… the same of level 4 of its ladder
//!        precondition/         jobs, recordings and logs of what was done before trials
//!        analysis.json         what came out, made anew whenever trials are added
//! ```
//!
//! For a study of a command, base.fio is its text, jobs/c003.sh the command, and
//! trials/b02-c003.json its output.

use std::path::Path;

/// The study, as it was read. What makes a folder a study's.
pub const STUDY: &str = "study.json";
/// Its job.
pub const JOB: &str = "base.fio";
/// What came out.
pub const ANALYSIS: &str = "analysis.json";
/// What makes a folder a collection of studies.
pub const COLLECTION: &str = "collection.json";
/// The folder of the jobs of configurations.
pub const JOBS: &str = "jobs";
/// The folder of what trials recorded and said.
pub const TRIALS: &str = "trials";
/// The folder of what was done before trials.
pub const PRECONDITION: &str = "precondition";

/// The ending of the file that says why the set-up of a trial failed.
pub const FAILED: &str = "failed";

/// The folders of a study's folder, with the endings of the files within.
pub(crate) const FOLDERS: [(&str, &[&str]); 3] = [
    (JOBS, &["fio", "sh"]),
    (TRIALS, &["iolab", "log", "json", FAILED]),
    (PRECONDITION, &["iolab", "log", "json", "fio", "sh"]),
];

/// The names of those folders.
pub fn folders() -> impl Iterator<Item = &'static str> {
    FOLDERS.iter().map(|(name, _)| *name)
}

/// Whether a folder is that of a study.
pub fn is_study(folder: &Path) -> bool {
    folder.join(STUDY).exists()
}

/// Whether a folder is that of a collection of studies.
pub fn is_collection(folder: &Path) -> bool {
    folder.join(COLLECTION).exists()
}
