//! `iolab watch --record`: records a program that iolab did not write.

use std::path::Path;

use iolab_archive::database;
use iolab_archive::recordings::Keeping;
use iolab_clock::Clock;
use iolab_observe::System;
use iolab_watch::{RecordError, RecordRequest, Wanted, WatchError, Watched};

use super::arguments::ProgramArguments;
use crate::exit::{ExitFailure, FAILED, INTERRUPTED};
use crate::follower::Followed;
use crate::metrics_file::MetricsFile;
use crate::printing::StandardError;
use crate::{outputs, pipeline};

/// A job whose plan is modified to describe the program; the job itself is not run.
const JOB: [&str; 4] = ["--name=program", "--rw=rw", "--size=4k", "--group_reporting=1"];

pub(super) fn record(
    path: &Path,
    metrics: Option<&Path>,
    arguments: &ProgramArguments,
    mut wanted: Wanted,
) -> Result<u8, ExitFailure> {
    let watched = watched(arguments, &mut wanted)?;
    let words = JOB.map(str::to_owned);
    let plan = iolab_watch::describe_program(pipeline::pipeline().plan_words(&words)?.plan, &watched);
    let mut outputs = outputs::beside(arguments.force, []);
    let keeping = Keeping::begin(&plan, &mut outputs, Some(path), &StandardError)?;
    let followed = Followed::Run(keeping.partial_path());
    let metrics = metrics.map(|path| MetricsFile::begin(&mut outputs, path, followed, arguments.force)).transpose()?;
    let host = System::live().host_facts(Clock::monotonic().name(), std::env::args().collect());
    let request = RecordRequest {
        wanted: &wanted,
        watched: &watched,
        for_ns: arguments.for_ns,
        plan,
        host,
        version: env!("CARGO_PKG_VERSION"),
        stream: keeping.stream(),
    };
    let recorded = iolab_watch::record(request).map_err(|error| {
        let message = format!("iolab: watch: {error}");
        match error {
            RecordError::Wanted(WatchError::Mistake(_)) | RecordError::Command { .. } | RecordError::Process { .. } => {
                ExitFailure::mistake(message)
            }
            _ => ExitFailure::failed(message),
        }
    })?;
    let (mut recording, end) = (recorded.recording, recorded.end);
    recording.findings = iolab_findings::find(&recording);
    let saved = keeping.save(&mut outputs, &recording)?;
    metrics.map_or(Ok(()), |metrics| metrics.finish(&mut outputs, &recording))?;
    for (plan, worker) in recording.plan.workers.iter().zip(&recording.workers) {
        worker.notes.iter().for_each(|note| eprintln!("iolab: {}: {note}", plan.job));
    }
    recording.warnings.iter().for_each(|warning| eprintln!("iolab: warning: {warning}"));
    eprintln!("iolab: recording saved as {}: `iolab report {0}` shows it", saved.display());
    database::keep_run(&saved, &recording, &StandardError);
    match u8::try_from(end.code()) {
        Ok(0) if recording.interrupted => Ok(INTERRUPTED),
        Ok(code) => Ok(code),
        Err(_) => Ok(FAILED),
    }
}

/// The command or the process to watch; a number after `-p` is taken as a process.
fn watched(arguments: &ProgramArguments, wanted: &mut Wanted) -> Result<Watched, ExitFailure> {
    let number = wanted.partitions.as_deref().and_then(|word| word.parse::<i32>().ok());
    if number.is_some() {
        wanted.partitions = None;
    }
    match (arguments.pid.or(number), arguments.command.is_empty()) {
        (None, false) => Ok(Watched::Command(arguments.command.clone())),
        (Some(process), true) => Ok(Watched::Process(process)),
        (Some(_), false) => {
            Err(ExitFailure::mistake("iolab: watch: --record watches a command or a process, not both"))
        }
        (None, true) => Err(ExitFailure::mistake(
            "iolab: watch: --record needs a program: a command behind `--`, or --pid PID of one that runs",
        )),
    }
}
