//! fio's log files: lines of latency, bandwidth, IOPS and histogram logs, and the names of the
//! files.
//!
//! Columns of a line: time (ms), value, direction (0 read, 1 write, 2 trim), bytes, priority. On
//! request, the largest value of the window follows the value, the offset follows the bytes, and
//! the issue time (ns) comes last. Values are ns, KiB/s or IOPS. The caller writes the files.

use std::fmt::Write;

use iolab_aggregate::summed_series;
use iolab_histogram::FIO_BUCKETS;
use iolab_plan::{Direction, LogKind, LogPlan, LogWindow, WorkerPlan};
use iolab_recording::{HistogramLogEntry, LogEntry, Recording, WorkerRecording};

/// One line without its line break.
pub fn log_line(entry: &LogEntry, plan: &LogPlan) -> String {
    let mut text = String::new();
    write_log_line(&mut text, entry, plan);
    text.pop();
    text
}

/// Appends one line and its line break.
pub fn write_log_line(text: &mut String, entry: &LogEntry, plan: &LogPlan) {
    let averaged = plan.window_ns > 0;
    push(text, entry.time_ns / 1_000_000);
    text.push_str(", ");
    match plan.window_value {
        LogWindow::Maximum if averaged => push(text, entry.maximum),
        LogWindow::Both if averaged => {
            push(text, entry.value);
            push_next(text, entry.maximum);
        }
        _ => push(text, entry.value),
    }
    push_next(text, entry.direction.index() as u64);
    push_next(text, u64::from(entry.bytes));
    if plan.offset {
        push_next(text, entry.offset);
    }
    if plan.priority {
        let _ = write!(text, ", 0x{:04x}", entry.priority);
    } else {
        push_next(text, u64::from(is_realtime(entry.priority)));
    }
    if plan.issue_time {
        let per_operation = matches!(entry.kind, LogKind::Clat | LogKind::Slat);
        push_next(text, if per_operation { entry.issue_ns } else { 0 });
    }
    text.push('\n');
}

fn push_next(text: &mut String, number: u64) {
    text.push_str(", ");
    push(text, number);
}

fn push(text: &mut String, number: u64) {
    text.push_str(itoa::Buffer::new().format(number));
}

/// Whether the class of an `ioprio_set(2)` value is realtime.
pub(crate) fn is_realtime(priority: u16) -> bool {
    const CLASS_SHIFT: u32 = 13;
    const REALTIME: u16 = 1;
    priority >> CLASS_SHIFT == REALTIME
}

/// One line of a histogram log without its line break: time (ms), direction, bytes, then fio's 1856
/// bins, in sums of `2^coarseness`. Values beyond fio's last bin are counted in it.
pub fn histogram_log_line(entry: &HistogramLogEntry, coarseness: u32) -> String {
    let mut bins = vec![0_u64; FIO_BUCKETS >> coarseness.min(6)];
    let last = bins.len() - 1;
    for &(bucket, count) in &entry.buckets {
        bins[(bucket as usize >> coarseness.min(6)).min(last)] += count;
    }
    let mut text = format!("{}, {}, {}", entry.time_ns / 1_000_000, entry.direction.index(), entry.bytes);
    for bin in bins {
        let _ = write!(text, ", {bin}");
    }
    text
}

/// The log files of one worker with their names: `PREFIX_clat.3.log` for the third worker,
/// `PREFIX_clat.log` when a job's workers share one. `None` stands for the histogram log,
/// `PREFIX_clat_hist.3.log`. Those of a worker on a server end in the server's name, as fio's do:
/// `PREFIX_clat.1.log.HOST`. The names of compressed logs end with `.fz`.
pub fn log_file_names(plan: &LogPlan, worker: &WorkerPlan) -> Vec<(Option<LogKind>, String)> {
    let own_number = plan.client.as_ref().map_or(worker.number, |client| client.worker) + 1;
    let number = if plan.per_job { format!(".{own_number}") } else { String::new() };
    let host = plan.client.as_ref().map_or_else(String::new, |client| format!(".{}", client.host.replace('/', "_")));
    let measured = &worker.measurement;
    let latencies = [(LogKind::Lat, measured.lat), (LogKind::Slat, measured.slat), (LogKind::Clat, measured.clat)];
    let mut names = Vec::new();
    let mut name = |kind: LogKind, prefix: &String| {
        names.push((Some(kind), format!("{prefix}_{}{number}.log{host}", kind.suffix())));
    };
    if let Some(prefix) = &plan.latency {
        latencies.iter().filter(|(_, recorded)| *recorded).for_each(|(kind, _)| name(*kind, prefix));
    }
    plan.bandwidth.iter().for_each(|prefix| name(LogKind::Bw, prefix));
    plan.iops.iter().for_each(|prefix| name(LogKind::Iops, prefix));
    if let Some(histogram) = &plan.histogram {
        names.push((None, format!("{}_clat_hist{number}.log{host}", histogram.prefix)));
    }
    if plan.compressed {
        names.iter_mut().for_each(|(_, name)| name.push_str(".fz"));
    }
    names
}

/// `--bandwidth-log`: name (`agg-read_bw.log`) and text of the log of all workers' bandwidth in
/// `direction`, one line per recorded interval, in the columns of [`log_line`].
pub fn aggregate_bandwidth_log(recording: &Recording, direction: Direction) -> (String, String) {
    let workers: Vec<&WorkerRecording> = recording.workers.iter().collect();
    let interval_ns = recording.plan.workers.iter().map(|worker| worker.measurement.interval_ns).max().unwrap_or(1);
    let mut text = String::new();
    for sample in summed_series(&workers, &[direction], interval_ns) {
        let rate = sample.kib_per_second().round() as u64;
        let _ = writeln!(text, "{}, {rate}, {}, 0, 0", sample.end_ns / 1_000_000, direction.index());
    }
    (aggregate_bandwidth_log_name(direction), text)
}

/// The name, before there is a recording.
pub fn aggregate_bandwidth_log_name(direction: Direction) -> String {
    format!("agg-{}_bw.log", direction.name())
}
