//! Runs the patterns of `bench` on a target.
//!
//! Every pattern is an ordinary job: resolved to a plan, judged by the guard, and run. `target.rs`
//! chooses what is measured; data of the user is never overwritten unless the user allows it by
//! name.

mod request;
mod target;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use iolab_activity::{Console, Failure, FailureContext, ProgressLine, ProgressUnit};
use iolab_bench::{BenchResults, KnownDrive, Procedure, Reading, RoundPlan};
use iolab_pipeline::Pipeline;
use iolab_process::INTERRUPTS;
use iolab_recording::WorkerOutcome;
use iolab_resolve::Mode;
use iolab_runner::{Event, RunObserver, Wish};
use iolab_ssd_timing::presets::PRESETS;

pub use request::BenchRequest;
use target::Target;

/// Measures; `None` if the user ended it.
///
/// # Errors
/// The target cannot be measured, or a job failed.
pub fn run(pipeline: &Pipeline<'_>, request: &BenchRequest<'_>) -> Result<Option<BenchResults>, Failure> {
    iolab_process::count_signals();
    // The temporary file is removed when this is dropped.
    let target = Target::choose(pipeline.engines, request)?;
    let (profile, rounds) = (request.profile, request.rounds);
    let writable = target.measured.writable;
    let measured = profile.patterns.iter().filter(|pattern| writable || !pattern.access.writes()).count();
    let pace = RoundPlan::of(request.time_ns, rounds, measured);
    let run_words = |words: &[String], label: &str| run_job(pipeline, words, &target.allowed, label);
    // A device that is new for every pattern cannot be filled beforehand.
    let fills = matches!(profile.procedure, Procedure::UntilSteady { .. }) && !target.measured.is_new_each_time;
    if fills && writable {
        let filled =
            run_words(&iolab_bench::fill_words(&target.measured), "preconditioning: writing everything twice")?;
        if filled.is_none() {
            pipeline.console.status("");
            return Ok(None);
        }
    }
    let mut runs = 0..u64::from(rounds) * measured as u64;
    let measured = iolab_bench::measure(profile, writable, rounds, |pattern, round| {
        let label = format!("round {} of {rounds}: {}{}", round + 1, pattern.name, left(&runs, pace.runtime_ms));
        runs.next();
        let words = iolab_bench::words(pattern, &target.measured, round, pace.runtime_ms);
        run_words(&words, &label)
    });
    pipeline.console.status("");
    let Some(done) = measured? else { return Ok(None) };
    Ok(Some(BenchResults {
        measured: target.measured.clone(),
        profile,
        pace,
        cases: done.cases,
        seen: done.seen,
        drives: known_drives(),
        steady: done.steady,
    }))
}

/// The remaining time; nothing once there are more runs than requested.
fn left(runs: &Range<u64>, runtime_ms: u64) -> String {
    match (runs.end - runs.start.min(runs.end)) * runtime_ms / 1000 {
        0 => String::new(),
        seconds => format!(", about {seconds} s left"),
    }
}

/// One job; `None` if the user ended it.
fn run_job(
    pipeline: &Pipeline<'_>,
    words: &[String],
    allowed: &[PathBuf],
    label: &str,
) -> Result<Option<Reading>, Failure> {
    if INTERRUPTS.load(Ordering::Relaxed) > 0 {
        return Ok(None);
    }
    let planned = pipeline.plan_words(words)?;
    let judged = pipeline.judge(&planned.plan, Mode::Iolab, allowed)?;
    let mut status = Status { console: pipeline.console, label, creating: None };
    let (recording, _) = pipeline.run(&planned, judged.guard, None, &mut status)?;
    if recording.interrupted {
        return Ok(None);
    }
    for worker in &recording.workers {
        if let WorkerOutcome::Failed { message, .. } | WorkerOutcome::Crashed { message, .. } = &worker.outcome {
            return Err(Failure::failed(message.clone())).context(label);
        }
    }
    Ok(Some(Reading::of(&recording)))
}

/// The presets that have a data sheet, each data sheet once.
fn known_drives() -> Vec<KnownDrive> {
    let mut sheets = Vec::new();
    let mut drives = Vec::new();
    for preset in PRESETS {
        let Some(sheet) = preset.sheet.filter(|sheet| !sheets.contains(sheet)) else { continue };
        sheets.push(sheet);
        drives.push(KnownDrive {
            name: preset.name,
            summary: preset.summary,
            read_bytes_per_second: sheet.read_mb_per_second * 1_000_000,
            write_bytes_per_second: sheet.write_mb_per_second * 1_000_000,
            read_iops: sheet.read_iops,
            source: sheet.source,
        });
    }
    drives
}

/// Shows the current round and pattern.
struct Status<'a> {
    console: &'a dyn Console,
    label: &'a str,
    creating: Option<ProgressLine<'a>>,
}

impl RunObserver for Status<'_> {
    fn take(&mut self, event: &Event<'_>) -> Wish {
        match event {
            Event::LaidOut { done_bytes, total_bytes, .. } => {
                let console = self.console;
                let begin = || ProgressLine::new(console, "creating the file", ProgressUnit::Bytes, Some(*total_bytes));
                self.creating.get_or_insert_with(begin).at(*done_bytes);
            }
            Event::Progress(_) => self.console.status(self.label),
            _ => {}
        }
        Wish::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_is_compared_with_once() {
        let drives = known_drives();
        for name in ["970pro", "optane", "sata-tlc"] {
            assert!(drives.iter().any(|drive| drive.name == name), "{name}");
        }
        assert!(drives.iter().all(|drive| drive.name != "970pro-nvmevirt"), "it has the sheet of 970pro");
    }
}
