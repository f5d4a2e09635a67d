//! The `iolab` program. Called by the name `fio`, it behaves as fio.

use std::panic::resume_unwind;
use std::process::ExitCode;
use std::thread;

use rustix::process::{Resource, getrlimit};

/// The size of the program's stack, bytes. Parsers of nested text and the table of all options use
/// most of it.
const STACK_BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    let limit = getrlimit(Resource::Stack).current;
    if limit.is_none_or(|bytes| bytes >= STACK_BYTES as u64) {
        return work();
    }
    // The limit (`ulimit -s`) applies to this thread alone. Another one gets the stack it asks for.
    match thread::Builder::new().stack_size(STACK_BYTES).spawn(work) {
        Ok(whole) => whole.join().unwrap_or_else(|panic| resume_unwind(panic)),
        Err(_) => work(),
    }
}

fn work() -> ExitCode {
    iolab_clock::begin_calibration();
    let arguments: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let called = arguments.first().map(|name| name.rsplit('/').next().unwrap_or(name));
    if called == Some("fio") { iolab::fio_main(&arguments) } else { iolab::iolab_main(&arguments) }
}
