//! Finds the subcommand that the command line names.

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Action, Iolab};
use crate::exit::{ExitFailure, MISTAKE};
use crate::{exit, hosts, metrics_file, subcommands};

/// Runs the subcommand that the arguments name.
pub(crate) fn dispatch(arguments: &[String]) -> ExitCode {
    let parsed = match Iolab::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            if error.use_stderr() {
                crate::printing::complain(&error.render().ansi().to_string());
                return ExitCode::from(MISTAKE);
            }
            // Help is our own text, and clap knows whether colours are welcome. If it cannot be
            // printed, there is no way to report that.
            let _ = error.print();
            return ExitCode::from(0);
        }
    };
    exit::code(match parsed.action {
        Action::Run(arguments) => subcommands::run::main(&arguments.words),
        Action::Plan(arguments) => subcommands::plan::main(&arguments.words),
        Action::Report(arguments) => subcommands::report::main(&arguments),
        Action::Engines { engine } => subcommands::engines::main(engine.as_deref()),
        Action::Explain { term } => subcommands::explain::main(&term),
        Action::Device(action) => subcommands::device::main(&action),
        Action::Nvme(action) => subcommands::nvme::main(&action),
        Action::Fs(action) => subcommands::fs::main(&action),
        Action::Capture(arguments) => subcommands::capture::main(&arguments),
        Action::Synthesize(arguments) => subcommands::synthesize::main(&arguments),
        Action::Validate(arguments) => subcommands::validate::main(&arguments),
        Action::Replay(arguments) => subcommands::replay::main(&arguments),
        Action::Verify(arguments) => subcommands::verify::main(&arguments),
        Action::Hosts(action) => subcommands::hosts::main(&action),
        Action::Io500(arguments) => hosts::io500(&arguments),
        Action::Watch(arguments) => subcommands::watch::main(&arguments),
        Action::Web(arguments) => subcommands::web::main(&arguments),
        Action::Study(action) => subcommands::study::main(&action),
        Action::Compare(arguments) => subcommands::compare::main(&arguments),
        Action::Db(action) => subcommands::db::main(&action),
        Action::Schema(arguments) => subcommands::schema::main(&arguments),
        Action::Perf(arguments) => subcommands::perf::main(&arguments),
        Action::Config(arguments) => subcommands::config::main(&arguments),
        Action::Doctor(arguments) => subcommands::doctor::main(&arguments),
        Action::Bench(arguments) => subcommands::bench::main(&arguments),
        Action::Kv(action) => subcommands::kv::main(&action),
        Action::Demo(arguments) => subcommands::demo::main(&arguments),
        Action::Completions { shell } => subcommands::completions::main(shell),
        Action::Man(arguments) => subcommands::man::main(&arguments),
        Action::Help { words } => return help(arguments, &words),
        Action::InternalHostJob => hosts::internal_job(),
        Action::InternalRank => hosts::internal_rank(),
        Action::InternalParse { words } => parse_only(arguments, words),
        Action::InternalMetrics(arguments) => metrics_file::follow(&arguments),
        Action::InternalDocs { folder } => subcommands::internal_docs::main(&folder),
    })
}

/// Accepts what this program accepts, as far as that can be said without files: commands,
/// options, and the values of job options.
fn parse_only(arguments: &[String], words: Vec<String>) -> Result<u8, ExitFailure> {
    if words.first().is_some_and(|word| hosts::begins_with_hosts(word)) {
        return subcommands::run::check_words(&words);
    }
    let program = arguments.first().cloned().unwrap_or_default();
    match Iolab::try_parse_from(std::iter::once(program).chain(words)) {
        Ok(Iolab { action: Action::Run(job) | Action::Plan(job) }) => subcommands::run::check_words(&job.words),
        Ok(_) => Ok(0),
        // Help was asked for.
        Err(error) if !error.use_stderr() => Ok(0),
        Err(error) => Err(ExitFailure::mistake(error.to_string())),
    }
}

/// `iolab help X` is `iolab X --help`.
pub(crate) fn help(arguments: &[String], words: &[String]) -> ExitCode {
    let program = arguments.first().cloned().unwrap_or_default();
    // An option in place of a command would be executed.
    let words = words.iter().filter(|word| !word.starts_with('-') && *word != "help");
    let asked: Vec<String> = std::iter::once(program).chain(words.cloned()).chain(["--help".to_owned()]).collect();
    dispatch(&asked)
}
