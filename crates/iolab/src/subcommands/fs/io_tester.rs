//! `iolab fs io-tester`: jobs as Seastar's `io_tester` describes them, on an image or a folder.

use std::fmt::Write;
use std::path::PathBuf;

use iolab_fs_bench::{ConfError, Job, JobResult, Kind, Pace, TesterConf, TesterOptions, run_tester};
use serde_json::{Value, json};

use super::facts::size_text;
use super::targets::{LogfsArguments, targets};
use crate::exit::Failure;
use crate::output;

/// The jobs, and what they run on.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "An image is made anew, and what it holds is lost; in a folder a folder is made and removed. The files of all jobs are written before the \
                        time begins. One thread drives the jobs of all shards: a shard is a set of files and requests of its own."
)]
pub(crate) struct Arguments {
    /// Jobs in YAML; what has no meaning here is refused with its line
    conf: PathBuf,
    /// Image (regular file, block device) or folder
    target: PathBuf,
    /// How long the jobs run, unless their limits end them before
    #[arg(long, value_parser = duration, default_value = "10s")]
    duration: u64,
    /// Shards; as many as the jobs name unless told
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    shards: Option<u32>,
    /// Only these of the jobs
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
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
    let place = arguments.conf.display();
    let unreadable = |error| Failure::mistake(format!("iolab: {place}: {error}"));
    let yaml = std::fs::read_to_string(&arguments.conf).map_err(unreadable)?;
    let wrong = |error: ConfError| Failure::mistake(format!("iolab: {place}:{}: {}", error.line, error.message));
    let mut conf = TesterConf::parse(&yaml).map_err(wrong)?;
    if let Some(name) = arguments.only.iter().find(|name| conf.jobs.iter().all(|job| job.name != **name)) {
        return Err(Failure::mistake(format!("iolab: --only={name}: {place} has no such job")));
    }
    conf.jobs.retain(|job| arguments.only.is_empty() || arguments.only.contains(&job.name));
    let shards = conf.shards(arguments.shards).map_err(wrong)?;
    let options = TesterOptions { duration_ns: arguments.duration, shards, seed: arguments.seed };
    for target in targets(std::slice::from_ref(&arguments.target), &arguments.logfs)? {
        let results = run_tester(&target, &conf, &options)?;
        output::print(&if arguments.json {
            format!("{:#}\n", as_json(&conf, &options, &results))
        } else {
            as_text(&conf, &results)
        })?;
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

/// In a second.
fn rate(count: u64, result: &JobResult) -> f64 {
    count as f64 * 1e9 / result.elapsed_ns.max(1) as f64
}

/// `seqwrite of 128 KiB, 10 at once`.
fn described(job: &Job) -> String {
    let mut text = job.kind.name().to_owned();
    if job.kind != Kind::Cpu {
        let _ = write!(text, " of {}", size_text(job.request_bytes));
    }
    let _ = match job.pace {
        Pace::Closed { think_ns: 0, .. } => write!(text, ", {} at once", job.parallel),
        Pace::Closed { think_ns, .. } => {
            write!(text, ", {} at once, pauses of {}", job.parallel, iolab_units::format_ns(think_ns))
        }
        Pace::Open { rate, batch, .. } => write!(text, ", {} times {rate}/s, batches of {batch}", job.parallel),
    };
    text
}

fn as_text(conf: &TesterConf, results: &[JobResult]) -> String {
    let (mut text, mut shard) = (String::new(), None);
    for result in results {
        if shard.replace(result.shard) != Some(result.shard) {
            let _ = writeln!(text, "shard {}", result.shard);
        }
        let Some(job) = conf.jobs.get(result.job) else { continue };
        let _ = writeln!(text, "  {} ({})", job.name, described(job));
        let mib = rate(result.class.bytes, result) / f64::from(1 << 20);
        let iops = rate(result.class.operations, result);
        let operations = result.class.operations;
        let _ = match job.kind {
            Kind::Cpu => writeln!(text, "    {operations} times, {iops:.0} a second"),
            _ => writeln!(text, "    {operations} requests, {mib:.1} MiB/s, {iops:.0} IOPS"),
        };
        let latency = result.class.latency.to_sparse();
        let [p50, p95, p99, p999] =
            [50.0, 95.0, 99.0, 99.9].map(|percent| iolab_units::rounded_ns(latency.percentile(percent) as f64));
        let (mean, max) = (iolab_units::rounded_ns(latency.mean()), iolab_units::rounded_ns(latency.max as f64));
        let _ = writeln!(text, "    latency avg {mean}  p50 {p50}  p95 {p95}  p99 {p99}  p99.9 {p999}  max {max}");
    }
    text
}

fn as_json(conf: &TesterConf, options: &TesterOptions, results: &[JobResult]) -> Value {
    let job = |result: &JobResult| {
        let latency = result.class.latency.to_sparse();
        let at = |percent| latency.percentile(percent);
        json!({
            "name": result.class.name,
            "type": conf.jobs.get(result.job).map(|job| job.kind.name()),
            "seconds": result.elapsed_ns as f64 / 1e9,
            "requests": result.class.operations,
            "bytes": result.class.bytes,
            "bytes_per_second": rate(result.class.bytes, result),
            "iops": rate(result.class.operations, result),
            "latency_ns": { "mean": latency.mean(), "p50": at(50.0), "p95": at(95.0), "p99": at(99.0), "p99.9": at(99.9), "max": latency.max },
        })
    };
    let shard = |shard: u32| {
        let of_shard = results.iter().filter(|result| result.shard == shard);
        json!({ "shard": shard, "jobs": of_shard.map(job).collect::<Vec<_>>() })
    };
    Value::from((0..options.shards).map(shard).collect::<Vec<_>>())
}
