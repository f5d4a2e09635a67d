//! `iolab fs io-tester`: jobs as Seastar's `io_tester` describes them, on images and folders.

use std::path::PathBuf;

use iolab_fs_commands::{TesterRequest, TesterRun, test_io, tester_json, tester_text};
use serde_json::Value;

use super::targets::LogfsArguments;
use crate::exit::Failure;
use crate::output;

/// The jobs, and what they run on.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "An image is made anew, and what it holds is lost; in a folder a folder is made and removed. The files of all jobs are written before the \
                        time begins. Every shard has a thread of its own and, on an image, a domain. Several targets run one after another."
)]
pub(crate) struct Arguments {
    /// Jobs in YAML; what has no meaning here is refused with its line
    conf: PathBuf,
    /// Images (regular files, block devices) and folders
    #[arg(required = true)]
    targets: Vec<PathBuf>,
    /// How long the jobs run, unless their limits end them before
    #[arg(long, value_parser = duration, default_value = "10s")]
    duration: u64,
    /// Domains, io_tester's shards; as many as processors unless told, fewer on small images, and
    /// as many as the jobs name if that is more
    #[arg(long, alias = "shards", value_parser = clap::value_parser!(u32).range(1..=1024))]
    domains: Option<u32>,
    /// Only these of the jobs
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// One job after another, each on a target made anew, instead of all side by side
    #[arg(long)]
    alone: bool,
    /// Everything random follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    logfs: LogfsArguments,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, Failure> {
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

/// `10`, `500ms`: seconds unless told.
fn duration(text: &str) -> Result<u64, String> {
    match iolab_units::parse_ns(text, iolab_units::NS_PER_SECOND) {
        Ok(0) => Err("some time is needed".to_owned()),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}
