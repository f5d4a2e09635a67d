//! Running the trials: each in a process of its own, one after the other, in the order of the design.
//!
//! A process of its own, so that no trial inherits memory, threads or open files of another; and a process group of its own, so that a terminal's SIGINT reaches
//! this program alone. It passes the signal on: the trial saves what it has and ends, then this program tears down and stops.

use std::fs::File;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, bail};
use iolab_clock::Clock;
use iolab_process::{INTERRUPTS, count_signals, kill};
use iolab_study::{Design, JobSource, Planned, Study};
use iolab_units::rounded_ns;

use super::folder::Folder;
use super::hooks;
use crate::exit::{FAILED, Failure, INTERRUPTED, MISTAKE, REFUSED};
use crate::recordings;

/// Runs what is missing. False when the user ended it.
pub(super) fn run(
    folder: &Folder,
    study: &Study,
    design: &Design,
    job: &str,
    allow_destroy: &[String],
) -> Result<bool, Failure> {
    folder.write_jobs(study, design, job)?;
    let missing: Vec<Planned> =
        design.trials.iter().copied().filter(|trial| folder.trial(study, *trial).is_none()).collect();
    count_signals();
    let clock = Clock::monotonic();
    let start_ns = clock.now_ns();
    for (done, trial) in missing.iter().enumerate() {
        let elapsed_ns = clock.now_ns().saturating_sub(start_ns);
        show_progress(design, *trial, done, missing.len(), elapsed_ns);
        wait_for_orphan(&folder.recording_of(*trial));
        if folder.trial(study, *trial).is_some() {
            continue;
        }
        if !run_one(folder, study, *trial, allow_destroy)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A study that was killed leaves its last trial running: it ends by itself, and counts.
fn wait_for_orphan(recording: &Path) {
    while recordings::is_being_recorded(recording) && !was_interrupted() {
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

fn show_progress(design: &Design, trial: Planned, done: usize, of: usize, elapsed_ns: u64) {
    let left = match done {
        0 => String::new(),
        done => format!(", about {} left", rounded_ns(elapsed_ns as f64 / done as f64 * (of - done) as f64)),
    };
    let name = design.configurations[trial.configuration].points.join(", ");
    let line = format!("[{}/{of}{left}] block {}: {name}", done + 1, trial.block + 1);
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{line}{}", if done + 1 == of { "\n" } else { "" });
    } else {
        eprintln!("{line}");
    }
}

/// One trial with what stands before and after it. False when the user ended it.
fn run_one(folder: &Folder, study: &Study, trial: Planned, allow_destroy: &[String]) -> Result<bool, Failure> {
    if was_interrupted() {
        return Ok(false);
    }
    shell("set_up", study.set_up.as_deref(), folder, trial)?;
    let ran = match study.job {
        JobSource::Command(_) => run_command(folder, trial),
        _ => run_job(folder, trial, allow_destroy),
    };
    // Whatever became of the trial, and before its failure is told.
    shell("tear_down", study.tear_down.as_deref(), folder, trial)?;
    ran
}

fn run_job(folder: &Folder, trial: Planned, allow_destroy: &[String]) -> Result<bool, Failure> {
    let job = folder.job_of(trial.configuration);
    let recording = folder.recording_of(trial);
    let log_path = recording.with_extension("log");
    let make_log = || File::create(&log_path).with_context(|| log_path.display().to_string());
    let log = make_log()?;
    let errors = log.try_clone().context("the log of a trial")?;
    let child = Command::new(std::env::current_exe().context("finding this program")?)
        .arg("run")
        .arg(&job)
        .arg(format!("--record={}", recording.display()))
        .arg("--eta=never")
        // It is listed as a trial of its study, not by itself.
        .arg("--no-db")
        .args(allow_destroy.iter().map(|path| format!("--allow-destroy={path}")))
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .process_group(0)
        .spawn()
        .context("starting a trial")?;
    let status = wait_for(child).context("waiting for a trial")?;
    match status.code() {
        _ if was_interrupted() => Ok(false),
        Some(code) if code == i32::from(INTERRUPTED) => Ok(false),
        Some(0) => Ok(true),
        // A worker failed: that is a fact about the trial, which its recording has.
        Some(code) if code == i32::from(FAILED) && recording.exists() => Ok(true),
        code => {
            let told = std::fs::read_to_string(&log_path).unwrap_or_default();
            let end = if status.code().is_some() { String::new() } else { format!(" ({status})") };
            let message = format!("iolab: the trial {} failed{end}:\n{told}", recording.display());
            let code = code.and_then(|code| u8::try_from(code).ok()).filter(|code| [MISTAKE, REFUSED].contains(code));
            Err(Failure { code: code.unwrap_or(FAILED), message })
        }
    }
}

/// One trial of a command. What it prints counts when it ended well: until then it has another name.
fn run_command(folder: &Folder, trial: Planned) -> Result<bool, Failure> {
    let printed = folder.printed_of(trial);
    let unfinished = printed.with_extension("unfinished");
    let log_path = printed.with_extension("log");
    let make = |path: &Path| File::create(path).with_context(|| path.display().to_string());
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
    let status = wait_for(child).context("waiting for a trial")?;
    if was_interrupted() {
        return Ok(false);
    }
    if !status.success() {
        let told = std::fs::read_to_string(&log_path).unwrap_or_default();
        let command = folder.command_of(trial.configuration);
        return Err(Failure::failed(format!("iolab: {} failed ({status}):\n{told}", command.display())));
    }
    std::fs::rename(&unfinished, &printed).with_context(|| printed.display().to_string())?;
    Ok(true)
}

/// Its number, signal(7).
const SIGINT: i32 = 2;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Waits, and passes interrupts on.
fn wait_for(mut child: Child) -> std::io::Result<ExitStatus> {
    let mut passed_on = 0;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        while passed_on < INTERRUPTS.load(Ordering::Relaxed) {
            kill(child.id() as i32, SIGINT);
            passed_on += 1;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

fn was_interrupted() -> bool {
    INTERRUPTS.load(Ordering::Relaxed) > 0
}

/// A command of the study, with the trial in its environment.
fn shell(what: &str, command: Option<&str>, folder: &Folder, trial: Planned) -> anyhow::Result<()> {
    let Some(command) = command else { return Ok(()) };
    let job = folder.job_of(trial.configuration);
    let status = Command::new("sh")
        .args(["-c", command])
        .env("IOLAB_BLOCK", trial.block.to_string())
        .env("IOLAB_CONFIGURATION", trial.configuration.to_string())
        .env("IOLAB_JOB", absolute(&job))
        .env("PATH", hooks::path()?)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("starting {what}"))?;
    if !status.success() && !was_interrupted() {
        bail!("{what} of block {}: '{command}': {status}", trial.block + 1);
    }
    Ok(())
}

fn absolute(path: &Path) -> std::path::PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
