//! The commands around all trials: their effects exist for every trial, and are undone in any case.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use iolab_activity::{Failure, FailureContext};
use iolab_study::Study;

use crate::place::environment;

/// Does `work` between the study's `before_all` and `after_all`.
///
/// # Errors
/// Those of `work`; otherwise of the commands. `after_all` also runs if `before_all` failed
/// half-way.
pub(crate) fn around<T>(study: &Study, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let done = match shell("before_all", study.before_all.as_deref(), study) {
        Ok(()) => work(),
        Err(error) => Err(error),
    };
    let undone = shell("after_all", study.after_all.as_deref(), study);
    let done = done?;
    undone?;
    Ok(done)
}

/// Whether a command succeeds by which a point of an axis asks for what it needs.
pub(crate) fn is_met(needs: &str) -> bool {
    let Ok(path) = path() else { return false };
    let asked = Command::new("sh")
        .args(["-c", needs])
        .env("PATH", path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

/// Runs a command in its own process group: a terminal's SIGINT ends trials, not the cleanup.
fn shell(what: &str, command: Option<&str>, study: &Study) -> Result<(), Failure> {
    let Some(command) = command else { return Ok(()) };
    let status = Command::new("sh")
        .args(["-e", "-c", command])
        .env("PATH", path()?)
        .envs(environment(study))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .process_group(0)
        .status()
        .with_context(|| format!("starting {what}"))?;
    if !status.success() {
        return Err(Failure::failed(format!("{what} of the study failed ({status}):\n{}", beginning(command))));
    }
    Ok(())
}

/// The first lines of a command, to recognise it by.
pub(crate) fn beginning(command: &str) -> String {
    let lines: Vec<&str> = command.trim().lines().collect();
    match lines.len() {
        0..=LINES_SHOWN => lines.join("\n"),
        all => format!("{}\n… ({all} lines)", lines[..LINES_SHOWN].join("\n")),
    }
}

const LINES_SHOWN: usize = 5;

/// The search path of a study's commands: `iolab` refers to this program.
pub(crate) fn path() -> Result<String, Failure> {
    let program = std::env::current_exe().context("finding this program")?;
    let beside = program.parent().unwrap_or(Path::new("/")).display().to_string();
    Ok(format!("{beside}:{}", std::env::var("PATH").unwrap_or_default()))
}
