//! The command line: everything that reads arguments and the environment, prints, and decides on
//! exit codes.
//!
//! The path of the data through the program: job → plan → run → recording → report. The crate
//! `pipeline` is its first part; the subcommands enter and leave it at different points. No other
//! crate prints, and here only `printing.rs` does.

#[macro_use] // its macros hide those of the standard library
mod printing;

mod arguments;
mod beside;
mod console;
mod dates;
mod debug;
mod dispatch;
mod durations;
mod eta;
mod event_lines;
mod exit;
mod fio_mode;
mod follower;
mod hosts;
mod inflate;
mod metrics_file;
mod outcomes;
mod output;
mod outputs;
mod painted;
mod pipeline;
mod profiles;
mod reported;
mod run_options;
mod self_tests;
mod snapshot_file;
mod start_at;
mod subcommands;
mod terminal;
mod trigger;

use std::process::ExitCode;

use exit::ExitFailure;
use rustix::process::{Resource, getrlimit};

/// `iolab …`.
pub fn iolab_main(arguments: &[String]) -> ExitCode {
    match prepare() {
        // As in fio's command line: `iolab --server`, `iolab --client=HOST job.fio`.
        Ok(()) if arguments.get(1).is_some_and(|word| hosts::begins_with_hosts(word)) => {
            exit::code(subcommands::run::main(&arguments[1..]))
        }
        Ok(()) => dispatch::dispatch(arguments),
        Err(failure) => exit::code(Err(failure)),
    }
}

/// `fio …`.
pub fn fio_main(arguments: &[String]) -> ExitCode {
    match prepare() {
        Ok(()) => fio_mode::main(arguments.get(1..).unwrap_or_default()),
        Err(failure) => exit::code(Err(failure)),
    }
}

/// Minimum address space for the program itself and a few small jobs.
const ADDRESSES_BYTES: u64 = 128 << 20;

/// What every command begins with: the user's configuration, whose mistakes none may overlook, and
/// room.
fn prepare() -> Result<(), ExitFailure> {
    iolab_configuration::load().map_err(|error| ExitFailure::mistake(format!("iolab: {error}")))?;
    make_room()
}

/// Raises the limits with which the program was started (`ulimit`), or reports that they are too
/// low: otherwise a signal would end the program without a message. A small stack (`ulimit -s`) is
/// no problem, because the program allocates its own.
///
/// # Errors
/// A limit is lower than needed, and cannot be raised.
fn make_room() -> Result<(), ExitFailure> {
    iolab_process::survive_size_limits();
    if let Some(bytes) = getrlimit(Resource::As).current.filter(|bytes| *bytes < ADDRESSES_BYTES) {
        return Err(ExitFailure::mistake(format!(
            "iolab: the address space limit of {} MiB is too low: raise it to {} MiB or more (ulimit -v)",
            bytes >> 20,
            ADDRESSES_BYTES >> 20
        )));
    }
    Ok(())
}
