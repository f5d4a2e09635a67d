//! A study's folder: what was asked, and what every trial measured.
//!
//! Its files are listed in [`study_files`].
//!
//! The process that runs trials holds a lock on study.json. A trial, or a step of preconditioning,
//! counts if its recording exists, whole and not interrupted; so a folder needs no list of
//! completed trials.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use iolab_activity::{Failure, FailureContext};
use iolab_archive::{outputs_beside, recordings, study_files};
use iolab_bounded_read::{FIO_REPORT, JOB_FILE, STUDY_FOLDER};
use iolab_outputs::{Output, OutputError, OutputKind, OutputPlace, make_private_folder};
use iolab_plan::Direction;
use iolab_recording::Recording;
use iolab_study::{
    Analysis, Design, Figure, JobSource, Measure, Preconditioning, Printed, Purge, Step, StepResult, Study, Trial,
    TrialId, TrialResults, preconditionings, with_settings, with_values,
};

use crate::place::cut_short;

/// Receives recordings as they are loaded.
type Seen<'a> = &'a mut dyn FnMut(TrialId, &mut Recording);

/// The folder of a study.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Creates the folder, or opens it if it belongs to exactly this study.
    ///
    /// # Errors
    /// The folder holds something else, or cannot be created.
    pub fn begin(path: &Path, study: &Study, job: &str) -> Result<Folder, Failure> {
        let folder = Folder(path.to_owned());
        let text = to_json(study);
        match iolab_bounded_read::read_text(&folder.study_file(), STUDY_FOLDER) {
            Ok(found) if found == text && folder.job().is_ok_and(|found| found == job) => return Ok(folder),
            Ok(_) => {
                return Err(Failure::mistake(format!(
                    "{} holds another study, or an older version of this one: name another folder with --folder, or remove this one",
                    path.display()
                )));
            }
            Err(_) => {}
        }
        let make = || -> Result<(), Failure> {
            if std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
                return Err(Failure::failed(format!(
                    "{} is not empty and is not the folder of a study: name another folder with --folder",
                    path.display()
                )));
            }
            for inner in study_files::folders() {
                make_private_folder(&path.join(inner))?;
            }
            write(&folder.job_file(), job)?;
            // Written last: it completes the folder.
            write(&folder.study_file(), &text)
        };
        make()?;
        Ok(folder)
    }

    /// Opens the folder of a study that has begun.
    ///
    /// # Errors
    /// There is no study in it.
    pub fn open(path: &Path) -> Result<(Folder, Study), Failure> {
        let folder = Folder(path.to_owned());
        let text = iolab_bounded_read::read_text(&folder.study_file(), STUDY_FOLDER).map_err(|error| {
            Failure::mistake(format!("{} is not the folder of a study: study.json: {error}", path.display()))
        })?;
        let study = iolab_deserialize::json(text.as_bytes())
            .map_err(|error| Failure::mistake(format!("{}: {error}", folder.study_file().display())))?;
        Ok((folder, study))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    fn study_file(&self) -> PathBuf {
        self.0.join(study_files::STUDY)
    }

    fn job_file(&self) -> PathBuf {
        self.0.join(study_files::JOB)
    }

    /// Excludes other runs of this study until the returned file is dropped.
    pub(crate) fn lock(&self) -> Result<File, Failure> {
        let file = iolab_bounded_read::open(&self.study_file()).context("opening study.json")?;
        match file.try_lock() {
            Err(std::fs::TryLockError::WouldBlock) => {
                Err(Failure::mistake(format!("another process is running the study of {}", self.0.display())))
            }
            // On a file system without locks, there is no exclusion.
            _ => Ok(file),
        }
    }

    /// Its job.
    pub(crate) fn job(&self) -> Result<String, Failure> {
        iolab_bounded_read::read_text(&self.job_file(), JOB_FILE).with_context(|| self.job_file().display().to_string())
    }

    /// Writes the job of each configuration.
    pub(crate) fn write_jobs(&self, study: &Study, design: &Design, job: &str) -> Result<(), Failure> {
        for (number, configuration) in design.configurations.iter().enumerate() {
            let (path, text) = match study.job {
                JobSource::Command(_) => (self.command_of(number), with_values(job, &configuration.settings)),
                _ => (self.job_of(number), with_settings(job, &configuration.settings).map_err(Failure::of)?),
            };
            write(&path, &text)?;
        }
        Ok(())
    }

    /// Job file of a configuration.
    pub(crate) fn job_of(&self, configuration: usize) -> PathBuf {
        self.0.join(study_files::JOBS).join(format!("c{configuration:03}.fio"))
    }

    /// Command of a configuration.
    pub(crate) fn command_of(&self, configuration: usize) -> PathBuf {
        self.job_of(configuration).with_extension("sh")
    }

    /// What the command of a trial printed.
    pub(crate) fn printed_of(&self, trial: TrialId) -> PathBuf {
        self.recording_of(&Step::Trial(trial)).with_extension("json")
    }

    /// Job file of a step; for a trial without a rate, that of its configuration.
    pub(crate) fn job_of_step(&self, step: &Step) -> PathBuf {
        match step {
            Step::Trial(trial) => match trial.level {
                None => self.job_of(trial.configuration),
                Some(level) => {
                    self.0.join(study_files::JOBS).join(format!("c{:03}-l{level:02}.fio", trial.configuration))
                }
            },
            _ => self.0.join(study_files::PRECONDITION).join(format!("{}.fio", step.name())),
        }
    }

    /// Recording of a step.
    pub(crate) fn recording_of(&self, step: &Step) -> PathBuf {
        let inner = if matches!(step, Step::Trial(_)) { study_files::TRIALS } else { study_files::PRECONDITION };
        self.0.join(inner).join(format!("{}.iolab", step.name()))
    }

    fn failure_of(&self, trial: TrialId) -> PathBuf {
        self.recording_of(&Step::Trial(trial)).with_extension(study_files::FAILED)
    }

    /// Saves why a trial could not begin. It counts as run, until the study goes on another time.
    pub(crate) fn keep_failure(&self, trial: TrialId, reason: &str) -> Result<(), Failure> {
        write(&self.failure_of(trial), reason)
    }

    /// The number of trials that could not begin.
    pub(crate) fn failures(&self, design: &Design) -> usize {
        design.trials.iter().filter(|trial| self.failure_of(**trial).exists()).count()
    }

    /// Makes trials missing again that could not begin.
    pub(crate) fn forget_failures(&self, design: &Design) -> Result<(), Failure> {
        for trial in &design.trials {
            let path = self.failure_of(*trial);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).with_context(|| path.display().to_string());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn purge_file(&self, step: &Step) -> PathBuf {
        self.recording_of(step).with_extension("json")
    }

    /// Saves the result of a purge.
    pub(crate) fn keep_purge(&self, step: &Step, purge: &Purge) -> Result<(), Failure> {
        let path = self.purge_file(step);
        write(&path, &to_json(purge))
    }

    /// Adds the result of a step, if it was completed.
    pub(crate) fn load(&self, study: &Study, step: &Step, results: &mut TrialResults) -> bool {
        self.load_seen(study, step, results, &mut |_, _| {})
    }

    fn load_seen(&self, study: &Study, step: &Step, results: &mut TrialResults, seen: Seen<'_>) -> bool {
        if let Step::Trial(planned) = step {
            // It may have been run again since it was damaged.
            results.damaged.retain(|(damaged, _)| damaged != planned);
            let trial = self.trial(study, *planned, seen).unwrap_or_else(|reason| {
                results.damaged.push((*planned, reason));
                None
            });
            let was_run = trial.is_some();
            results.trials.extend(trial);
            return was_run;
        }
        let done = study.precondition.as_ref().and_then(|how| self.precondition_result(how, step));
        let was_done = done.is_some();
        results.steps.extend(done.map(|done| (*step, done)));
        was_done
    }

    /// The result of a trial, if it was completed.
    ///
    /// # Errors
    /// Existing results cannot be read.
    fn trial(&self, study: &Study, planned: TrialId, seen: Seen<'_>) -> Result<Option<Trial>, String> {
        let step = Step::Trial(planned);
        if let Ok(reason) = iolab_bounded_read::read_text(&self.failure_of(planned), STUDY_FOLDER) {
            return Ok(Some(Trial::failed(planned, study, reason)));
        }
        if let JobSource::Command(_) = study.job {
            let path = self.printed_of(planned);
            if !path.exists() {
                return Ok(None);
            }
            let text = iolab_bounded_read::read_text(&path, FIO_REPORT).map_err(|error| damage(&step, &error))?;
            let printed = Printed::new(text);
            if let Some(error) = printed.is_no_document().filter(|_| !study.figures.iter().any(by_pattern)) {
                return Err(damage(&step, error));
            }
            return Ok(Some(Trial::of_command(planned, &study.figures, &printed)));
        }
        let path = self.recording_of(&step);
        if !path.exists() {
            return Ok(None);
        }
        let mut recording = recordings::load(&path).map_err(|error| damage(&step, &error.reason()))?.recording;
        if recording.interrupted || cut_short(study, &recording).is_some() {
            return Ok(None);
        }
        seen(planned, &mut recording);
        Ok(Some(Trial::new(planned, study, &recording)))
    }

    fn precondition_result(&self, how: &Preconditioning, step: &Step) -> Option<StepResult> {
        if let Step::Purge(_) = step {
            let purge = iolab_deserialize::json(
                iolab_bounded_read::read_text(&self.purge_file(step), STUDY_FOLDER).ok()?.as_bytes(),
            )
            .ok()?;
            return Some(StepResult { purge: Some(purge), ..StepResult::default() });
        }
        // A step that failed half-way has not brought the storage into a known state.
        let recording = self.whole(step).filter(|one| one.workers.iter().all(|worker| worker.outcome.errno() == 0))?;
        let written = recording.workers.iter().map(|worker| worker.directions[Direction::Write as usize].bytes);
        Some(StepResult {
            value: how.figure.of(&recording),
            written_bytes: written.fold(0, u64::saturating_add),
            purge: None,
        })
    }

    /// The recording of a step that was not interrupted.
    fn whole(&self, step: &Step) -> Option<Recording> {
        let recording = recordings::load(&self.recording_of(step)).ok()?.recording;
        (!recording.interrupted).then_some(recording)
    }

    /// All results so far.
    pub(crate) fn results(&self, study: &Study, design: &Design) -> TrialResults {
        self.results_seen(study, design, &mut |_, _| {})
    }

    /// All results so far; each recording is passed to `seen`.
    pub(crate) fn results_seen(&self, study: &Study, design: &Design, seen: Seen<'_>) -> TrialResults {
        let mut results = TrialResults::default();
        for trial in &design.trials {
            self.load_seen(study, &Step::Trial(*trial), &mut results, seen);
        }
        for before in preconditionings(study, design) {
            for step in [Step::Purge(before), Step::Fill(before), Step::Prepare(before)] {
                self.load(study, &step, &mut results);
            }
            let mut rounds = 0..;
            while rounds.next().is_some_and(|round| self.load(study, &Step::Round(before, round), &mut results)) {}
        }
        results
    }

    /// Saves the analysis.
    pub(crate) fn keep_analysis(&self, analysis: &Analysis) -> Result<(), Failure> {
        write(&self.0.join(study_files::ANALYSIS), &to_json(analysis))
    }
}

/// Why a trial with a recording does not count.
fn damage(step: &Step, error: &dyn std::fmt::Display) -> String {
    format!("its recording {} is damaged ({error}); the trial runs again when the study resumes", step.name())
}

/// Writes a file of a study's folder, all of which belongs to the program: a link placed there is
/// not followed.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    Ok(part(path)?.write(text.as_bytes())?)
}

/// Begins a file for a child's output: it has its name at once, so that it can be read during the
/// trial.
pub(crate) fn begin_part(path: &Path) -> Result<Output, Failure> {
    let mut output = part(path)?.begin()?;
    output.publish()?;
    Ok(output)
}

fn part(path: &Path) -> Result<OutputPlace, OutputError> {
    outputs_beside(false, []).place(path, OutputKind::StudyPart, "a file of the study")
}

/// Plain data as JSON for people and programs.
pub(crate) fn to_json(value: &impl serde::Serialize) -> String {
    // Plain data with string keys: serialisation has no way to fail.
    iolab_text::indented(&serde_json::to_string(value).unwrap_or_default())
}

/// Whether a figure is searched in text that need not be JSON.
fn by_pattern(figure: &Figure) -> bool {
    matches!(&figure.measure, Measure::Reported(reported) if !reported.pattern.is_empty())
}
