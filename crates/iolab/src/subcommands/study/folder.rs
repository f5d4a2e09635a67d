//! A study's folder: what was asked, and what every trial measured.
//!
//! ```text
//! FOLDER/study.json            the study, as it was read
//!        base.fio              its job
//!        jobs/c003.fio         the job of configuration 3, which iolab or fio can run by itself
//!        trials/b02-c003.iolab the recording of its trial in block 2
//!        trials/b02-c003.log   what that trial said
//!        analysis.json         what came out, made anew whenever trials are added
//! ```
//!
//! Of a study of a command, base.fio is its text, jobs/c003.sh what is run and trials/b02-c003.json what that printed.
//!
//! Whoever runs trials holds a lock on study.json. A trial counts when its recording is there, whole and not interrupted; so a folder needs no list of what is done.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use iolab_study::{Analysis, Design, JobSource, Planned, Study, Trial, with_settings, with_values};

use crate::exit::Failure;
use crate::recordings;

/// The folder of a study.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes the folder, or opens it when it is of this very study.
    pub(super) fn begin(path: &Path, study: &Study, job: &str) -> Result<Folder, Failure> {
        let folder = Folder(path.to_owned());
        let text = to_json(study);
        match std::fs::read_to_string(folder.study_file()) {
            Ok(found) if found == text && folder.job().is_ok_and(|found| found == job) => return Ok(folder),
            Ok(_) => {
                return Err(Failure::mistake(format!(
                    "iolab: {} holds another study, or an older form of this one: name another folder with --folder, or remove that one",
                    path.display()
                )));
            }
            Err(_) => {}
        }
        let make = || -> anyhow::Result<()> {
            if std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
                bail!("{} is not empty and not of a study: name another folder with --folder", path.display());
            }
            for inner in ["jobs", "trials"] {
                let inner = path.join(inner);
                std::fs::create_dir_all(&inner).with_context(|| format!("making {}", inner.display()))?;
            }
            std::fs::write(folder.job_file(), job).with_context(|| folder.job_file().display().to_string())?;
            // Last: with it, the folder is whole.
            std::fs::write(folder.study_file(), &text).with_context(|| folder.study_file().display().to_string())
        };
        make()?;
        Ok(folder)
    }

    /// Opens the folder of a study that has begun.
    pub(super) fn open(path: &Path) -> Result<(Folder, Study), Failure> {
        let folder = Folder(path.to_owned());
        let text = std::fs::read_to_string(folder.study_file()).map_err(|error| {
            Failure::mistake(format!("iolab: {} is not the folder of a study: study.json: {error}", path.display()))
        })?;
        let study = serde_json::from_str(&text)
            .map_err(|error| Failure::mistake(format!("iolab: {}: {error}", folder.study_file().display())))?;
        Ok((folder, study))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    fn study_file(&self) -> PathBuf {
        self.0.join("study.json")
    }

    fn job_file(&self) -> PathBuf {
        self.0.join("base.fio")
    }

    /// Keeps other runs of this study out until what is returned is dropped.
    pub(super) fn lock(&self) -> Result<File, Failure> {
        let file = File::open(self.study_file()).context("opening study.json")?;
        match file.try_lock() {
            Err(std::fs::TryLockError::WouldBlock) => {
                Err(Failure::mistake(format!("iolab: another process is running the study of {}", self.0.display())))
            }
            // A file system without locks does without.
            _ => Ok(file),
        }
    }

    /// Its job.
    pub(super) fn job(&self) -> anyhow::Result<String> {
        std::fs::read_to_string(self.job_file()).with_context(|| self.job_file().display().to_string())
    }

    /// Writes the job of each configuration.
    pub(super) fn write_jobs(&self, study: &Study, design: &Design, job: &str) -> anyhow::Result<()> {
        for (number, configuration) in design.configurations.iter().enumerate() {
            let (path, text) = match study.job {
                JobSource::Command(_) => (self.command_of(number), with_values(job, &configuration.settings)),
                _ => (self.job_of(number), with_settings(job, &configuration.settings)),
            };
            std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    /// Job file of a configuration.
    pub(super) fn job_of(&self, configuration: usize) -> PathBuf {
        self.0.join("jobs").join(format!("c{configuration:03}.fio"))
    }

    /// Command of a configuration.
    pub(super) fn command_of(&self, configuration: usize) -> PathBuf {
        self.job_of(configuration).with_extension("sh")
    }

    /// What the command of a trial printed.
    pub(super) fn printed_of(&self, trial: Planned) -> PathBuf {
        self.recording_of(trial).with_extension("json")
    }

    /// Recording of a trial.
    pub(super) fn recording_of(&self, trial: Planned) -> PathBuf {
        self.0.join("trials").join(format!("b{:02}-c{:03}.iolab", trial.block, trial.configuration))
    }

    /// What a trial measured, if it was run to its end.
    pub(super) fn trial(&self, study: &Study, trial: Planned) -> Option<Trial> {
        if let JobSource::Command(_) = study.job {
            let text = std::fs::read_to_string(self.printed_of(trial)).ok()?;
            let printed = serde_json::from_str(&text).ok()?;
            return Some(Trial::of_command(trial.block, trial.configuration, &study.figures, &printed));
        }
        let recording = recordings::load(&self.recording_of(trial)).ok()?.recording;
        (!recording.interrupted).then(|| Trial::new(trial.block, trial.configuration, &study.figures, &recording))
    }

    /// All trials so far.
    pub(super) fn trials(&self, study: &Study, design: &Design) -> Result<Vec<Trial>, Failure> {
        Ok(design.trials.iter().filter_map(|trial| self.trial(study, *trial)).collect())
    }

    /// Keeps what came out.
    pub(super) fn keep_analysis(&self, analysis: &Analysis) -> anyhow::Result<()> {
        let path = self.0.join("analysis.json");
        std::fs::write(&path, to_json(analysis)).with_context(|| path.display().to_string())
    }
}

/// Plain data as JSON for people and programs.
pub(super) fn to_json(value: &impl serde::Serialize) -> String {
    // Plain data with string keys: serialisation has no way to fail.
    serde_json::to_string_pretty(value).unwrap_or_default()
}
