//! `iolab fs io-tester`: jobs as Seastar's `io_tester` describes them, on images and folders.

use std::fmt::Write;
use std::path::PathBuf;

use iolab_bounded_read::{ReadError, TESTER_FILE};
use iolab_logfs_bench::{
    ConfError, Job, JobResult, Kind, Pace, Target, TesterConf, TesterOptions, TesterResult, run_tester,
};
use serde_json::{Value, json};

use super::facts::size_text;
use super::targets::{LogfsArguments, latency_columns, latency_json, latency_titles, targets, usual_domains};
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
    let place = arguments.conf.display();
    let unreadable = |error: ReadError| Failure::mistake(format!("iolab: {place}: {error}"));
    let yaml = iolab_bounded_read::read_text(&arguments.conf, TESTER_FILE).map_err(unreadable)?;
    let wrong = |error: ConfError| Failure::mistake(format!("iolab: {place}:{}: {}", error.line, error.message));
    let mut conf = TesterConf::parse(&yaml).map_err(wrong)?;
    if let Some(name) = arguments.only.iter().find(|name| conf.jobs.iter().all(|job| job.name != **name)) {
        return Err(Failure::mistake(format!("iolab: --only={name}: {place} has no such job")));
    }
    conf.jobs.retain(|job| arguments.only.is_empty() || arguments.only.contains(&job.name));
    // What is wrong with the jobs is told before a target is touched.
    conf.shards(arguments.domains, 1).map_err(wrong)?;
    let targets = targets(&arguments.targets, &arguments.logfs)?;
    let shards = conf.shards(arguments.domains, usual_domains(&targets)?).map_err(wrong)?;
    let options = TesterOptions { duration_ns: arguments.duration, shards, seed: arguments.seed };
    let mut document = Vec::new();
    for target in targets {
        let run =
            if arguments.alone { run_alone(&target, &conf, &options)? } else { run_tester(&target, &conf, &options)? };
        if arguments.json {
            document.push(as_json(&target, (&conf, &options), &run));
        } else {
            output::print(&as_text(&target, (&conf, &options), &run))?;
        }
    }
    if arguments.json {
        output::print(&format!("{:#}\n", Value::from(document)))?;
    }
    Ok(0)
}

/// One job after another; results as if they had run together.
fn run_alone(target: &Target, conf: &TesterConf, options: &TesterOptions) -> Result<TesterResult, Failure> {
    let mut all = TesterResult { shards: Vec::new(), joint: Vec::new() };
    for (place, job) in conf.jobs.iter().enumerate() {
        let one = run_tester(target, &TesterConf { jobs: vec![job.clone()] }, options)?;
        let placed = |result: JobResult| JobResult { job: place, ..result };
        all.shards.extend(one.shards.into_iter().map(placed));
        all.joint.extend(one.joint.into_iter().map(placed));
    }
    all.shards.sort_by_key(|result| (result.shard, result.job));
    Ok(all)
}

/// `10`, `500ms`: seconds unless told.
fn duration(text: &str) -> Result<u64, String> {
    match iolab_units::parse_ns(text, iolab_units::NS_PER_SECOND) {
        Ok(0) => Err("some time is needed".to_owned()),
        parsed => parsed.map_err(|error| error.to_string()),
    }
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

fn as_text(target: &Target, (conf, options): (&TesterConf, &TesterOptions), run: &TesterResult) -> String {
    let kind = if matches!(target, Target::Image(_)) { "logfs" } else { "folder" };
    let mut text = format!("{} ({kind}), domains: {}\n", target.path().display(), options.shards);
    for joint in &run.joint {
        let Some(job) = conf.jobs.get(joint.job) else { continue };
        let _ = writeln!(text, "{} ({})", job.name, described(job));
        let _ = writeln!(text, "  {:<10} {:>10} {:>9} {:>9}{}", "", "requests", "IOPS", "MiB/s", latency_titles());
        let of_job: Vec<&JobResult> = run.shards.iter().filter(|result| result.job == joint.job).collect();
        // Of a job that is on one shard, there is nothing to join.
        let lines = if of_job.len() > 1 { [&[joint], of_job.as_slice()].concat() } else { of_job };
        lines.iter().for_each(|result| text.push_str(&line(result)));
    }
    text
}

fn line(result: &JobResult) -> String {
    let who = result.shard.map_or_else(|| "together".to_owned(), |shard| format!("domain {shard}"));
    let (requests, mib) = (result.class.operations, result.bytes_per_second / f64::from(1 << 20));
    let latency = latency_columns(&result.class.latency.to_sparse());
    format!("  {who:<10} {requests:>10} {:>9.0} {mib:>9.1}{latency}\n", result.iops)
}

fn as_json(target: &Target, (conf, options): (&TesterConf, &TesterOptions), run: &TesterResult) -> Value {
    let job = |result: &JobResult| {
        json!({
            "name": result.class.name,
            "type": conf.jobs.get(result.job).map(|job| job.kind.name()),
            "seconds": result.elapsed_ns as f64 / 1e9,
            "requests": result.class.operations,
            "bytes": result.class.bytes,
            "bytes_per_second": result.bytes_per_second,
            "iops": result.iops,
            "latency_ns": latency_json(&result.class.latency.to_sparse()),
        })
    };
    let domain = |domain: u32| {
        let of_domain = run.shards.iter().filter(|result| result.shard == Some(domain));
        json!({ "domain": domain, "jobs": of_domain.map(job).collect::<Vec<_>>() })
    };
    json!({
        "path": target.path().to_string_lossy(),
        "kind": if matches!(target, Target::Image(_)) { "logfs" } else { "folder" },
        "jobs": run.joint.iter().map(job).collect::<Vec<_>>(),
        "domains": (0..options.shards).map(domain).collect::<Vec<_>>(),
    })
}
