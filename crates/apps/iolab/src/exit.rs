//! Exit codes, and how a failure becomes one.

use std::process::ExitCode;

use iolab_activity::FailureKind;
use iolab_device_catalogue::CatalogueError;
use iolab_options::without_passwords;
use iolab_outputs::OutputError;

/// The user's mistake: bad option, bad job file, unreadable input.
pub(crate) const MISTAKE: u8 = FailureKind::Mistake.exit_code();
/// Refused, because something would have been destroyed.
pub(crate) const REFUSED: u8 = FailureKind::Refused.exit_code();
/// A condition of `--fail-if` holds.
pub(crate) const WORSE: u8 = 4;
/// A job, a device or the run itself failed.
pub(crate) const FAILED: u8 = FailureKind::Failed.exit_code();
/// The user ended the run.
pub(crate) const INTERRUPTED: u8 = FailureKind::Interrupted.exit_code();

/// A failure with its exit code. The message is complete: only the program's name precedes it.
#[derive(Debug)]
pub(crate) struct ExitFailure {
    pub(crate) code: u8,
    pub(crate) message: String,
}

impl ExitFailure {
    pub(crate) fn mistake(message: impl Into<String>) -> ExitFailure {
        ExitFailure { code: MISTAKE, message: message.into() }
    }

    pub(crate) fn refused(message: impl Into<String>) -> ExitFailure {
        ExitFailure { code: REFUSED, message: message.into() }
    }

    pub(crate) fn failed(message: impl Into<String>) -> ExitFailure {
        ExitFailure { code: FAILED, message: message.into() }
    }
}

impl From<anyhow::Error> for ExitFailure {
    fn from(error: anyhow::Error) -> ExitFailure {
        let code = match error.downcast_ref::<OutputError>() {
            Some(output) => code_of(output),
            None => FAILED,
        };
        ExitFailure { code, message: format!("iolab: {error:#}") }
    }
}

impl From<iolab_activity::Failure> for ExitFailure {
    fn from(failure: iolab_activity::Failure) -> ExitFailure {
        let message = if failure.is_report { failure.message } else { format!("iolab: {}", failure.message) };
        ExitFailure { code: failure.kind.exit_code(), message }
    }
}

impl From<CatalogueError> for ExitFailure {
    fn from(error: CatalogueError) -> ExitFailure {
        let code = if matches!(error, CatalogueError::Name(_)) { MISTAKE } else { FAILED };
        ExitFailure { code, message: format!("iolab: {error}") }
    }
}

impl From<OutputError> for ExitFailure {
    fn from(error: OutputError) -> ExitFailure {
        ExitFailure { code: code_of(&error), message: format!("iolab: {error}") }
    }
}

fn code_of(error: &OutputError) -> u8 {
    match (error.is_refusal(), error.is_mistake()) {
        (true, _) => REFUSED,
        (_, true) => MISTAKE,
        _ => FAILED,
    }
}

/// Prints a failure and turns a result into the program's exit code.
pub(crate) fn code(result: Result<u8, ExitFailure>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("{}", without_passwords(failure.message.trim_end()));
            ExitCode::from(failure.code)
        }
    }
}
