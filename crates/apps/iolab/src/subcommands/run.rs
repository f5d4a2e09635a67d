//! `iolab run`: everything from the job to the report.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iolab_activity::Console;
use iolab_archive::recordings::Keeping;
use iolab_archive::{database, iologs, log_files};
use iolab_jobfile::Diagnostic;
use iolab_jobfile::command_line::{self, CommandLine};
use iolab_jobfile::help;
use iolab_outputs::Outputs;
use iolab_pipeline::{JudgedPlan, check_device_settings, left_over_settings};
use iolab_plan::Plan;
use iolab_recording::{Recording, Redaction, WorkerOutcome, WorkerRecording};
use iolab_report::TerseVersion;
use iolab_resolve::Mode;
use iolab_runner::Spools;

use crate::beside::Beside;
use crate::exit::{ExitFailure, FAILED, INTERRUPTED};
use crate::output::{Format, Output};
use crate::pipeline::{self, Planned};
use crate::printing::StandardError;
use crate::run_options::{self, Asked, EtaWhen, Program, RunOptions};
use crate::snapshot_file::SnapshotFile;
use crate::terminal::{Display, StatusTo, Terminal};
use crate::trigger::Trigger;
use crate::{console, output, outputs, self_tests};

pub(crate) fn main(words: &[String]) -> Result<u8, ExitFailure> {
    let asked = take_apart(words, Mode::Iolab)?;
    if let Some(code) = answer_questions(&asked.run, run_options::RUN)? {
        return Ok(code);
    }
    something_to_run(&asked.line)?;
    if asked.run.study.is_asked_for() {
        return super::study::from_words::run(&asked);
    }
    asked.refuse_words_of_studies()?;
    let planned = pipeline::plan(&asked, Mode::Iolab)?;
    show_warnings(&planned);
    if let Some(code) = without_running(&asked.run, &planned)? {
        return Ok(code);
    }
    let recording = execute(&planned, &asked.run, Mode::Iolab)?;
    show_outcomes(&recording, "iolab");
    Ok(exit_code(&recording))
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
    let allowed: Vec<PathBuf> = run.allow_destroy.iter().map(PathBuf::from).collect();
    let JudgedPlan { accepted, guard } = pipeline::judge(plan, mode, &allowed)?;
    // Warnings about data that may be lost are printed in both modes, although scripts take any
    // output on fio's standard error for a failure.
    let program = if mode == Mode::Fio { "fio" } else { "iolab" };
    accepted.iter().for_each(|warning| eprintln!("{program}: warning: {warning}"));
    if mode == Mode::Iolab {
        warn_of_left_over_settings();
    }
    check_device_settings(plan)?;
    // Beyond this point the plan cannot change.
    let formats = format.map_or_else(|| formats(run, mode), |format| Ok(vec![format]))?;
    let mut outputs = outputs::of_run(plan, run)?;
    let keeping = begin_keeping(plan, &mut outputs, run, mode)?;
    let output = Output::open(formats, &mut outputs, run.output.as_deref(), run.status_interval_ns.is_some())?;
    let output = RefCell::new(if mode == Mode::Iolab { output.with_findings() } else { output });
    output.borrow_mut().begin(plan)?;
    let display = display(run, mode, &output.borrow());
    let mut show_snapshot = |recording: &Recording| {
        // A report of the unfinished run that cannot be written does not end the run; writing the
        // last report will fail with the error.
        let _ = output.borrow_mut().report(&shown(recording, &planned.redaction, mode));
    };
    let mut terminal = Terminal::new(plan, display, &mut show_snapshot);
    let stream = keeping.as_ref().and_then(Keeping::stream);
    let beside = run.beside.as_deref().map(Beside::start).transpose()?;
    let mut trigger = Trigger::new(run, &mut terminal);
    let ran = pipeline::run(planned, guard, stream, &mut trigger);
    let beside = beside.map(Beside::end);
    let triggered = if ran.is_ok() { trigger.finish(run) } else { Ok(()) };
    terminal.finish();
    let (mut recording, spools) = ran?;
    recording.warnings.extend(beside);
    // Beyond this point nothing is measured.
    let kept = keep_recording(&redacted(&recording, &planned.redaction), keeping, &mut outputs, run, mode);
    let kept = keep_logs(kept, &recording, &spools, &mut outputs, run);
    let printed = output.into_inner().finish(&shown(&recording, &planned.redaction, mode));
    if kept.is_err() || printed.is_err() {
        // The run is over. What remains to be said about it must not be lost because something
        // could not be written.
        show_outcomes(&recording, if mode == Mode::Fio { "fio" } else { "iolab" });
    }
    let saved = kept?;
    printed?;
    triggered?;
    if saved == log_files::Saved::CutShort {
        show_outcomes(&recording, if mode == Mode::Fio { "fio" } else { "iolab" });
        return Err(ExitFailure { code: INTERRUPTED, message: "iolab: interrupted while writing logs".to_owned() });
    }
    Ok(recording)
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

/// The place of the recording, if it is to be kept.
fn begin_keeping(
    plan: &Plan,
    outputs: &mut Outputs,
    run: &RunOptions,
    mode: Mode,
) -> Result<Option<Keeping>, ExitFailure> {
    let named = run.record.as_deref().map(Path::new);
    if mode == Mode::Fio && named.is_none() {
        return Ok(None);
    }
    match Keeping::begin(plan, outputs, named, &StandardError) {
        Ok(keeping) => Ok(Some(keeping)),
        Err(failure) if named.is_some() => Err(failure.into()),
        Err(failure) => {
            eprintln!("iolab: warning: {failure}: this run will not be recorded");
            Ok(None)
        }
    }
}

/// The recording without the values that must not be kept.
fn redacted<'r>(recording: &'r Recording, redaction: &Redaction) -> Cow<'r, Recording> {
    let mut kept = Cow::Borrowed(recording);
    if !redaction.is_empty() {
        redaction.recording(kept.to_mut());
    }
    kept
}

/// The recording that reports are made from. iolab's own reports are made from the redacted one, so
/// that they can be made again from the saved recording. As in fio, fio's reports show the values.
fn shown<'r>(recording: &'r Recording, redaction: &Redaction, mode: Mode) -> Cow<'r, Recording> {
    if mode == Mode::Fio { Cow::Borrowed(recording) } else { redacted(recording, redaction) }
}

/// Saves the recording and lists it in the database.
fn keep_recording(
    recording: &Recording,
    keeping: Option<Keeping>,
    outputs: &mut Outputs,
    run: &RunOptions,
    mode: Mode,
) -> Result<(), iolab_activity::Failure> {
    let Some(keeping) = keeping else { return Ok(()) };
    match keeping.save(outputs, recording) {
        Ok(path) if mode == Mode::Iolab => {
            eprintln!("iolab: recording saved as {}", path.display());
            if !run.no_database {
                database::keep_run(&path, recording, &StandardError);
            }
            Ok(())
        }
        Ok(_) => Ok(()),
        // The figures are about to be printed. If the recording was not asked for, a failure to
        // save it is only a warning.
        Err(error) if run.record.is_none() => {
            eprintln!("iolab: warning: {error}");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Saves the log files. All of them are tried; the first failure is returned.
fn keep_logs(
    kept: Result<(), iolab_activity::Failure>,
    recording: &Recording,
    spools: &[Spools],
    outputs: &mut Outputs,
    run: &RunOptions,
) -> Result<log_files::Saved, iolab_activity::Failure> {
    let of_logs: Vec<_> = spools.iter().map(|own| own.logs.as_ref()).collect();
    let of_operations: Vec<_> = spools.iter().map(|own| own.operations.as_ref()).collect();
    let logs = log_files::write(outputs, recording, &of_logs, &StandardError);
    let iologs = iologs::write(outputs, &recording.plan, &of_operations);
    let aggregate = if run.bandwidth_log { log_files::write_aggregate(outputs, recording) } else { Ok(()) };
    kept.and(iologs).and(logs).and_then(|saved| aggregate.map(|()| saved))
}

/// Parses fio-style arguments.
pub(crate) fn take_apart(words: &[String], mode: Mode) -> Result<Asked, ExitFailure> {
    let refused = |diagnostics: &[Diagnostic], sources: &[(String, String)]| {
        ExitFailure::mistake(iolab_jobfile::render(diagnostics, sources, crate::printing::use_color()))
    };
    let line = command_line::parse(words, &run_options::shapes(), &pipeline::here())
        .map_err(|failure| refused(&failure.diagnostics, &failure.sources))?;
    let sources = std::slice::from_ref(&line.source);
    let read = run_options::read(&line, mode).map_err(|errors| refused(&errors, sources))?;
    if !read.warnings.is_empty() {
        eprint!("{}", iolab_jobfile::render(&read.warnings, sources, crate::printing::use_color()));
    }
    Ok(Asked { run: read.run, line })
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
    if run.showcmd {
        output::print(&help::showcmd("fio", &planned.jobs))?;
    }
    Ok((run.showcmd || run.parse_only).then_some(0))
}

/// Prints warnings of parsing and resolving, with their places.
pub(crate) fn show_warnings(planned: &Planned) {
    if !planned.warnings.is_empty() {
        eprint!("{}", iolab_jobfile::render(&planned.warnings, &planned.jobs.sources, crate::printing::use_color()));
    }
}

/// Prints what each worker reports besides its figures.
pub(crate) fn show_outcomes(recording: &Recording, program: &str) {
    if recording.interrupted {
        eprintln!("{program}: interrupted: the results cover only the part that ran; run the job again for all of it");
    }
    for (plan, worker) in recording.plan.workers.iter().zip(&recording.workers) {
        match &worker.outcome {
            WorkerOutcome::Failed { errno, message } => eprintln!("{program}: {}: {message} (errno {errno})", plan.job),
            WorkerOutcome::Crashed { message, .. } => eprintln!("{program}: {}: {message}", plan.job),
            WorkerOutcome::NotRun if !recording.interrupted => {
                eprintln!("{program}: {}: did not run, because an earlier job ended the run", plan.job);
            }
            _ => {}
        }
        if program == "iolab" || !matches!(worker.outcome, WorkerOutcome::Finished) || !worker.lost.is_empty() {
            worker.notes.iter().for_each(|note| eprintln!("{program}: {}: {note}", plan.job));
        }
    }
    if program == "iolab" {
        recording.warnings.iter().filter(|warning| !recording.plan.warnings.contains(warning)).for_each(|warning| {
            eprintln!("{program}: warning: {warning}");
        });
    }
}

pub(crate) fn exit_code(recording: &Recording) -> u8 {
    if recording.interrupted {
        INTERRUPTED
    } else if recording.workers.iter().any(WorkerRecording::has_failed) {
        FAILED
    } else {
        0
    }
}

fn formats(run: &RunOptions, mode: Mode) -> Result<Vec<Format>, ExitFailure> {
    let number = run.terse_version.unwrap_or(3);
    let version = TerseVersion::from_number(u64::from(number))
        .ok_or_else(|| ExitFailure::mistake(format!("--terse-version={number}: 2, 3, 4 or 5")))?;
    let mut formats: Vec<Format> = run.output_formats.iter().map(|format| Format::of(*format, version)).collect();
    if run.minimal {
        formats = vec![Format::Terse(version)];
    }
    if formats.is_empty() {
        formats.push(Format::Normal);
    }
    if run.append_terse {
        formats.push(Format::Terse(version));
    }
    if mode == Mode::Fio {
        in_fios_order(&mut formats);
    }
    Ok(formats)
}

/// Sorts formats as fio does: terse, JSON, normal, in whatever order they were requested. There is
/// one JSON document, json+ if it was requested.
fn in_fios_order(formats: &mut Vec<Format>) {
    if formats.contains(&Format::JsonPlus) {
        formats.retain(|format| *format != Format::Json);
    }
    formats.sort_by_key(|format| match format {
        Format::Terse(_) => 0,
        Format::Json | Format::JsonPlus => 1,
        Format::OpenMetrics => 2,
        Format::Normal | Format::Perf(_) => 3,
    });
    formats.dedup();
}

fn display(run: &RunOptions, mode: Mode, output: &Output) -> Display {
    let person_reads = !run.minimal && output.formats.contains(&Format::Normal);
    let status = match (mode, run.eta) {
        (_, EtaWhen::Never) => StatusTo::Nowhere,
        (Mode::Iolab, EtaWhen::Always) => StatusTo::Stderr,
        (Mode::Iolab, EtaWhen::Auto) if std::io::stderr().is_terminal() => StatusTo::Stderr,
        (Mode::Fio, EtaWhen::Always) if person_reads || !output.to_standard_output() => StatusTo::Stdout,
        (Mode::Fio, EtaWhen::Auto) if person_reads && std::io::stdout().is_terminal() => StatusTo::Stdout,
        _ => StatusTo::Nowhere,
    };
    Display {
        status,
        every: Duration::from_nanos(run.eta_interval_ns.unwrap_or(1_000_000_000)),
        new_line_every: run.eta_newline_ns.map(Duration::from_nanos),
        snapshot_every: run.status_interval_ns.map(Duration::from_nanos),
        snapshot_file: Some(SnapshotFile::new(std::env::temp_dir().join("fio-dump-status"))),
    }
}
