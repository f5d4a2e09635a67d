//! What surrounds a run, wherever it runs: outputs judged before it, the terminal during it, and
//! what is kept of it and printed after it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fs::File;
use std::io::IsTerminal;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context;
use iolab_archive::recordings::Keeping;
use iolab_archive::{database, iologs, log_files};
use iolab_order::Arrange;
use iolab_outputs::Outputs;
use iolab_plan::Plan;
use iolab_recording::{Recording, Redaction};
use iolab_report::TerseVersion;
use iolab_resolve::Mode;
use iolab_runner::{RunObserver, Spools, Telling};
use iolab_watch::LiveScreen;

use crate::beside::Beside;
use crate::debug::Debug;
use crate::event_lines::{self, EventLines};
use crate::exit::{ExitFailure, INTERRUPTED};
use crate::follower::{Followed, Follower};
use crate::metrics_file::MetricsFile;
use crate::outcomes::show_outcomes;
use crate::output::{Format, Output};
use crate::outputs;
use crate::printing::StandardError;
use crate::run_options::{EtaWhen, RunOptions};
use crate::snapshot_file::SnapshotFile;
use crate::terminal::{self, Display, StatusTo, Terminal};
use crate::trigger::Trigger;

/// A run whose plan cannot change any more.
pub(crate) struct Reported<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) redaction: &'a Redaction,
    pub(crate) run: &'a RunOptions,
    pub(crate) mode: Mode,
    /// Another format than the options of the run say.
    pub(crate) format: Option<Format>,
    /// What precedes the report.
    pub(crate) preface: String,
}

impl Reported<'_> {
    /// Does `work`, which is the run, and everything around it. Returns the recording as it may be
    /// shown. The run appends to the file that it
    /// is given, tells the observer what happens, and tells what `--debug` asks for.
    pub(crate) fn around(
        self,
        work: impl FnOnce(
            Option<File>,
            &mut dyn RunObserver,
            Option<Telling>,
        ) -> Result<(Recording, Vec<Spools>), ExitFailure>,
    ) -> Result<Recording, ExitFailure> {
        let Reported { plan, redaction, run, mode, format, preface } = self;
        one_writer_on_the_terminal(run)?;
        let formats = format.map_or_else(|| formats(run, mode), |format| Ok(vec![format]))?;
        let mut outputs = outputs::of_run(plan, run)?;
        let keeping = begin_keeping(plan, &mut outputs, run, mode)?;
        let output = Output::open(formats, &mut outputs, run.output.as_deref(), run.status_interval_ns.is_some())?;
        let output = RefCell::new(if mode == Mode::Iolab { output.with_findings() } else { output });
        output.borrow_mut().write(&preface)?;
        output.borrow_mut().begin(plan)?;
        let file = || output.borrow().duplicate();
        let telling = Debug::of(&run.debug).telling(file).context("--debug")?;
        let display = display(run, mode, &output.borrow());
        let mut show_snapshot = |recording: &Recording| {
            // A report of the run so far that cannot be written does not end the run; the last one
            // will say so.
            let _ = output.borrow_mut().report(&shown(recording, redaction, mode));
        };
        let covered = Rc::clone(&display.is_covered);
        let mut terminal = Terminal::new(plan, display, &mut show_snapshot);
        let mut screen = if run.live {
            LiveScreen::new(plan, terminal::standing, covered, &mut terminal)
                .map_err(|error| ExitFailure::mistake(format!("iolab: {error}")))?
        } else {
            LiveScreen::closed(plan, terminal::standing, covered, &mut terminal)
        };
        let stream = keeping.as_ref().and_then(Keeping::stream);
        let followed = Followed::Run(keeping.as_ref().and_then(Keeping::partial_path));
        let page = run.web.then(|| Follower::page(followed)).transpose()?;
        let metrics = run.metrics.as_deref().map(Path::new);
        let metrics = metrics.map(|path| MetricsFile::begin(&mut outputs, path, followed, run.force)).transpose()?;
        let beside = run.beside.as_deref().map(Beside::start).transpose()?;
        let events = run.events.as_deref().map(Path::new);
        let events = events.map(|path| event_lines::begin(&mut outputs, path)).transpose()?;
        let mut lines = EventLines::new(events, redaction, &mut screen);
        let mut trigger = Trigger::new(run, &mut lines);
        let ran = work(stream, &mut trigger, telling);
        let beside = beside.map(Beside::end);
        let triggered = if ran.is_ok() { trigger.finish(run) } else { Ok(()) };
        let written = lines.finish();
        let unseen = screen.finish();
        terminal.finish();
        unseen.iter().for_each(|why| eprintln!("iolab: warning: {why}"));
        let (mut recording, spools) = ran?;
        recording.warnings.extend(beside);
        // Beyond this point nothing is measured.
        let kept = keep_recording(&redacted(&recording, redaction), keeping, &mut outputs, run, mode);
        // Its readers are told that the run has ended, and where its recording is.
        drop(page);
        let told = metrics.map_or(Ok(()), |metrics| metrics.finish(&mut outputs, &shown(&recording, redaction, mode)));
        let kept = keep_logs(kept, &recording, &spools, &mut outputs, run);
        let shown = shown(&recording, redaction, mode).into_owned();
        let printed = output.into_inner().finish(&shown);
        let program = if mode == Mode::Fio { "fio" } else { "iolab" };
        if kept.is_err() || printed.is_err() {
            // The run is over: what else there is to say of it must not be lost with what could not
            // be written.
            show_outcomes(&shown, program);
        }
        let saved = kept?;
        printed?;
        triggered?;
        written?;
        told?;
        if saved == log_files::Saved::CutShort {
            show_outcomes(&shown, program);
            return Err(ExitFailure { code: INTERRUPTED, message: "iolab: interrupted while writing logs".to_owned() });
        }
        Ok(shown)
    }
}

/// Refuses what would write across the live screen.
fn one_writer_on_the_terminal(run: &RunOptions) -> Result<(), ExitFailure> {
    let writes_meanwhile = run.status_interval_ns.is_some() || !run.debug.is_empty();
    if run.live && run.output.is_none() && writes_meanwhile {
        return Err(ExitFailure::mistake(
            "iolab: --live has the whole terminal, on which --status-interval and --debug write: send these to a file with --output=FILE",
        ));
    }
    Ok(())
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

/// The recording without what must not be kept.
fn redacted<'r>(recording: &'r Recording, redaction: &Redaction) -> Cow<'r, Recording> {
    let mut kept = Cow::Borrowed(recording);
    if !redaction.is_empty() {
        redaction.recording(kept.to_mut());
    }
    kept
}

/// What reports are made of: as they will be made again from what is kept. Those of fio show the
/// values of variables, as fio's do, but no secrets.
fn shown<'r>(recording: &'r Recording, redaction: &Redaction, mode: Mode) -> Cow<'r, Recording> {
    match mode {
        Mode::Fio => redacted(recording, &redaction.secrets_only()),
        _ => redacted(recording, redaction),
    }
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
        // The figures are about to be printed: not being able to keep them unasked is said, not
        // died of.
        Err(error) if run.record.is_none() => {
            eprintln!("iolab: warning: {error}");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Saves the log files; all of them are tried, the first failure is returned.
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

/// fio prints terse, JSON, normal, however they were asked for, and one JSON document of the fuller
/// kind.
fn in_fios_order(formats: &mut Vec<Format>) {
    if formats.contains(&Format::JsonPlus) {
        formats.retain(|format| *format != Format::Json);
    }
    formats.arrange_by_key(|format| match format {
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
        is_covered: Rc::default(),
    }
}
