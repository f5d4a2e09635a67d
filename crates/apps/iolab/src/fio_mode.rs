//! The behaviour of fio: its command line, its exit codes, nothing on standard error if all is
//! well.

use std::process::ExitCode;

use iolab_jobfile::{Diagnostic, DiagnosticSeverity};
use iolab_resolve::Mode;

use crate::exit::{self, ExitFailure, REFUSED};
use crate::outcomes::{exit_code, show_outcomes};
use crate::pipeline::Planned;
use crate::run_options::RunOptions;
use crate::subcommands::run;
use crate::{console, debug, hosts, output, pipeline, run_options};

/// Runs the program as `fio`. Exit code: 0 for success, 1 for a job that cannot be run as asked,
/// otherwise the number of failed jobs; 128 after SIGINT or SIGTERM.
pub(crate) fn main(words: &[String]) -> ExitCode {
    exit::code(attempt(words).map_err(|failure| ExitFailure {
        code: if failure.code == REFUSED { REFUSED } else { 1 },
        message: failure.message.replace("iolab: ", "fio: "),
    }))
}

fn attempt(words: &[String]) -> Result<u8, ExitFailure> {
    let asked = run::take_apart(words, Mode::Fio)?;
    if asked.run.version {
        output::print(&format!("{}\n", iolab_report::FIO_VERSION))?;
        return Ok(0);
    }
    if asked.run.help {
        output::print_for_people(&run_options::usage(run_options::FIO, console::columns()))?;
        return Ok(0);
    }
    if asked.run.enghelp.as_deref() == Some("") {
        output::print(&engine_names())?;
        return Ok(0);
    }
    if asked.run.study.is_asked_for() {
        return Err(ExitFailure::mistake(
            "fio: --vary, --repeat, --ladder and --precondition make studies: use iolab run",
        ));
    }
    if debug::announce(&asked.run.debug, Mode::Fio)? {
        return Ok(0);
    }
    if let Some(topic) = unknown_topic(&asked.run) {
        // In fio, asking for an unknown option is not a failure.
        eprintln!("No such command: {topic}");
        return Ok(0);
    }
    if let Some(code) = run::answer_questions(&asked.run, run_options::FIO)? {
        return Ok(code);
    }
    asked.refuse_words_of_studies()?;
    if let Some(code) = hosts::run(&asked, words, Mode::Fio)? {
        return Ok(code);
    }
    if asked.line.files.is_empty() && !asked.line.defines_jobs() {
        return without_jobs(&asked.run);
    }
    if asked.run.merge_blktrace_only {
        pipeline::merge_only(&asked, Mode::Fio)?;
        return Ok(0);
    }
    let planned = match pipeline::plan_or_nothing(&asked)? {
        Some(planned) => planned,
        None => return without_jobs(&asked.run),
    };
    let planned = Planned { warnings: said(planned.warnings), ..planned };
    run::show_warnings(&planned);
    if let Some(code) = run::without_running(&asked.run, &planned)? {
        return Ok(code);
    }
    let recording = run::execute(&planned, &asked.run, Mode::Fio)?;
    show_outcomes(&recording, "fio");
    Ok(exit_code(&recording, Mode::Fio))
}

/// Handles a command line and job files that define no job.
fn without_jobs(run: &RunOptions) -> Result<u8, ExitFailure> {
    if run.parse_only {
        // Nothing can be wrong.
        return Ok(0);
    }
    eprintln!("No job(s) defined\n");
    output::print_for_people(&run_options::usage(run_options::FIO, console::columns()))?;
    Ok(1)
}

/// An unknown topic of `--cmdhelp`.
fn unknown_topic(run: &RunOptions) -> Option<&str> {
    run.cmdhelp.as_deref().filter(|topic| *topic != "all" && iolab_jobfile::help::cmdhelp(topic).is_none())
}

/// The engines as fio lists them, one per line, for scripts that search the list.
fn engine_names() -> String {
    let names = iolab_engine_catalogue::descriptions();
    let lines = names.iter().map(|engine| format!("\t{}\n", engine.name));
    std::iter::once("Available IO engines:\n".to_owned()).chain(lines).collect()
}

/// Keeps only the warnings that fio would also print: settings without effect. Advice is for
/// iolab's own mode, because scripts for fio treat any output on standard error as a failure.
fn said(warnings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    warnings.into_iter().filter(|warning| warning.severity == DiagnosticSeverity::Warning).collect()
}
