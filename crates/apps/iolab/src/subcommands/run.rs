//! `iolab run`: everything from the job to the report.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use iolab_activity::Console;
use iolab_clock::Clock;
use iolab_guard::Guard;
use iolab_jobfile::command_line::{self, CommandLine};
use iolab_jobfile::help;
use iolab_jobfile::{Diagnostic, Surroundings};
use iolab_options::without_passwords;
use iolab_order::Gather;
use iolab_pipeline::{IdlenessObserver, JudgedPlan, check_device_settings, left_over_settings};
use iolab_recording::Recording;
use iolab_resolve::Mode;
use iolab_runner::{RunObserver, Spools, Telling};

use crate::debug::Debug;
use crate::exit::ExitFailure;
use crate::outcomes::{exit_code, show_outcomes};
use crate::output::Format;
use crate::pipeline::{self, Planned};
use crate::printing::StandardError;
use crate::reported::Reported;
use crate::run_options::{self, Asked, IdleProfile, Program, RunOptions};
use crate::start_at::StartsAt;
use crate::{console, debug, hosts, output, self_tests};

pub(crate) fn main(words: &[String]) -> Result<u8, ExitFailure> {
    let asked = take_apart(words, Mode::Iolab)?;
    if debug::announce(&asked.run.debug, Mode::Iolab)? {
        return Ok(0);
    }
    if let Some(code) = answer_questions(&asked.run, run_options::RUN)? {
        return Ok(code);
    }
    if let Some(code) = hosts::run(&asked, words, Mode::Iolab)? {
        return Ok(code);
    }
    something_to_run(&asked.line)?;
    if asked.run.study.is_asked_for() {
        return super::study::from_words::run(&asked, None);
    }
    asked.refuse_words_of_studies()?;
    if asked.run.merge_blktrace_only {
        pipeline::merge_only(&asked, Mode::Iolab)?;
        return Ok(0);
    }
    let planned = pipeline::plan(&asked, Mode::Iolab)?;
    show_warnings(&planned);
    if let Some(code) = without_running(&asked.run, &planned)? {
        return Ok(code);
    }
    let recording = execute(&planned, &asked.run, Mode::Iolab)?;
    show_outcomes(&recording, "iolab");
    Ok(exit_code(&recording, Mode::Iolab))
}

/// From plan to report: runs the plan, saves the results and prints the report.
pub(crate) fn execute(planned: &Planned, run: &RunOptions, mode: Mode) -> Result<Recording, ExitFailure> {
    execute_as(planned, run, mode, None)
}

/// Does the same, in another format than the run options say.
pub(crate) fn execute_as(
    planned: &Planned,
    run: &RunOptions,
    mode: Mode,
    format: Option<Format>,
) -> Result<Recording, ExitFailure> {
    let plan = &planned.plan;
    let allowed = pipeline::allowed(&run.allow_destroy);
    let JudgedPlan { accepted, guard, .. } = pipeline::judge(plan, mode, &allowed)?;
    // Warnings about data that may be lost are printed in both modes, although scripts take any
    // output on fio's standard error for a failure.
    let program = if mode == Mode::Fio { "fio" } else { "iolab" };
    accepted.iter().for_each(|warning| eprintln!("{program}: warning: {}", without_passwords(warning)));
    if mode == Mode::Iolab {
        warn_of_left_over_settings();
    }
    check_device_settings(plan)?;
    // Beyond this point the plan cannot change.
    let debug = Debug::of(&run.debug);
    let preface = debug.preface(planned);
    let reported = Reported { plan, redaction: &planned.redaction, run, mode, format, preface };
    reported.around(|stream, observer, telling| {
        let Some(unix_ns) = run.start_at_unix_ns else {
            return run_and_watch(planned, guard, run, stream, observer, telling.as_ref());
        };
        let mut observer = StartsAt::new(observer, unix_ns, Clock::monotonic());
        let (mut recording, spools) = run_and_watch(planned, guard, run, stream, &mut observer, telling.as_ref())?;
        recording.warnings.extend(observer.warning());
        Ok((recording, spools))
    })
}

/// Runs, and measures how idle the processors are if that is asked for.
fn run_and_watch(
    planned: &Planned,
    guard: Guard,
    run: &RunOptions,
    stream: Option<File>,
    observer: &mut dyn RunObserver,
    telling: Option<&Telling>,
) -> Result<(Recording, Vec<Spools>), ExitFailure> {
    let Some(profile) = run.idle_profile else {
        return pipeline::run(planned, guard, stream, observer, telling);
    };
    let mut observer = IdlenessObserver::new(observer, profile == IdleProfile::PerCpu);
    let (mut recording, spools) = pipeline::run(planned, guard, stream, &mut observer, telling)?;
    match observer.finish() {
        Ok(idleness) => recording.idleness = Some(idleness),
        Err(reason) => recording.warnings.push(reason),
    }
    Ok((recording, spools))
}

/// Warns about devices that still have the settings of killed runs.
fn warn_of_left_over_settings() {
    for left in left_over_settings() {
        StandardError.note(&format!(
            "warning: device {} still has settings of a killed run ({}): run `iolab device restore`",
            left.device,
            left.changes.join(", ")
        ));
    }
}

/// Takes fio-style arguments apart.
pub(crate) fn take_apart(words: &[String], mode: Mode) -> Result<Asked, ExitFailure> {
    let refused = |diagnostics: &[Diagnostic], sources: &[(String, String)]| {
        ExitFailure::mistake(iolab_jobfile::render(diagnostics, sources, crate::printing::use_color()))
    };
    let of_profile = crate::profiles::expand(words, || pipeline::here().keywords().memory_mib)?;
    let words = of_profile.as_deref().unwrap_or(words);
    let line = command_line::parse(words, &run_options::shapes(), &pipeline::here())
        .map_err(|failure| refused(&failure.diagnostics, &failure.sources))?;
    let sources = std::slice::from_ref(&line.source);
    let read = run_options::read(&line, mode).map_err(|errors| refused(&errors, sources))?;
    if !read.warnings.is_empty() {
        eprint!("{}", iolab_jobfile::render(&read.warnings, sources, crate::printing::use_color()));
    }
    Ok(Asked { run: read.run, line })
}

/// Checks the words of a run without looking at any file: options of the program and of jobs, and
/// the values of those that the command line itself gives.
pub(crate) fn check_words(words: &[String]) -> Result<u8, ExitFailure> {
    let asked = take_apart(words, Mode::Iolab)?;
    let request = iolab_jobfile::ParseRequest { command_line: Some(&asked.line), files: &[], sections: &[] };
    let parsed = iolab_jobfile::parse(&request, &pipeline::here());
    parsed.map_err(|failure| {
        let color = crate::printing::use_color();
        ExitFailure::mistake(iolab_jobfile::render(&failure.diagnostics, &failure.sources, color))
    })?;
    Ok(0)
}

/// Requires a job in a file or on the command line, and otherwise returns a helpful message.
pub(crate) fn something_to_run(command_line: &CommandLine) -> Result<(), ExitFailure> {
    if command_line.files.is_empty() && !command_line.defines_jobs() {
        return Err(ExitFailure::mistake(
            "iolab: no job to run: name a job file, or describe a job, for example: iolab run --name=try --rw=randread --size=64m",
        ));
    }
    Ok(())
}

/// Answers options that ask for information instead of a run.
pub(crate) fn answer_questions(run: &RunOptions, program: Program) -> Result<Option<u8>, ExitFailure> {
    if run.help {
        output::print_for_people(&run_options::usage(program, console::columns()))?;
    } else if run.version {
        output::print(&format!("iolab {}\n", env!("CARGO_PKG_VERSION")))?;
    } else if let Some(topic) = &run.cmdhelp {
        output::print(&super::explain::cmdhelp(topic)?)?;
    } else if let Some(topic) = &run.enghelp {
        output::print(&super::engines::enghelp(topic)?)?;
    } else if let Some(name) = &run.inflate_log {
        crate::inflate::print_log(Path::new(name))?;
    } else if let Some(kinds) = &run.crctest {
        output::print(&self_tests::checksums(kinds)?)?;
    } else if let Some(types) = &run.memcpytest {
        output::print(&self_tests::copies(types)?)?;
    } else if run.idle_profile == Some(IdleProfile::Calibrate) {
        output::print(&self_tests::idle_calibration()?)?;
    } else if run.cpuclock_test {
        let (text, code) = self_tests::clock();
        output::print(&text)?;
        return Ok(Some(code));
    } else {
        return Ok(None);
    }
    Ok(Some(0))
}

/// Ends `--parse-only` and `--showcmd` here.
pub(crate) fn without_running(run: &RunOptions, planned: &Planned) -> Result<Option<u8>, ExitFailure> {
    if run.warnings_fatal && !planned.warnings.is_empty() {
        return Err(ExitFailure::mistake("warnings are fatal (--warnings-fatal)"));
    }
    if run.showcmd || run.parse_only {
        output::print(&Debug::of(&run.debug).preface(planned))?;
    }
    if run.showcmd {
        output::print(&help::showcmd("fio", &planned.jobs))?;
        let variables: BTreeSet<_> =
            planned.jobs.secrets.iter().filter_map(|secret| secret.variable.as_deref()).gather();
        if !variables.is_empty() {
            let names = variables.into_iter().collect::<Vec<_>>().join(", ");
            eprintln!(
                "iolab: the command holds no secrets: put them into the environment as {names} before you run it"
            );
        }
    }
    Ok((run.showcmd || run.parse_only).then_some(0))
}

/// Prints warnings of parsing and resolving, with their places.
pub(crate) fn show_warnings(planned: &Planned) {
    if !planned.warnings.is_empty() {
        eprint!("{}", iolab_jobfile::render(&planned.warnings, &planned.jobs.sources, crate::printing::use_color()));
    }
}
