//! The same program under the name `fio`: takes exactly fio's command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    iolab::fio_main(&arguments)
}
