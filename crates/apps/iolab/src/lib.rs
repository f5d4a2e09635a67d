//! The command line: everything that reads arguments and the environment, prints, and decides on
//! exit codes.
//!
//! The data's way through the program is one line: job → plan → run → recording → report. The crate
//! `pipeline` is the first part of that line; the subcommands enter and leave it at different points.
//! No other crate prints, and here only `printing.rs` does.

#[macro_use] // its macros hide those of the standard library
mod printing;

mod arguments;
mod beside;
mod console;
mod dispatch;
mod engine_registry;
mod eta;
mod exit;
mod fio_mode;
mod output;
mod outputs;
mod painted;
mod pipeline;
mod room_to_run;
mod run_options;
mod snapshot_file;
mod subcommands;
mod terminal;

use std::process::ExitCode;

/// `iolab …`.
pub fn iolab_main(arguments: &[String]) -> ExitCode {
    match room_to_run::make() {
        Ok(()) => dispatch::dispatch(arguments),
        Err(failure) => exit::code(Err(failure)),
    }
}

/// `fio …`.
pub fn fio_main(arguments: &[String]) -> ExitCode {
    match room_to_run::make() {
        Ok(()) => fio_mode::main(arguments.get(1..).unwrap_or_default()),
        Err(failure) => exit::code(Err(failure)),
    }
}
