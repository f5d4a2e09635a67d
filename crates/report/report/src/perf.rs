//! The table of SPDK's `spdk_nvme_perf` (app/spdk_nvme_perf in its sources): a line for each device
//! of each core, and a total; below it percentiles or whole histograms, for programs that read that
//! tool's output.
//!
//! Latencies are completion latencies, as in SPDK: from the submission of a command to its
//! completion. Percentiles are of merged histograms; a line without operations shows dashes.

use std::fmt::Write;

use iolab_aggregate::{CountedFile, Throughput, counted_files, members};
use iolab_histogram::{SparseHistogram, bucket_low};
use iolab_plan::{Direction, WorkerPlan};
use iolab_recording::{Recording, WorkerRecording};

/// What follows the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerfDetail {
    /// Nothing.
    Table,
    /// Percentiles (`-L`).
    Percentiles,
    /// Percentiles and histograms (`-LL`).
    Histograms,
}

/// The percentiles that `spdk_nvme_perf -L` prints.
const PERCENTILES: [f64; 14] =
    [1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.9, 99.99, 99.999, 99.99999];

/// One line of the table.
struct Line {
    label: String,
    done: Throughput,
    latency: SparseHistogram,
}

/// The whole report.
pub fn perf(recording: &Recording, detail: PerfDetail) -> String {
    let members = members(recording);
    let lines: Vec<Line> = members.iter().flat_map(|(plan, worker)| lines_of(plan, worker)).collect();
    let mut text = table(&lines, Throughput::of(&Direction::ALL, &members));
    if detail != PerfDetail::Table {
        for line in lines.iter().filter(|line| !line.latency.is_empty()) {
            text += &percentiles(line);
        }
    }
    if detail == PerfDetail::Histograms {
        for line in lines.iter().filter(|line| !line.latency.is_empty()) {
            text += &histogram(line);
        }
    }
    text
}

/// A line for each device with its own counters, or one for the worker.
fn lines_of(plan: &WorkerPlan, worker: &WorkerRecording) -> Vec<Line> {
    let files = counted_files(&[(plan, worker)]);
    if files.is_empty() {
        return vec![line(plan, worker)];
    }
    let of = |file: &CountedFile| {
        let whole = file.whole();
        Line { label: format!("{}{}", file.path, core(plan)), done: whole.done, latency: whole.clat }
    };
    files.iter().map(of).collect()
}

/// ` from core 3`, for a worker pinned to one core.
fn core(plan: &WorkerPlan) -> String {
    let core = plan.process.cpus.as_ref().and_then(|cpus| cpus.first());
    core.map_or(String::new(), |core| format!(" from core {core}"))
}

fn line(plan: &WorkerPlan, worker: &WorkerRecording) -> Line {
    let mut devices: Vec<String> = plan.files.iter().map(|file| file.path.display().to_string()).collect();
    if devices.is_empty() {
        devices.push(plan.job.clone());
    }
    let mut line = Line {
        label: format!("{}{}", devices.join(" + "), core(plan)),
        done: Throughput::of_worker(&Direction::ALL, worker),
        latency: SparseHistogram::default(),
    };
    for direction in worker.directions.iter().filter(|direction| direction.ios > 0) {
        line.latency.merge(if direction.clat.is_empty() { &direction.lat } else { &direction.clat });
    }
    line
}

fn table(lines: &[Line], done: Throughput) -> String {
    let widest = lines.iter().map(|line| line.label.len()).max().unwrap_or(0).max("Device Information".len());
    let row = |label: &str, cells: [String; 5]| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>11}")).collect();
        format!("{label:<widest$} :{}\n", cells.join(" "))
    };
    let rule = "=".repeat(widest + 2 + 5 * 12);
    let mut text = format!("{rule}\n{:>1$}\n", "Latency(us)", widest + 2 + 5 * 12 - 12);
    text += &row("Device Information", ["IOPS", "MiB/s", "Average", "min", "max"].map(str::to_owned));
    let mut total = Line { label: "Total".into(), done, latency: SparseHistogram::default() };
    for line in lines {
        text += &row(&line.label, cells(line));
        total.latency.merge(&line.latency);
    }
    text + &rule + "\n" + &row("Total", cells(&total)) + "\n"
}

fn cells(line: &Line) -> [String; 5] {
    let us = |ns: f64| if line.latency.is_empty() { "-".to_owned() } else { format!("{:.2}", ns / 1000.0) };
    [
        format!("{:.2}", line.done.ios_per_second()),
        format!("{:.2}", line.done.bytes_per_second() / f64::from(1 << 20)),
        us(line.latency.mean()),
        us(line.latency.min as f64),
        us(line.latency.max as f64),
    ]
}

fn percentiles(line: &Line) -> String {
    let mut text = format!("Summary latency data for {}:\n", line.label);
    text.push_str(&"=".repeat(81));
    text.push('\n');
    for percentile in PERCENTILES {
        let ns = line.latency.percentile(percentile) as f64;
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{percentile:>9.5}% : {:>9.3}us", ns / 1000.0);
    }
    text.push('\n');
    text
}

fn histogram(line: &Line) -> String {
    let mut text = format!("Latency histogram for {}:\n", line.label);
    text.push_str(&"=".repeat(81));
    text += "\n       Range in us     Cumulative    IO count\n";
    let mut seen = 0;
    for &(bucket, count) in &line.latency.buckets {
        seen += count;
        let [low, high] = [bucket, bucket + 1].map(|index| bucket_low(index as usize) as f64 / 1000.0);
        let share = seen as f64 / line.latency.count as f64 * 100.0;
        let _ = writeln!(text, "{low:>9.3} - {high:>9.3}: {share:>9.4}%  ({count:>9})");
    }
    text.push('\n');
    text
}
