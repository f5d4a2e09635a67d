//! Runs jobs of Seastar's `io_tester` on images and folders.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use iolab_activity::Failure;
use iolab_bounded_read::{ReadError, TESTER_FILE};
use iolab_logfs_bench::{
    ArrivalPacing, BenchTarget, ConfError, Job, JobKind, JobResult, TesterConf, TesterOptions, TesterResult, run_tester,
};
use iolab_order::Arrange;
use iolab_process::keep_freed_memory;
use serde_json::{Value, json};

use crate::FsError;
use crate::facts::size_text;
use crate::targets::{LogfsSetting, latency_columns, latency_json, latency_titles, targets, usual_domains};

/// The jobs, and what they run on.
#[derive(Debug, Clone, Copy)]
pub struct TesterRequest<'a> {
    /// Jobs in YAML.
    pub conf: &'a Path,
    /// Images (regular files, block devices) and folders.
    pub targets: &'a [PathBuf],
    /// How long the jobs run, unless their limits end them earlier.
    pub duration_ns: u64,
    /// Domains; as many as processors by default, and fewer on small images.
    pub domains: Option<u32>,
    /// Only these of the jobs.
    pub only: &'a [String],
    /// Whether to run one job after another, each on a new target.
    pub alone: bool,
    /// All random choices follow from it.
    pub seed: u64,
    /// How images are made.
    pub logfs: LogfsSetting,
}

/// What ran on a target, and its result.
#[derive(Debug)]
pub struct TesterRun {
    target: BenchTarget,
    conf: TesterConf,
    options: TesterOptions,
    result: TesterResult,
}

/// Runs the jobs on each target; calls `done` after each.
///
/// # Errors
/// Errors of the jobs are found before a target is touched.
pub fn test_io(
    request: &TesterRequest<'_>,
    mut done: impl FnMut(&TesterRun) -> Result<(), Failure>,
) -> Result<(), FsError> {
    let place = request.conf.display();
    let unreadable = |error: ReadError| Failure::mistake(format!("{place}: {error}"));
    let yaml = iolab_bounded_read::read_text(request.conf, TESTER_FILE).map_err(unreadable)?;
    let wrong = |error: ConfError| Failure::mistake(format!("{place}:{}: {}", error.line, error.message));
    let mut conf = TesterConf::parse(&yaml).map_err(wrong)?;
    if let Some(name) = request.only.iter().find(|name| conf.jobs.iter().all(|job| job.name != **name)) {
        return Err(Failure::mistake(format!("--only={name}: {place} has no such job")).into());
    }
    conf.jobs.retain(|job| request.only.is_empty() || request.only.contains(&job.name));
    // Errors of the jobs are reported before a target is touched.
    conf.shards(request.domains, 1).map_err(wrong)?;
    let targets = targets(request.targets, &request.logfs)?;
    let shards = conf.shards(request.domains, usual_domains(&targets)?).map_err(wrong)?;
    let options = TesterOptions { duration_ns: request.duration_ns, shards, seed: request.seed };
    keep_freed_memory();
    for target in targets {
        let result = match request.alone {
            true => run_alone(&target, &conf, &options)?,
            false => run_tester(&target, &conf, &options)?,
        };
        done(&TesterRun { target, conf: conf.clone(), options, result })?;
    }
    Ok(())
}

/// Runs one job after another; the results have the form of a joint run.
fn run_alone(target: &BenchTarget, conf: &TesterConf, options: &TesterOptions) -> Result<TesterResult, FsError> {
    let mut all = TesterResult { shards: Vec::new(), joint: Vec::new() };
    for (place, job) in conf.jobs.iter().enumerate() {
        let one = run_tester(target, &TesterConf { jobs: vec![job.clone()] }, options)?;
        let placed = |result: JobResult| JobResult { job: place, ..result };
        all.shards.extend(one.shards.into_iter().map(placed));
        all.joint.extend(one.joint.into_iter().map(placed));
    }
    all.shards.arrange_by_key(|result| (result.shard, result.job));
    Ok(all)
}

/// `seqwrite of 128 KiB, 10 at once`.
fn described(job: &Job) -> String {
    let mut text = job.kind.name().to_owned();
    if job.kind != JobKind::Cpu {
        let _ = write!(text, " of {}", size_text(job.request_bytes));
    }
    let _ = match job.pace {
        ArrivalPacing::Closed { think_ns: 0, .. } => write!(text, ", {} at once", job.parallel),
        ArrivalPacing::Closed { think_ns, .. } => {
            write!(text, ", {} at once, pauses of {}", job.parallel, iolab_units::format_ns(think_ns))
        }
        ArrivalPacing::Open { rate, batch, .. } => {
            write!(text, ", {} × {rate}/s, batches of {batch}", job.parallel)
        }
    };
    text
}

/// A run as tables.
pub fn tester_text(TesterRun { target, conf, options, result: run }: &TesterRun) -> String {
    let kind = if matches!(target, BenchTarget::Image(_)) { "logfs" } else { "folder" };
    let mut text = format!("{} ({kind}), domains: {}\n", target.path().display(), options.shards);
    for joint in &run.joint {
        let Some(job) = conf.jobs.get(joint.job) else { continue };
        let _ = writeln!(text, "{} ({})", job.name, described(job));
        let _ = writeln!(text, "  {:<10} {:>10} {:>9} {:>9}{}", "", "requests", "IOPS", "MiB/s", latency_titles());
        let of_job: Vec<&JobResult> = run.shards.iter().filter(|result| result.job == joint.job).collect();
        // A job on one shard needs no joining.
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

/// A run as JSON.
pub fn tester_json(TesterRun { target, conf, options, result: run }: &TesterRun) -> Value {
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
        "kind": if matches!(target, BenchTarget::Image(_)) { "logfs" } else { "folder" },
        "jobs": run.joint.iter().map(job).collect::<Vec<_>>(),
        "domains": (0..options.shards).map(domain).collect::<Vec<_>>(),
    })
}
