//! `iolab bench`: the command line of `iolab-bench-runner`, which measures speed without a job
//! file.

use std::path::PathBuf;

use iolab_bench::{BenchProfile, PROFILES};
use iolab_bench_runner::{BenchRequest, run};
use iolab_outputs::OutputKind;
use iolab_units::NS_PER_SECOND;

use crate::durations::at_most_a_day_ns;
use crate::exit::{ExitFailure, INTERRUPTED};
use crate::{output, outputs, pipeline};

/// What is measured, for how long, by which patterns.
#[derive(Debug, clap::Args)]
pub(crate) struct BenchArguments {
    /// A folder (gets a temporary file), a file, a block device, or an NVMe device (`trtype=VIRT
    /// preset=970pro size=1g`)
    pub(crate) target: String,
    /// Set of patterns: `standard`, or the patterns of another tool
    #[arg(long, default_value = "standard", value_parser = PROFILES.iter().map(|profile| profile.name).collect::<Vec<_>>())]
    pub(crate) profile: String,
    /// Total measuring time, seconds or with a unit; creating the file takes extra time
    #[arg(long, value_name = "TIME", default_value = "24", value_parser = at_most_a_day_ns)]
    pub(crate) time: u64,
    /// Number of rounds; each round runs every pattern once
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
    /// Quick estimate: 6 seconds, a 256 MiB file
    #[arg(long, conflicts_with = "time")]
    pub(crate) quick: bool,
    /// Size of the temporary file (default 1024), or how much of a file or device to use (default:
    /// all), MiB
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub(crate) size_mib: Option<u64>,
    /// Print one JSON object instead of the card (bytes, seconds, operations per second)
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the results to this file, as an HTML page with figures
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Allow the page to replace a file that iolab did not write
    #[arg(long)]
    pub(crate) force: bool,
    /// Allow overwriting this file or device, whatever it holds; may be repeated
    #[arg(long, value_name = "TARGET")]
    pub(crate) allow_destroy: Vec<PathBuf>,
}

/// Length of all measurements of a quick estimate, seconds.
const QUICK_SECONDS: u64 = 6;

pub(crate) fn main(arguments: &BenchArguments) -> Result<u8, ExitFailure> {
    let unknown = || ExitFailure::mistake(format!("iolab: unknown profile {}", arguments.profile));
    let mut files = outputs::beside(arguments.force, []);
    let place =
        arguments.output.as_deref().map(|path| files.place(path, OutputKind::Report, "the page (-o)")).transpose()?;
    let request = BenchRequest {
        target: &arguments.target,
        profile: BenchProfile::named(&arguments.profile).ok_or_else(unknown)?,
        time_ns: if arguments.quick { QUICK_SECONDS * NS_PER_SECOND } else { arguments.time },
        rounds: arguments.rounds,
        is_quick: arguments.quick,
        size_bytes: arguments.size_mib.map(|mib| mib << 20),
        allowed: &arguments.allow_destroy,
    };
    let Some(results) = run(&pipeline::pipeline(), &request)? else { return Ok(INTERRUPTED) };
    if let Some(place) = place {
        let page = iolab_bench::page(&results, &output::command_line(), env!("CARGO_PKG_VERSION"));
        place.write(page.html.as_bytes())?;
    }
    match arguments.json {
        true => output::print(&iolab_bench::json(&results))?,
        false => output::print_for_people(&iolab_bench::card(&results))?,
    }
    Ok(0)
}
