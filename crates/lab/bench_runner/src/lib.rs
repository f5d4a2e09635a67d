//! Runs the patterns of `bench` on a target.
//!
//! Every pattern is a job that goes the way of all jobs: resolved to a plan, judged by the guard,
//! run. What is measured is chosen in `target.rs`; nothing that somebody might miss is written to,
//! unless the user allows it by name.

mod target;

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use iolab_activity::{Console, Context, Failure};
use iolab_bench::{KnownDrive, Pace, Procedure, Profile, Reading, Results};
use iolab_pipeline::Pipeline;
use iolab_process::INTERRUPTS;
use iolab_recording::Outcome;
use iolab_resolve::Mode;
use iolab_runner::{Event, Observer, Wish};
use iolab_ssd_timing::presets::PRESETS;

use target::Target;

/// What is measured, for how long, by which patterns.
#[derive(Debug, Clone, Copy)]
pub struct BenchRequest<'a> {
    /// A folder (gets a temporary file), a file, a block device, or an NVMe device.
    pub target: &'a str,
    /// The patterns.
    pub profile: &'static Profile,
    /// Length of all measurements together, seconds.
    pub seconds: u64,
    /// Rounds; each runs every pattern once.
    pub rounds: u32,
    /// A first look: the temporary file is smaller.
    pub is_quick: bool,
    /// Size of the temporary file, or how much of a file or device is used, bytes.
    pub size_bytes: Option<u64>,
    /// What may be overwritten whatever is on it.
    pub allowed: &'a [PathBuf],
}

/// Measures; `None` if the user ended it.
///
/// # Errors
/// The target cannot be measured, or a job failed.
pub fn run(pipeline: &Pipeline<'_>, request: &BenchRequest<'_>) -> Result<Option<Results>, Failure> {
    iolab_process::count_signals();
    // The temporary file goes when this goes.
    let target = Target::choose(pipeline.engines, request)?;
    let (profile, rounds) = (request.profile, request.rounds);
    let writable = target.measured.writable;
    let measured = profile.patterns.iter().filter(|pattern| writable || !pattern.access.writes()).count();
    let pace = Pace::of(request.seconds, rounds, measured);
    let run_words = |words: &[String], label: &str| run_job(pipeline, words, &target.allowed, label);
    // What is new for every pattern cannot be filled before.
    let fills = matches!(profile.procedure, Procedure::UntilSteady { .. }) && !target.measured.is_new_each_time;
    if fills && writable {
        let filled = run_words(&iolab_bench::fill_words(&target.measured), "writing everything twice")?;
        if filled.is_none() {
            pipeline.console.status("");
            return Ok(None);
        }
    }
    let measured = iolab_bench::measure(profile, writable, rounds, |pattern, round| {
        let label = format!("round {} of {rounds}: {}", round + 1, pattern.name);
        let words = iolab_bench::words(pattern, &target.measured, round, pace.runtime_ms);
        run_words(&words, &label)
    });
    pipeline.console.status("");
    let Some(done) = measured? else { return Ok(None) };
    Ok(Some(Results {
        measured: target.measured.clone(),
        profile,
        pace,
        cases: done.cases,
        seen: done.seen,
        drives: known_drives(),
        steady: done.steady,
    }))
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
    let mut status = Status { console: pipeline.console, label };
    let (recording, _) = pipeline.run(&planned, judged.guard, None, &mut status)?;
    if recording.interrupted {
        return Ok(None);
    }
    for worker in &recording.workers {
        if let Outcome::Failed { message, .. } | Outcome::Crashed { message, .. } = &worker.outcome {
            return Err(Failure::failed(message.clone())).context(label);
        }
    }
    Ok(Some(Reading::of(&recording)))
}

/// The presets that have a sheet, each sheet once.
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

/// Says which round and which pattern it is.
struct Status<'a> {
    console: &'a dyn Console,
    label: &'a str,
}

impl Observer for Status<'_> {
    fn take(&mut self, event: &Event<'_>) -> Wish {
        match event {
            Event::LaidOut { done_bytes, total_bytes, .. } => {
                self.console.status(&format!("making the file: {} of {} MiB", done_bytes >> 20, total_bytes >> 20));
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
