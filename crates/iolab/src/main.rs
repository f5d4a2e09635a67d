//! The `iolab` program. Called by the name `fio`, it behaves as fio.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let called = arguments.first().map(|name| name.rsplit('/').next().unwrap_or(name));
    if called == Some("fio") { iolab::fio_main(&arguments) } else { iolab::iolab_main(&arguments) }
}
