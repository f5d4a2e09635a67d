//! One report, and one job of it.

use std::collections::BTreeMap;

use iolab_histogram::{SparseHistogram, bucket_low, bucket_of, check_buckets};
use iolab_order::{Arrange, Gather};
use serde_json::Value;

use crate::summary::gather;
use crate::{DirectionSummary, JobSummary, Latencies, OperationType, RunSummary};

/// The jobs of a report, or those of all clients without their sum.
pub(super) fn jobs(document: &Value) -> Vec<&Value> {
    let own = document["jobs"].as_array().or(document["client_stats"].as_array());
    own.into_iter().flatten().filter(|job| job["jobname"] != "All clients").collect()
}

/// When the run began, ms since the Unix epoch: a report states the time when it was made, and how
/// many seconds after the start that was.
pub(super) fn start_ms(document: &Value) -> Option<u64> {
    let stated = jobs(document).iter().filter_map(|job| job["job_start"].as_u64()).min();
    stated.or_else(|| {
        let made_ms = document["timestamp_ms"]
            .as_u64()
            .or(document["timestamp"].as_u64().and_then(|seconds| seconds.checked_mul(1000)));
        let elapsed_s = jobs(document).iter().filter_map(|job| job["elapsed"].as_u64()).max().unwrap_or(0);
        made_ms?.checked_sub(elapsed_s.checked_mul(1000)?)
    })
}

pub(super) fn run(name: &str, document: &Value) -> RunSummary {
    let jobs = jobs(document);
    let global = options(&document["global options"]);
    let mut gathered = Vec::new();
    for value in &jobs {
        gather(&mut gathered, job(value, &global));
    }
    let mut hosts: Vec<&str> = jobs.iter().filter_map(|job| job["hostname"].as_str()).collect();
    hosts.dedup();
    let failed = jobs.iter().find(|job| job["error"].as_i64().unwrap_or(0) != 0);
    let flaw = failed.map(|job| format!("job {}: error {}", job["jobname"].as_str().unwrap_or("?"), job["error"]));
    let lost = gathered.iter().any(|job| job.workers > 1 && job.directions.iter().any(lacks_percentiles));
    let note = "several jobs of one name without histograms: their percentiles cannot be combined (fio: --output-format=json+, or group_reporting)";
    RunSummary {
        name: name.to_owned(),
        tool: document["fio version"].as_str().unwrap_or("fio").to_owned(),
        hostname: (!hosts.is_empty()).then(|| hosts.join(", ")),
        started_unix_ns: start_ms(document).and_then(|ms| ms.checked_mul(1_000_000)),
        elapsed_ns: jobs
            .iter()
            .filter_map(|job| job["elapsed"].as_u64())
            .max()
            .and_then(|seconds| seconds.checked_mul(1_000_000_000)),
        flaw,
        notes: lost.then(|| note.to_owned()).into_iter().collect(),
        jobs: gathered,
        ..RunSummary::default()
    }
}

fn lacks_percentiles(direction: &DirectionSummary) -> bool {
    let lacks = |of: &Latencies| of.histogram.is_none() && of.percentiles.is_empty();
    lacks(&direction.lat) && lacks(&direction.clat)
}

fn options(value: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    value.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).gather()
}

fn job(value: &Value, global: &BTreeMap<String, String>) -> JobSummary {
    let mut all = global.clone();
    all.extend(options(&value["job options"]));
    let kinds = [("read", OperationType::Read), ("write", OperationType::Write), ("trim", OperationType::Trim)];
    let of = |(key, operations): (&str, OperationType)| direction(value.get(key)?, operations);
    let mut directions: Vec<DirectionSummary> = kinds.into_iter().filter_map(of).collect();
    if directions.is_empty() {
        directions.extend(of(("mixed", OperationType::Mixed)));
    }
    let share = value["usr_cpu"].as_f64().zip(value["sys_cpu"].as_f64()).map(|(user, system)| (user + system) / 100.0);
    let cpu_ns = share.zip(value["job_runtime"].as_f64()).map(|(share, runtime_ms)| share * runtime_ms * 1e6);
    JobSummary {
        name: value["jobname"].as_str().unwrap_or("job").to_owned(),
        workers: 1,
        // Reports omit options without a value, among them `stonewall`; but that begins a group.
        stage: value["groupid"].as_u64().and_then(|group| u32::try_from(group).ok()).unwrap_or(0),
        options: all,
        directions,
        cpu_ns,
        intervals: Vec::new(),
    }
}

/// `None` when there were no operations.
fn direction(value: &Value, operations: OperationType) -> Option<DirectionSummary> {
    let number = |key: &str| value[key].as_f64();
    let lat = latencies(value, "lat");
    let ios = value["total_ios"].as_u64().unwrap_or(lat.count);
    // Version 2 has no io_kbytes, and counts io_bytes in KiB.
    let scale = if value.get("io_kbytes").is_some() { 1.0 } else { 1024.0 };
    let bytes_per_second = number("bw_bytes").or(number("bw").map(|kib| kib * 1024.0)).unwrap_or(0.0);
    (ios > 0).then(|| DirectionSummary {
        operations,
        ios,
        bytes: (number("io_bytes").unwrap_or(0.0) * scale) as u64,
        ios_per_second: number("iops").unwrap_or(0.0),
        bytes_per_second,
        lat: with_count(lat, ios),
        clat: with_count(latencies(value, "clat"), ios),
        response: latencies(value, "resp"),
    })
}

/// Versions that do not count latencies have one latency for each operation.
fn with_count(latencies: Latencies, ios: u64) -> Latencies {
    let is_uncounted = latencies.count == 0 && latencies.mean_ns.is_some();
    if is_uncounted { Latencies { count: ios, ..latencies } } else { latencies }
}

fn latencies(direction: &Value, key: &str) -> Latencies {
    let (value, scale) = match direction.get(format!("{key}_ns")) {
        Some(value) => (value, 1.0),
        // In version 2, µs.
        None => (&direction[key], 1000.0),
    };
    let mean_ns = value["mean"].as_f64().filter(|mean| *mean > 0.0).map(|mean| mean * scale);
    let histogram = bins(value);
    let stated = |(percent, ns): (&String, &Value)| Some((percent.parse().ok()?, ns.as_f64()? * scale));
    let percentiles: Vec<(f64, f64)> = match histogram {
        Some(_) => Vec::new(),
        // Version 2 pads its list with zeros.
        None => {
            let all = value["percentile"].as_object().into_iter().flatten().filter_map(stated);
            all.filter(|(percent, ns)| *percent > 0.0 && *ns > 0.0).collect()
        }
    };
    let count = histogram.as_ref().map(|all| all.count).or(value["N"].as_u64()).unwrap_or(0);
    Latencies { count, mean_ns, histogram, percentiles }
}

/// `bins` of `json+`: the middle of each bucket and its count.
fn bins(value: &Value) -> Option<SparseHistogram> {
    let pair = |(middle, count): (&String, &Value)| Some((bucket_of(middle.parse().ok()?) as u32, count.as_u64()?));
    let mut buckets: Vec<(u32, u64)> = value["bins"].as_object()?.iter().filter_map(pair).collect();
    buckets.retain(|(_, count)| *count > 0);
    buckets.arrange();
    let (first, last) = (buckets.first()?.0, buckets.last()?.0);
    buckets.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        kept.1 = kept.1.saturating_add(if same { later.1 } else { 0 });
        same
    });
    let count = check_buckets(&buckets).ok()?;
    let within = |bucket: u32, stated: Option<u64>| {
        let (low, end) = (bucket_low(bucket as usize), bucket_low(bucket as usize + 1));
        stated.unwrap_or(low).clamp(low, end.saturating_sub(1).max(low))
    };
    let (mean, deviation) = (value["mean"].as_f64()?, value["stddev"].as_f64().unwrap_or(0.0));
    let total = count as f64;
    Some(SparseHistogram {
        count,
        min: within(first, value["min"].as_u64()),
        max: within(last, value["max"].as_u64()),
        sum: (mean * total) as u128,
        sum_of_squares: deviation * deviation * (total - 1.0) + total * mean * mean,
        buckets,
    })
}
