//! `iolab fs io-tester`: runs jobs of Seastar's `io_tester` on images and folders.

use std::path::PathBuf;

use iolab_fs_commands::{TesterRequest, TesterRun, test_io, tester_json, tester_text};
use serde_json::Value;

use super::targets::LogfsArguments;
use crate::durations::some_duration_ns;
use crate::exit::ExitFailure;
use crate::output;

/// The jobs, and what they run on.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Images are created anew, so their contents are lost. In a folder, a temporary folder is created \
        and removed. The files of all jobs are written before measuring starts. Each shard has its own thread and, \
        on an image, its own domain. Several targets run one after another."
)]
pub(crate) struct Arguments {
    /// Jobs in YAML; unsupported keys are rejected with their line number
    conf: PathBuf,
    /// Images (regular files or block devices) and folders
    #[arg(required = true)]
    targets: Vec<PathBuf>,
    /// Run time of the jobs, unless their own limits end them earlier
    #[arg(long, value_parser = some_duration_ns, default_value = "10s")]
    duration: u64,
    /// Number of domains (io_tester's shards); by default one per processor, fewer on small images,
    /// more if the jobs name more
    #[arg(long, alias = "shards", value_parser = clap::value_parser!(u32).range(1..=1024))]
    domains: Option<u32>,
    /// Run only the job with this name; may be repeated
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Run the jobs one after another, each on a freshly created target, instead of all together
    #[arg(long)]
    alone: bool,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    logfs: LogfsArguments,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    let request = TesterRequest {
        conf: &arguments.conf,
        targets: &arguments.targets,
        duration_ns: arguments.duration,
        domains: arguments.domains,
        only: &arguments.only,
        alone: arguments.alone,
        seed: arguments.seed,
        logfs: arguments.logfs.setting(),
    };
    let mut document = Vec::new();
    test_io(&request, |run: &TesterRun| {
        if arguments.json {
            document.push(tester_json(run));
            return Ok(());
        }
        super::say(&tester_text(run))
    })?;
    if arguments.json {
        output::print(&format!("{:#}\n", Value::from(document)))?;
    }
    Ok(0)
}
