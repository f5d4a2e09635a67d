//! The `iolab` program. Called by the name `fio`, it behaves as fio.

use std::process::ExitCode;

/// The size of the program's stack, bytes. Parsers of nested text and the table of all options use
/// most of it.
const STACK_BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    // A limit (`ulimit -s`) applies to growing stacks. The thread stays the same, because workers
    // are forked from it.
    stacker::maybe_grow(STACK_BYTES / 2, STACK_BYTES, work)
}

fn work() -> ExitCode {
    iolab_clock::begin_calibration();
    let arguments: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let called = arguments.first().map(|name| name.rsplit('/').next().unwrap_or(name));
    if called == Some("fio") { iolab::fio_main(&arguments) } else { iolab::iolab_main(&arguments) }
}
