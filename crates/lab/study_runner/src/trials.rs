//! Runs the trials: each in its own process, one after the other, in the order of the design.
//!
//! A separate process inherits no memory, threads or open files of another trial. A separate
//! process group ensures that a terminal's SIGINT reaches only this program. It forwards the
//! signal: the trial saves its data and ends, then this program tears down and stops.

use std::fs::{File, TryLockError};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use iolab_activity::{Console, Failure, FailureContext, FailureKind, ProgressLine as Shown, ProgressUnit};
use iolab_archive::recordings;
use iolab_bounded_read::LOG;
use iolab_clock::Clock;
use iolab_plan::Direction;
use iolab_process::{INTERRUPTS, kill};
use iolab_runner::Engines;
use iolab_study::{Before, Design, JobSetting, JobSource, Step, Study, TrialId, TrialResults, next, with_settings};

use crate::cost::Cost;
use crate::folder::Folder;
use crate::place::{Place, cut_short, environment};
use crate::preconditioning::Target;
use crate::progress::Progress;
use crate::{folder, hooks, preconditioning};

/// A running study.
pub(crate) struct Running<'s> {
    pub(crate) folder: &'s Folder,
    pub(crate) study: &'s Study,
    pub(crate) design: &'s Design,
    /// Text of the study's job.
    pub(crate) job: &'s str,
    pub(crate) cost: &'s Cost,
    pub(crate) place: &'s Place<'s>,
    pub(crate) engines: Engines,
    pub(crate) console: &'s dyn Console,
}

impl Running<'_> {
    /// Runs the missing trials. False if the user ended it.
    pub(crate) fn run(&self) -> Result<bool, Failure> {
        self.folder.write_jobs(self.study, self.design, self.job)?;
        let mut results = self.folder.results(self.study, self.design);
        let mut progress = Progress::new(self.study, self.design, self.cost.times_ns(), &results);
        let clock = Clock::monotonic();
        while let Some(step) = next(self.study, self.design, &results) {
            progress.show(&step, &results, self.console);
            wait_for_orphan(&self.folder.recording_of(&step).with_extension("log"));
            let begun_ns = clock.now_ns();
            // The trial of a killed run may just have ended.
            let is_there = self.folder.load(self.study, &step, &mut results);
            if !is_there && (was_interrupted() || !self.run_one(&step, &results)?) {
                return Ok(false);
            }
            if !is_there && !self.folder.load(self.study, &step, &mut results) {
                return Err(self.nothing_came_of(&step));
            }
            if let (Step::Trial(trial), false) = (&step, is_there) {
                progress.took(*trial, clock.now_ns().saturating_sub(begun_ns));
            }
        }
        Ok(true)
    }

    /// Runs one step with its set-up and tear-down. False if the user ended it.
    fn run_one(&self, step: &Step, results: &TrialResults) -> Result<bool, Failure> {
        match step {
            Step::Trial(trial) => self.run_trial(step, *trial, results),
            Step::Purge(before) => {
                let targets = self.targets(before);
                self.write_job(step, &preconditioning::purge_job(&targets))?;
                if !targets.is_empty() && !self.run_job(step)? {
                    return Ok(false);
                }
                let recording = recordings::load(&self.folder.recording_of(step)).ok().map(|loaded| loaded.recording);
                let purge = recording.map(|recording| preconditioning::purged(&targets, &recording));
                self.folder.keep_purge(step, &purge.unwrap_or_default())?;
                Ok(true)
            }
            Step::Fill(before) => {
                let targets = self.targets(before);
                self.write_job(step, &preconditioning::fill_job(&targets))?;
                let (bytes, has_devices) = preconditioning::fill_bytes(&targets);
                let total = (!has_devices).then_some(bytes);
                let mut progress = Shown::new(self.console, "precondition: fill", ProgressUnit::Bytes, total);
                let recording = self.folder.recording_of(step);
                run_job(self.folder, step, self.place, &mut || progress.at(written(&recording)))
            }
            Step::Prepare(_) => {
                self.write_job(step, self.own_job().unwrap_or_default())?;
                self.run_job(step)
            }
            Step::Round(before, _) => {
                let configuration = &self.design.configurations[before.configuration.unwrap_or(0)];
                let load = match self.own_job() {
                    Some(own) => own.to_owned(),
                    None => with_settings(self.job, &configuration.settings).map_err(Failure::of)?,
                };
                let round = self.study.precondition.as_ref().map(|how| how.round.clone()).unwrap_or_default();
                let setting = |option: &str, value: String| JobSetting { option: option.to_owned(), value };
                let length = [setting("runtime", round), setting("time_based", "1".to_owned())];
                self.write_job(step, &with_settings(&load, &length).map_err(Failure::of)?)?;
                self.run_job(step)
            }
        }
    }

    /// Runs a trial between its set-up and its tear-down. False if the user ended it.
    fn run_trial(&self, step: &Step, trial: TrialId, results: &TrialResults) -> Result<bool, Failure> {
        self.write_level(trial, results)?;
        let failed = self.shell("set_up", self.study.set_up.as_deref(), trial)?;
        let ran = match self.study.job {
            _ if failed.is_some() => Ok(true),
            JobSource::Command(_) => run_command(self.folder, trial),
            _ => self.run_job(step),
        };
        // In any case, and before a failure of the trial is reported.
        let left = self.shell("tear_down", self.study.tear_down.as_deref(), trial)?;
        match (failed, left) {
            // A tear-down may fail only because there was nothing to undo.
            (Some(status), _) => self.go_on_without(trial, status, results).map(|()| true),
            (None, Some(status)) => Err(self.of_command("tear_down", self.study.tear_down.as_deref(), trial, status)),
            (None, None) => ran,
        }
    }

    /// A set-up that fails is a fact about the trial, and others can be run. If none could until
    /// every configuration has been tried, the command itself is wrong.
    fn go_on_without(&self, trial: TrialId, status: ExitStatus, results: &TrialResults) -> Result<(), Failure> {
        let failure = self.of_command("set_up", self.study.set_up.as_deref(), trial, status);
        self.folder.keep_failure(trial, &format!("set_up failed ({status})"))?;
        let has_run = results.trials.iter().any(|trial| trial.flaw.is_none());
        if !has_run && results.trials.len() + 1 >= self.design.configurations.len() {
            return Err(failure);
        }
        let name = self.design.name_of(self.study, trial);
        self.console
            .note(&format!("warning: {name}: {}\nthis trial is excluded, and the study goes on", failure.message));
        Ok(())
    }

    /// The targets of the trials that a preconditioning is for.
    fn targets(&self, before: &Before) -> Vec<Target> {
        match before.configuration {
            Some(number) => preconditioning::targets(self.engines, &self.cost.plans()[number..=number]),
            None => preconditioning::targets(self.engines, self.cost.plans()),
        }
    }

    /// The preconditioning job of the user.
    fn own_job(&self) -> Option<&str> {
        match self.study.precondition.as_ref()?.job.as_ref()? {
            JobSource::Text(text) | JobSource::File(text) | JobSource::Command(text) => Some(text),
        }
    }

    /// The job of a level: its rates follow from the closed loop.
    fn write_level(&self, trial: TrialId, results: &TrialResults) -> Result<(), Failure> {
        let (Some(level), Some(ladder)) = (trial.level, &self.study.ladder) else { return Ok(()) };
        let closed_loop = results.closed_loop(trial.configuration);
        let rates = closed_loop.and_then(|first| ladder.settings(level, first));
        let none = || Failure::failed("a ladder level has no closed-loop run before it");
        let rates = rates.ok_or_else(none)?;
        let configuration = &self.design.configurations[trial.configuration];
        let text = with_settings(self.job, &configuration.settings).and_then(|text| with_settings(&text, &rates));
        let text = text.map_err(Failure::of)?;
        self.write_job(&Step::Trial(trial), &text)
    }

    fn write_job(&self, step: &Step, text: &str) -> Result<(), Failure> {
        let path = self.folder.job_of_step(step);
        folder::write(&path, text)
    }

    fn nothing_came_of(&self, step: &Step) -> Failure {
        let recording = self.folder.recording_of(step);
        let log = recording.with_extension("log");
        let kept = recordings::load(&recording).ok().map(|loaded| loaded.recording);
        if let Some(why) = kept.and_then(|kept| cut_short(self.study, &kept)) {
            let (name, kept, folder) = (step.name(), recording.display(), self.folder.path().display());
            return Failure::failed(format!(
                "{name} was cut short: {why}\nwhat was measured is in {kept}, which does not count; go on with: iolab study resume {folder}"
            ));
        }
        let told = iolab_bounded_read::read_text(&log, LOG).unwrap_or_default();
        let what = if matches!(step, Step::Trial(_)) { "the trial" } else { "the preconditioning" };
        Failure::failed(format!("{what} {} failed:\n{told}", step.name()))
    }

    fn run_job(&self, step: &Step) -> Result<bool, Failure> {
        run_job(self.folder, step, self.place, &mut || {})
    }

    /// Runs a command of the study, with the trial in its environment, in its own process group: a
    /// terminal's SIGINT does not end the cleanup. Returns how it ended, if it failed.
    fn shell(&self, what: &str, command: Option<&str>, trial: TrialId) -> Result<Option<ExitStatus>, Failure> {
        let Some(command) = command else { return Ok(None) };
        let job = self.folder.job_of_step(&Step::Trial(trial));
        let status = Command::new("sh")
            .args(["-c", command])
            .env("IOLAB_BLOCK", trial.block.to_string())
            .env("IOLAB_CONFIGURATION", trial.configuration.to_string())
            .env("IOLAB_JOB", absolute(&job))
            .env("PATH", hooks::path()?)
            .envs(environment(self.study))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0)
            .status()
            .with_context(|| format!("starting {what}"))?;
        Ok((!status.success() && !was_interrupted()).then_some(status))
    }

    fn of_command(&self, what: &str, command: Option<&str>, trial: TrialId, status: ExitStatus) -> Failure {
        let (block, begin) = (trial.block + 1, hooks::beginning(command.unwrap_or_default()));
        Failure::failed(format!("{what} of block {block} failed ({status}):\n{begin}"))
    }
}

/// Waits for the last trial of a killed study: it ends by itself, and counts.
///
/// It is recognised by its log, which is locked before it starts, and which it holds open until it
/// ends.
fn wait_for_orphan(log: &Path) {
    let Ok(log) = File::open(log) else { return };
    while matches!(log.try_lock_shared(), Err(TryLockError::WouldBlock)) && !was_interrupted() {
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// Bytes that a run has written so far, according to its partial recording.
fn written(recording: &Path) -> u64 {
    let mut partial = recording.as_os_str().to_owned();
    partial.push(".partial");
    let Ok(loaded) = recordings::load(Path::new(&partial)) else { return 0 };
    let write = Direction::Write.index();
    let of_worker = |worker: &iolab_recording::WorkerRecording| worker.directions[write].bytes;
    loaded.recording.workers.iter().map(of_worker).fold(0, u64::saturating_add)
}

/// Runs a job where the study has its trials; `look` is called about once a second meanwhile.
fn run_job(folder: &Folder, step: &Step, place: &Place<'_>, look: &mut dyn FnMut()) -> Result<bool, Failure> {
    let job = folder.job_of_step(step);
    let recording = folder.recording_of(step);
    let log_path = recording.with_extension("log");
    let log = folder::begin_part(&log_path)?;
    let log = log.as_file().try_clone().context("the log of a trial")?;
    let errors = log.try_clone().context("the log of a trial")?;
    // On a file system without locks, the log is not locked: see wait_for_orphan.
    let _ = log.try_lock();
    let child = place
        .command()?
        .arg(place.path(&job))
        .arg(format!("--record={}", place.path(&recording).display()))
        .arg("--eta=never")
        // It is listed as a trial of its study, not separately.
        .arg("--no-db")
        .args(place.permissions())
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .process_group(0)
        .spawn()
        .context("starting a trial")?;
    let status = wait_for(child, look).context("waiting for a trial")?;
    match status.code() {
        _ if was_interrupted() => Ok(false),
        Some(code) if code == i32::from(FailureKind::Interrupted.exit_code()) => Ok(false),
        Some(0) => Ok(true),
        // A failed worker is a fact about the trial, which its recording contains.
        Some(code) if code == i32::from(FailureKind::Failed.exit_code()) && recording.exists() => Ok(true),
        code => {
            let told = iolab_bounded_read::read_text(&log_path, LOG).unwrap_or_default();
            let end = if status.code().is_some() { String::new() } else { format!(" ({status})") };
            let message = format!("the trial {} failed{end}:\n{told}", recording.display());
            let kind = code.and_then(FailureKind::of_exit_code).unwrap_or(FailureKind::Failed);
            Err(Failure { kind, ..Failure::failed(message) })
        }
    }
}

/// Runs one trial of a command. Its output counts if it ended successfully: until then it has
/// another name.
fn run_command(folder: &Folder, trial: TrialId) -> Result<bool, Failure> {
    let printed = folder.printed_of(trial);
    let unfinished = printed.with_extension("unfinished");
    let log_path = printed.with_extension("log");
    let make = |path: &Path| -> Result<File, Failure> { Ok(folder::begin_part(path)?.as_file().try_clone()?) };
    let child = Command::new("sh")
        .arg("-e")
        .arg(folder.command_of(trial.configuration))
        .env("PATH", hooks::path()?)
        .env("IOLAB_BLOCK", trial.block.to_string())
        .env("IOLAB_CONFIGURATION", trial.configuration.to_string())
        .stdin(Stdio::null())
        .stdout(make(&unfinished)?)
        .stderr(make(&log_path)?)
        .process_group(0)
        .spawn()
        .context("starting a trial")?;
    let status = wait_for(child, &mut || {}).context("waiting for a trial")?;
    if was_interrupted() {
        return Ok(false);
    }
    if !status.success() {
        let told = iolab_bounded_read::read_text(&log_path, LOG).unwrap_or_default();
        let command = folder.command_of(trial.configuration);
        return Err(Failure::failed(format!("{} failed ({status}):\n{told}", command.display())));
    }
    std::fs::rename(&unfinished, &printed).with_context(|| printed.display().to_string())?;
    Ok(true)
}

/// Its number, signal(7).
const SIGINT: i32 = 2;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
/// Samples of this process for each one of another program.
const LOOKS: u32 = 100;

/// Waits, and forwards interrupts; `look` is called about once a second.
fn wait_for(mut child: Child, look: &mut dyn FnMut()) -> std::io::Result<ExitStatus> {
    let (mut passed_on, mut looks) = (0, 0_u32);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        while passed_on < INTERRUPTS.load(Ordering::Relaxed) {
            kill(child.id() as i32, SIGINT);
            passed_on += 1;
        }
        std::thread::sleep(BETWEEN_LOOKS);
        looks += 1;
        if looks.is_multiple_of(LOOKS) {
            look();
        }
    }
}

fn was_interrupted() -> bool {
    INTERRUPTS.load(Ordering::Relaxed) > 0
}

fn absolute(path: &Path) -> std::path::PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
