//! The `iolab` program. Called by the name `fio`, it behaves as fio.

use std::process::ExitCode;

/// The stack that the program works on, bytes. Parsers of nested text and the table of all options
/// take most of it.
const STACK_BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    // A limit (`ulimit -s`) is for stacks that grow. The thread stays the same one: workers are
    // forked from it.
    stacker::maybe_grow(STACK_BYTES / 2, STACK_BYTES, work)
}

fn work() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let called = arguments.first().map(|name| name.rsplit('/').next().unwrap_or(name));
    if called == Some("fio") { iolab::fio_main(&arguments) } else { iolab::iolab_main(&arguments) }
}
