//! The result lines alone, without the program around them: what measurements of the loop itself
//! run.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::process::ExitCode;

use iolab_kv_bench::{Ended, Session, Settings, line};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<(), String> {
    let settings = Settings::read(words).map_err(|error| error.to_string())?;
    let mut session = Session::new(&settings).map_err(|error| format!("{error:?}"))?;
    for benchmark in &settings.benchmarks {
        match session.run(benchmark).map_err(|error| format!("{error:?}"))? {
            Ended::Measured(result) | Ended::Interrupted(result) => print!("{}", line(&settings, &result)),
            Ended::Skipped => {}
        }
    }
    session.finish().map_err(|error| format!("{error:?}"))
}
