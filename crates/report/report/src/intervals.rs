//! Intervals, one line each: JSON lines for programs, a table for people.
//!
//! This is not a format of fio. Both forms show the same figures, see
//! [`iolab_aggregate::interval_figures`]; the table shows the total latency, or the completion
//! latency if the total was not measured.

use std::fmt::Write;

use iolab_aggregate::{IntervalFigures, interval_figures, per_second};
use iolab_histogram::SparseHistogram;
use iolab_recording::Recording;

/// One JSON object per line, for each interval, job and direction. Times are ns, `start_ns` since
/// the start of the run. Latencies that were not measured, or of which there are none, are omitted.
pub fn intervals_json_lines(recording: &Recording) -> String {
    let mut text = String::new();
    for figures in interval_figures(recording) {
        let job = serde_json::Value::from(figures.job);
        let workers = serde_json::Value::from(figures.workers.as_slice());
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            r#"{{"job":{job},"workers":{workers},"direction":"{}","start_ns":{},"length_ns":{},"ios":{},"bytes":{}"#,
            figures.direction.name(),
            figures.start_ns,
            figures.length_ns,
            figures.ios,
            figures.bytes,
        );
        for (name, histogram) in [("lat", &figures.lat), ("clat", &figures.clat), ("response", &figures.response)] {
            if !histogram.is_empty() {
                let [p50, p99, p99_9] = PERCENTILES.map(|percent| histogram.percentile(percent));
                let max = histogram.max;
                let _ =
                    write!(text, r#","{name}":{{"p50_ns":{p50},"p99_ns":{p99},"p99_9_ns":{p99_9},"max_ns":{max}}}"#);
            }
        }
        text.push_str("}\n");
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
