//! Intervals, one line each: JSON lines for programs, a table for people.
//!
//! This is not a format of fio. Both forms show the same figures, see
//! [`iolab_aggregate::interval_figures`]; the table shows the total latency, or the completion
//! latency if the total was not measured.

use std::fmt::Write;

use iolab_aggregate::{IntervalFigures, interval_figures, per_second};
use iolab_histogram::SparseHistogram;
use iolab_plan::Direction;
use iolab_recording::Recording;
use serde::Serialize;

/// One interval of one job and direction, as a line of JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntervalLine<'a> {
    /// Name of the job.
    pub job: &'a str,
    /// The workers that it is the sum of, by number.
    pub workers: &'a [u32],
    /// Direction of the operations.
    pub direction: Direction,
    /// Start, ns since the start of the run.
    pub start_ns: u64,
    /// Length, ns.
    pub length_ns: u64,
    /// Operations completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Total latency, if measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat: Option<LatencyFigures>,
    /// Completion latency, if measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clat: Option<LatencyFigures>,
    /// Response time, if the load is paced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<LatencyFigures>,
}

/// Percentiles of an interval.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyFigures {
    /// Median, ns.
    pub p50_ns: u64,
    /// 99th percentile, ns.
    pub p99_ns: u64,
    /// 99.9th percentile, ns.
    pub p99_9_ns: u64,
    /// Largest, ns.
    pub max_ns: u64,
}

impl LatencyFigures {
    fn of(histogram: &SparseHistogram) -> Option<LatencyFigures> {
        let [p50_ns, p99_ns, p99_9_ns] = PERCENTILES.map(|percent| histogram.percentile(percent));
        (!histogram.is_empty()).then_some(LatencyFigures { p50_ns, p99_ns, p99_9_ns, max_ns: histogram.max })
    }
}

/// One JSON object per line, for each interval, job and direction. Times are ns, `start_ns` since
/// the start of the run. Latencies that were not measured, or of which there are none, are omitted.
pub fn intervals_json_lines(recording: &Recording) -> String {
    let mut text = String::new();
    for figures in interval_figures(recording) {
        let line = IntervalLine {
            job: figures.job,
            workers: &figures.workers,
            direction: figures.direction,
            start_ns: figures.start_ns,
            length_ns: figures.length_ns,
            ios: figures.ios,
            bytes: figures.bytes,
            lat: LatencyFigures::of(&figures.lat),
            clat: LatencyFigures::of(&figures.clat),
            response: LatencyFigures::of(&figures.response),
        };
        // Plain data with string keys: serialisation has no way to fail.
        text += &serde_json::to_string(&line).unwrap_or_default();
        text.push('\n');
    }
    text
}

const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

/// A table with a line for each interval, job and direction.
pub fn intervals_table(recording: &Recording) -> String {
    let all = interval_figures(recording);
    if all.is_empty() {
        return "no intervals were recorded\n".to_owned();
    }
    let jobs: Vec<String> = all.iter().map(name_of).collect();
    let width = jobs.iter().map(|job| job.chars().count()).max().unwrap_or(0).max(3);
    let mut text = format!(
        "{:>11} {:>8} {:<width$} {:<5} {:>10} {:>9} {:>10} {:>10} {:>10} {:>10}\n",
        "start s", "length s", "job", "dir", "IOPS", "MiB/s", "p50 µs", "p99 µs", "p99.9 µs", "max µs"
    );
    for (figures, job) in all.iter().zip(&jobs) {
        let latency = if figures.lat.is_empty() { &figures.clat } else { &figures.lat };
        let [p50, p99, p99_9] = PERCENTILES.map(|percent| microseconds(latency, latency.percentile(percent)));
        let _ = writeln!(
            text,
            "{:>11.3} {:>8.3} {job:<width$} {:<5} {:>10.0} {:>9.1} {p50:>10} {p99:>10} {p99_9:>10} {:>10}",
            figures.start_ns as f64 / 1e9,
            figures.length_ns as f64 / 1e9,
            figures.direction.name(),
            per_second(figures.ios, figures.length_ns),
            per_second(figures.bytes, figures.length_ns) / 1_048_576.0,
            microseconds(latency, latency.max),
        );
    }
    text
}

/// The job, and the number of its worker when each is reported separately.
fn name_of(figures: &IntervalFigures<'_>) -> String {
    match figures.workers.as_slice() {
        [only] => format!("{}#{only}", figures.job),
        _ => figures.job.to_owned(),
    }
}

fn microseconds(of: &SparseHistogram, ns: u64) -> String {
    if of.is_empty() { "-".to_owned() } else { format!("{:.2}", ns as f64 / 1000.0) }
}
