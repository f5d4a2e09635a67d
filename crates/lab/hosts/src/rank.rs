//! The server of one rank: its client is at the other end of standard input and output, and whoever
//! started this program may do what its user may.

use std::io;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::Ordering;

use iolab_activity::Failure;
use iolab_process::INTERRUPTS;

use crate::channel::Channel;
use crate::message::JobRules;
use crate::session::{self, SessionRules};

/// Serves the client to its end. `job_command` makes the command that runs a job.
///
/// # Errors
/// Standard input and output cannot be used.
pub fn serve_rank(job_command: fn() -> io::Result<Command>) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::failed(format!("standard input and output: {error}"));
    let input = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let output = io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
    let channel = Channel::of_pipes(input, output).map_err(failed)?;
    let rules = SessionRules {
        secret: None,
        job: &JobRules { is_rank: true, ..JobRules::default() },
        address: None,
        job_command: &job_command,
        is_ending: &|| INTERRUPTS.load(Ordering::Relaxed) > 0,
    };
    session::serve(channel, &rules);
    Ok(())
}
