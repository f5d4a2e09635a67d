//! What is measured and how it is shown.

use iolab_options::Direction;
use iolab_order::Arrange;
use iolab_plan::{ClockChoice, FilePlan, LimitPlan, MeasurementPlan, PercentilePlan, UnifiedReporting, WorkloadPlan};

use crate::job::Job;
use crate::readings;
use crate::request::Mode;

/// Shortest and longest interval for counting rates, ms.
const INTERVAL_MS: (u64, u64) = (10, 1000);

/// Resolves measurement and presentation.
pub(crate) fn resolve(
    job: &Job<'_>,
    limits: &LimitPlan,
    workload: &WorkloadPlan,
    files: &[FilePlan],
) -> MeasurementPlan {
    let disabled = |name| job.on(job.later(name, "gtod_reduce").unwrap_or(name));
    let slat = !disabled("disable_slat");
    let clat = !disabled("disable_clat");
    let lat = !disabled("disable_lat");
    let bandwidth = !disabled("disable_bw_measurement");
    let bandwidth_window_ms = window_ms(job, "bwavgtime", "write_bw_log");
    let iops_window_ms = window_ms(job, "iopsavgtime", "write_iops_log");
    let interval_ms = bandwidth_window_ms.min(iops_window_ms).clamp(INTERVAL_MS.0, INTERVAL_MS.1);
    let sample_interval_ns = sample_interval_ns(job, limits);
    MeasurementPlan {
        stats: job.on("stats"),
        slat,
        clat,
        lat,
        bandwidth,
        interval_ns: interval_ms * 1_000_000,
        histogram_interval_ns: histogram_interval_ns(job),
        sample_interval_ns,
        trace_block: trace_block(job, sample_interval_ns),
        per_file: per_file(job, clat),
        block_errors_bytes: block_errors(job, workload, files),
        bandwidth_window_ms,
        iops_window_ms,
        percentiles: percentiles(job, slat, clat, lat),
        unified: unified(job),
        disk_util: job.on("disk_util"),
        clock: clock(job),
        commits_per_sync: job.given("commits_per_sync", readings::floats).and_then(|list| list.first().copied()),
        calibrate: job.given("calibrate", readings::flag).unwrap_or(job.request.mode == Mode::Iolab),
        start_clock: job.count("job_start_clock_id"),
        kb_base: job.count("kb_base"),
        unit_base: job.count("unit_base"),
        significant_figures: job.count("significant_figures").clamp(1, 10),
    }
}

/// An averaging window, at most as long as that of the corresponding log.
fn window_ms(job: &Job<'_>, name: &'static str, log: &'static str) -> u64 {
    let asked_ms = job.time_ns(name) / 1_000_000;
    let log_ms = job.time_ns("log_avg_msec") / 1_000_000;
    if job.has(log) && log_ms > 0 { asked_ms.min(log_ms).max(1) } else { asked_ms.max(1) }
}

/// Shortest and longest interval for recording latencies, and that of a run of unknown length, ns.
const SHORTEST_NS: u64 = 10_000_000;
const LONGEST_NS: u64 = 3_600_000_000_000;
const USUAL_NS: u64 = 1_000_000_000;

fn histogram_interval_ns(job: &Job<'_>) -> u64 {
    let asked_ns = job.time_ns("interval");
    if asked_ns != 0 && !(SHORTEST_NS..=LONGEST_NS).contains(&asked_ns) {
        job.error("interval", "an interval must be 10ms to 1h", "interval=1s, or interval=0 for none");
    }
    asked_ns
}

/// A run of known length is sampled often enough to show changes, but not so often that its
/// recording grows without limit.
const LOOKS_OF_SHORT_RUNS: u64 = 20;
const LOOKS_OF_LONG_RUNS: u64 = 3600;
const USUAL_SHORTEST_NS: u64 = 100_000_000;

fn sample_interval_ns(job: &Job<'_>, limits: &LimitPlan) -> u64 {
    let length_ns = limits.runtime_ns.map(|runtime_ns| runtime_ns.saturating_add(limits.ramp_ns));
    let usual_ns = length_ns.map_or(USUAL_NS, |length_ns| {
        let short_ns = (length_ns / LOOKS_OF_SHORT_RUNS).clamp(USUAL_SHORTEST_NS, USUAL_NS);
        short_ns.max(length_ns / LOOKS_OF_LONG_RUNS).min(LONGEST_NS)
    });
    let unasked_ns = if job.request.mode == Mode::Iolab { usual_ns } else { 0 };
    let asked_ns = job.given("sample_interval", readings::time_ns).unwrap_or(unasked_ns);
    if asked_ns != 0 && !(SHORTEST_NS..=LONGEST_NS).contains(&asked_ns) {
        job.error(
            "sample_interval",
            "sample_interval must be 10ms to 1h",
            "sample_interval=1s, or sample_interval=0 for none",
        );
    }
    asked_ns
}

/// Whether to trace requests. They are recorded by sampling interval.
fn trace_block(job: &Job<'_>, sample_interval_ns: u64) -> bool {
    let asked = job.on("trace_block");
    if asked && sample_interval_ns == 0 {
        job.warn("trace_block", "trace_block has no effect with sample_interval=0".to_owned(), "sample_interval=1s");
    }
    asked && sample_interval_ns > 0
}

/// Whether to count per file. The counters of a file are completion latencies.
fn per_file(job: &Job<'_>, clat: bool) -> bool {
    let asked = job.on("per_file_stats");
    if asked && !clat {
        job.warn(
            "per_file_stats",
            "per_file_stats has no effect, because completion latency is not measured".to_owned(),
            "omit gtod_reduce and disable_clat",
        );
    }
    asked && clat
}

/// Most blocks whose trims are counted: 1 GiB of counters.
const MOST_COUNTED_BLOCKS: u64 = 1 << 28;

/// The unit in which trims and errors are counted: that of trims, or of writes where there are
/// none.
fn block_errors(job: &Job<'_>, workload: &WorkloadPlan, files: &[FilePlan]) -> Option<u64> {
    if !job.on("block_error_percentiles") {
        return None;
    }
    let unit = [Direction::Trim, Direction::Write].into_iter().find(|one| workload.pattern.directions.contains(one));
    let Some(unit) = unit else {
        let reason = "block_error_percentiles has no effect, because the job neither trims nor writes";
        job.warn("block_error_percentiles", reason, "for example rw=trimwrite");
        return None;
    };
    let block_bytes = workload.block_sizes[unit.index()].min().max(1);
    let blocks = files.iter().map(|file| file.length_bytes.div_ceil(block_bytes)).fold(0_u64, u64::saturating_add);
    if blocks > MOST_COUNTED_BLOCKS {
        let reason = format!("counting trims of {blocks} blocks would take {} GiB of memory", blocks >> 28);
        job.error("block_error_percentiles", reason, "use larger blocks, or a smaller size");
        return None;
    }
    Some(block_bytes)
}

/// Percentiles of a latency require that it is measured.
fn percentiles(job: &Job<'_>, slat: bool, clat: bool, lat: bool) -> PercentilePlan {
    let mut list = job.value("percentile_list", readings::floats);
    list.arrange_by(f64::total_cmp);
    let wanted = |name, measured: bool| {
        let asked = job.on(name);
        if asked && job.has(name) && !measured {
            job.warn(name, format!("{name} has no effect, because that latency is not measured"), "");
        }
        measured && asked
    };
    PercentilePlan {
        clat: wanted("clat_percentiles", clat),
        lat: wanted("lat_percentiles", lat),
        slat: wanted("slat_percentiles", slat),
        list,
    }
}

fn unified(job: &Job<'_>) -> UnifiedReporting {
    match job.word("unified_rw_reporting").as_str() {
        "mixed" => UnifiedReporting::Mixed,
        "both" => UnifiedReporting::Both,
        _ => UnifiedReporting::None,
    }
}

fn clock(job: &Job<'_>) -> ClockChoice {
    match job.given("clocksource", readings::word).as_deref() {
        Some("cpu") => ClockChoice::Cpu,
        Some("clock_gettime") => ClockChoice::ClockGettime,
        Some("gettimeofday") => ClockChoice::Gettimeofday,
        _ => ClockChoice::Best,
    }
}
