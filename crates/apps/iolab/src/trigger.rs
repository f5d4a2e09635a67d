//! The trigger of a run (`--trigger-file`, `--trigger-timeout`, `--trigger`): it ends all jobs and
//! runs a command.

use std::path::PathBuf;

use iolab_runner::{Event, RunObserver, Wish};

use crate::exit::ExitFailure;
use crate::run_options::RunOptions;

/// An observer that ends the run when the trigger fires; it passes events on to the one that shows
/// them.
pub(crate) struct Trigger<'a> {
    inner: &'a mut dyn RunObserver,
    file: Option<PathBuf>,
    timeout_ns: u64,
    has_fired: bool,
}

impl<'a> Trigger<'a> {
    /// Puts a trigger before `inner`.
    pub(crate) fn new(run: &RunOptions, inner: &'a mut dyn RunObserver) -> Trigger<'a> {
        Trigger {
            inner,
            file: run.trigger_file.as_ref().map(PathBuf::from),
            timeout_ns: run.trigger_timeout_ns.unwrap_or(u64::MAX),
            has_fired: false,
        }
    }

    /// Runs the command after the run, if the trigger has ended it.
    ///
    /// # Errors
    /// The command failed.
    pub(crate) fn finish(self, run: &RunOptions) -> Result<(), ExitFailure> {
        if !self.has_fired {
            return Ok(());
        }
        let Some(command) = &run.trigger else { return Ok(()) };
        let status = std::process::Command::new("/bin/sh").arg("-c").arg(command).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(ExitFailure::failed(format!("iolab: the trigger `{command}` ended with {status}"))),
            Err(error) => Err(ExitFailure::failed(format!("iolab: the trigger `{command}`: {error}"))),
        }
    }
}

impl RunObserver for Trigger<'_> {
    fn take(&mut self, event: &Event<'_>) -> Wish {
        if let Event::Progress(progress) = event
            && !self.has_fired
            && (progress.elapsed_ns >= self.timeout_ns || self.file.as_ref().is_some_and(|file| file.exists()))
        {
            self.has_fired = true;
            if let Some(file) = &self.file {
                // A file that stays would end the next run at once. Its owner may prevent its
                // removal.
                let _ = std::fs::remove_file(file);
            }
            self.inner.take(event);
            return Wish::End;
        }
        self.inner.take(event)
    }

    fn follows_intervals(&self) -> bool {
        self.inner.follows_intervals()
    }
}
