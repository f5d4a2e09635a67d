//! `iolab bench`: the command line of `iolab-bench`, which says how fast something is without a job
//! file.
//!
//! Every pattern is a job that goes the way of all jobs: resolved to a plan, judged by the guard,
//! run. What is measured is chosen in [`target`]; nothing that somebody might miss is written to,
//! unless `--allow-destroy` names it.

mod target;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::Context;
use iolab_bench::{KnownDrive, PROFILES, Pace, Pattern, Profile, Reading, Results};
use iolab_pipeline::Judged;
use iolab_process::INTERRUPTS;
use iolab_recording::Outcome;
use iolab_resolve::Mode;
use iolab_runner::{Event, Observer, Wish};
use iolab_ssd_timing::presets::PRESETS;

use crate::exit::{Failure, INTERRUPTED};
use crate::{output, pipeline, subcommands};
use target::Target;

/// What is measured, for how long, by which patterns.
#[derive(Debug, clap::Args)]
pub(crate) struct BenchArguments {
    /// A folder (gets a temporary file), a file, a block device, or an NVMe device (`trtype=VIRT
    /// preset=970pro size=1g`)
    pub(crate) target: String,
    /// Patterns: `standard`, or those of a tool
    #[arg(long, default_value = "standard", value_parser = PROFILES.iter().map(|profile| profile.name).collect::<Vec<_>>())]
    pub(crate) profile: String,
    /// Length of all measurements together, seconds; making the file comes on top
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) time: u64,
    /// Rounds; each runs every pattern once
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
    /// A first look: 6 seconds, a file of 256 MiB
    #[arg(long, conflicts_with = "time")]
    pub(crate) quick: bool,
    /// Size of the temporary file (1024 unless told), or how much of a file or device is used (all
    /// unless told), MiB
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub(crate) size_mib: Option<u64>,
    /// One JSON object instead of the card: bytes, seconds, operations per second
    #[arg(long)]
    pub(crate) json: bool,
    /// File or device that may be overwritten whatever is on it; may be given several times
    #[arg(long, value_name = "TARGET")]
    pub(crate) allow_destroy: Vec<PathBuf>,
}

pub(crate) fn main(arguments: &BenchArguments) -> Result<u8, Failure> {
    iolab_process::count_signals();
    let unknown = || Failure::mistake(format!("iolab: unknown profile {}", arguments.profile));
    let profile = Profile::named(&arguments.profile).ok_or_else(unknown)?;
    // The temporary file goes when this goes.
    let target = Target::choose(arguments)?;
    let (seconds, rounds) = (if arguments.quick { 6 } else { arguments.time }, arguments.rounds);
    let measured =
        profile.patterns.iter().filter(|pattern| target.measured.writable || !pattern.access.writes()).count();
    let pace = Pace::of(seconds, rounds, measured);
    let measured = iolab_bench::measure(profile, target.measured.writable, rounds, |pattern, round| {
        let label = format!("round {} of {rounds}: {}", round + 1, pattern.name);
        run(pattern, &target, (round, pace), label)
    });
    clear_line();
    let Some((cases, seen)) = measured? else { return Ok(INTERRUPTED) };
    let results = Results { measured: target.measured.clone(), profile, pace, cases, seen, drives: known_drives() };
    output::print(&if arguments.json { iolab_bench::json(&results) } else { iolab_bench::card(&results) })?;
    Ok(0)
}

/// One round of a pattern; `None` if the user ended it.
fn run(
    pattern: &Pattern,
    target: &Target,
    (round, pace): (u32, Pace),
    label: String,
) -> Result<Option<Reading>, Failure> {
    if INTERRUPTS.load(Ordering::Relaxed) > 0 {
        return Ok(None);
    }
    let words = iolab_bench::words(pattern, &target.measured, round, pace.runtime_ms);
    let asked = subcommands::run::take_apart(&words, Mode::Iolab)?;
    let planned = pipeline::plan(&asked, Mode::Iolab)?;
    let Judged { guard, .. } = pipeline::judge(&planned.plan, Mode::Iolab, &target.allowed)?;
    let (recording, _) = pipeline::run(&planned, guard, None, &mut OneLine { label })?;
    if recording.interrupted {
        return Ok(None);
    }
    for worker in &recording.workers {
        if let Outcome::Failed { message, .. } | Outcome::Crashed { message, .. } = &worker.outcome {
            return Err(anyhow::anyhow!("{message}")).context(pattern.name).map_err(Failure::from);
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

fn clear_line() {
    if std::io::stderr().is_terminal() {
        crate::printing::show_progress("");
    }
}

/// Progress on one line of the terminal.
struct OneLine {
    label: String,
}

impl Observer for OneLine {
    fn take(&mut self, event: &Event<'_>) -> Wish {
        if std::io::stderr().is_terminal() {
            match event {
                Event::LaidOut { done_bytes, total_bytes, .. } => crate::printing::show_progress(&format!(
                    "making the file: {} of {} MiB",
                    done_bytes >> 20,
                    total_bytes >> 20
                )),
                Event::Progress(_) => crate::printing::show_progress(&self.label),
                _ => {}
            }
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
