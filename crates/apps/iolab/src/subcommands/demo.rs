//! `iolab demo`: the command line of `iolab-demo`, which compares ways to storage on this machine.

use std::path::PathBuf;

use iolab_demo::{DemoRequest, run};
use iolab_outputs::OutputKind;

use crate::exit::{ExitFailure, INTERRUPTED};
use crate::{output, outputs, pipeline};

/// How the demonstration runs.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArguments {
    /// Folder for the temporary file; by default the current one
    #[arg(long)]
    pub(crate) directory: Option<PathBuf>,
    /// Size of the temporary file, MiB
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub(crate) size_mib: u64,
    /// Number of rounds; each round runs every case once
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
    /// Write the page with all figures to this file; a page that iolab wrote earlier is replaced
    #[arg(short = 'o', long, value_name = "FILE", default_value = "iolab-demo.html")]
    pub(crate) output: PathBuf,
    /// Allow the page to replace a file that iolab did not write
    #[arg(long)]
    pub(crate) force: bool,
    /// Measuring time per case and round, milliseconds
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(50..=600_000))]
    pub(crate) milliseconds: u64,
}

pub(crate) fn main(arguments: &DemoArguments) -> Result<u8, ExitFailure> {
    let mut files = outputs::beside(arguments.force, []);
    let place = files.place(&arguments.output, OutputKind::Report, "the page (-o)")?;
    let request = DemoRequest {
        directory: arguments.directory.as_deref(),
        size_mib: arguments.size_mib,
        rounds: arguments.rounds,
        milliseconds: arguments.milliseconds,
    };
    let Some(measured) = run(&pipeline::pipeline(), &request)? else { return Ok(INTERRUPTED) };
    place.write(measured.page(&output::command_line(), env!("CARGO_PKG_VERSION")).as_bytes())?;
    output::print_for_people(&measured.text(&arguments.output))?;
    Ok(0)
}
