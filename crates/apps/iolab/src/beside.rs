//! `--beside`: a program that runs at most as long as the run does.
//!
//! The program starts after all checks, in its own process group. It is asked to end when the run
//! ends, whatever the result of the run is.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::exit::ExitFailure;

/// How long the program may take to end after it was asked to, ns.
const PATIENCE_NS: u64 = 5_000_000_000;

/// The program that runs beside the job.
#[derive(Debug)]
pub(crate) struct Beside {
    command: String,
    child: Child,
}

impl Beside {
    /// Starts a shell command line.
    pub(crate) fn start(command: &str) -> Result<Beside, ExitFailure> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).stdin(Stdio::null()).process_group(0);
        // Its output must not be mixed with the lines of a report.
        shell.stdout(std::io::stderr());
        let child = shell.spawn();
        let child = child.map_err(|error| ExitFailure::failed(format!("iolab: --beside: /bin/sh: {error}")))?;
        Ok(Beside { command: command.to_owned(), child })
    }

    /// Ends the program. Returns a sentence that says how it ended.
    pub(crate) fn end(mut self) -> String {
        let told = match self.child.try_wait() {
            Ok(Some(status)) => format!("ended before the run did, {}", how(status)),
            _ => match self.stop() {
                Some(status) => format!("ran as long as the run and was told to end, {}", how(status)),
                None => "ran as long as the run and was killed".to_owned(),
            },
        };
        format!("beside the run, `{}` {told}", self.command)
    }

    /// Asks the program to end, and kills it if it does not. Returns its exit status if it ended by
    /// itself.
    fn stop(&mut self) -> Option<ExitStatus> {
        let group = Pid::from_child(&self.child);
        // If the process group is gone, it needs no signal.
        let _ = kill_process_group(group, Signal::TERM);
        let status = iolab_process::ended_within(&mut self.child, PATIENCE_NS);
        if status.is_some() {
            return status;
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
        None
    }
}

impl Drop for Beside {
    /// If a run cannot begin, nothing keeps running.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.stop();
        }
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with status {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "nobody knows how".to_owned(),
    }
}
