//! Writes the data that the logs need of each operation, or of each window, to the spool.

use std::fs::File;

use iolab_histogram::Histogram;
use iolab_plan::{Direction, LogKind, LogPlan, LogWindow};
use iolab_recording::{HistogramLogEntry, LogEntry, LoggedOperation, OperationTraits, SpoolBlock};

use crate::latencies::Latencies;
use crate::spool::LogSpool;
use crate::{Sample, Totals};

/// Latency, bandwidth and IOPS logs, per operation or per window.
#[derive(Debug)]
pub(crate) struct Logs {
    spool: LogSpool,
    /// Every operation writes a record.
    each: bool,
    epoch_ns: u64,
    add_ns: u64,
    window_ns: u64,
    value: LogWindow,
    /// Which latencies are written, if any.
    latencies: &'static [LogKind],
    bandwidth: bool,
    iops: bool,
    window_begun_ns: u64,
    window_end_ns: u64,
    windows_closed: bool,
    at_begin: Totals,
    /// Sum, maximum and count of `[lat, clat, slat]`, by direction.
    sums: [[Window; 3]; 3],
}

#[derive(Debug, Clone, Copy, Default)]
struct Window {
    sum: u64,
    maximum: u64,
    count: u64,
}

const LATENCIES: [LogKind; 3] = [LogKind::Lat, LogKind::Clat, LogKind::Slat];
/// Synchronous engines have no submission latency: that log stays empty, as fio's does.
const SYNCHRONOUS_LATENCIES: [LogKind; 2] = [LogKind::Lat, LogKind::Clat];

impl Logs {
    pub(crate) fn new(plan: &LogPlan, synchronous: bool, spool: File, epoch_ns: u64, add_ns: u64) -> Logs {
        let window_end_ns = if plan.window_ns == 0 { u64::MAX } else { epoch_ns + plan.window_ns };
        let latencies: &[LogKind] = match plan.latency {
            None => &[],
            Some(_) if synchronous => &SYNCHRONOUS_LATENCIES,
            Some(_) => &LATENCIES,
        };
        let (bandwidth, iops) = (plan.bandwidth.is_some(), plan.iops.is_some());
        let block = SpoolBlock::new(plan.offset, !synchronous);
        let lines = latencies.len() + usize::from(bandwidth) + usize::from(iops);
        Logs {
            spool: LogSpool::new(spool, block, lines),
            each: plan.window_ns == 0 && lines > 0,
            epoch_ns,
            add_ns,
            window_ns: plan.window_ns,
            value: plan.window_value,
            latencies,
            bandwidth,
            iops,
            window_begun_ns: epoch_ns,
            window_end_ns,
            windows_closed: false,
            at_begin: Totals::default(),
            sums: Default::default(),
        }
    }

    pub(crate) fn start_measuring(&mut self, now_ns: u64) {
        self.spool.restart();
        self.sums = Default::default();
        self.at_begin = Totals::default();
        self.window_begun_ns = now_ns;
        self.windows_closed = false;
        self.window_end_ns = if self.window_ns == 0 { u64::MAX } else { now_ns + self.window_ns };
    }

    pub(crate) fn next_roll_ns(&self) -> u64 {
        self.window_end_ns
    }

    #[inline]
    pub(crate) fn completed(&mut self, sample: &Sample, lat_ns: u64) {
        let clat_ns = sample.reaped_ns.saturating_sub(sample.submitted_ns);
        let slat_ns = sample.submitted_ns.saturating_sub(sample.begun_ns);
        if self.window_ns != 0 {
            let windows = &mut self.sums[sample.direction.index()];
            for (window, value) in windows.iter_mut().zip([lat_ns, clat_ns, slat_ns]) {
                window.sum += value;
                window.maximum = window.maximum.max(value);
                window.count += 1;
            }
        } else if self.each {
            self.spool.operation(&LoggedOperation {
                time_ns: sample.reaped_ns.saturating_sub(self.epoch_ns) + self.add_ns,
                issue_ns: sample.begun_ns.saturating_sub(self.epoch_ns) + self.add_ns,
                lat_ns,
                clat_ns,
                slat_ns,
                offset: sample.offset,
                traits: OperationTraits {
                    bytes: sample.bytes,
                    priority: iolab_engine::io_priority(sample.priority),
                    direction: sample.direction,
                },
            });
        }
    }

    pub(crate) fn roll(&mut self, now_ns: u64, totals: &Totals) {
        while now_ns >= self.window_end_ns {
            let end_ns = self.window_end_ns;
            self.close_window(end_ns, totals);
            self.windows_closed = true;
            self.window_end_ns = end_ns + self.window_ns;
        }
    }

    /// Closes the last window and writes the buffered entries. Returns a sentence if entries were
    /// lost.
    ///
    /// The short rest after the last full window yields no rate: divided by its length, it would
    /// appear in graphs as a peak that never happened. A run shorter than a window keeps its only
    /// window.
    pub(crate) fn finish(&mut self, now_ns: u64, totals: &Totals) -> Option<String> {
        let length_ns = now_ns.saturating_sub(self.window_begun_ns);
        if self.windows_closed && length_ns.saturating_mul(2) < self.window_ns {
            self.bandwidth = false;
            self.iops = false;
        }
        self.close_window(now_ns, totals);
        self.spool.flush();
        self.spool.trouble()
    }

    fn close_window(&mut self, end_ns: u64, totals: &Totals) {
        let length_ns = end_ns.saturating_sub(self.window_begun_ns);
        if self.window_ns == 0 || length_ns == 0 {
            return;
        }
        for direction in Direction::ALL {
            let index = direction.index();
            let ios = totals.ios[index] - self.at_begin.ios[index];
            let bytes = totals.bytes[index] - self.at_begin.bytes[index];
            if ios == 0 {
                continue;
            }
            for (kind, window) in self.latencies.iter().zip(self.sums[index]) {
                self.push_window(end_ns, *kind, direction, window.sum / window.count.max(1), window.maximum);
            }
            let per_second = |amount: u64| (u128::from(amount) * 1_000_000_000 / u128::from(length_ns)) as u64;
            if self.bandwidth {
                let rate = per_second(bytes) / 1024;
                self.push_window(end_ns, LogKind::Bw, direction, rate, rate);
            }
            if self.iops {
                let rate = per_second(ios);
                self.push_window(end_ns, LogKind::Iops, direction, rate, rate);
            }
        }
        self.sums = Default::default();
        self.at_begin = *totals;
        self.window_begun_ns = end_ns;
    }

    fn push_window(&mut self, end_ns: u64, kind: LogKind, direction: Direction, average: u64, maximum: u64) {
        let value = if self.value == LogWindow::Maximum { maximum } else { average };
        self.spool.window(&LogEntry {
            time_ns: end_ns.saturating_sub(self.epoch_ns) + self.add_ns,
            value,
            maximum,
            offset: 0,
            issue_ns: 0,
            bytes: 0,
            priority: 0,
            kind,
            direction,
        });
    }
}

/// Completion latencies per interval, as differences of the running histogram.
#[derive(Debug)]
pub(crate) struct HistogramLog {
    interval_ns: u64,
    next_ns: u64,
    epoch_ns: u64,
    add_ns: u64,
    bytes: u64,
    seen: [Histogram; 3],
    entries: Vec<HistogramLogEntry>,
}

impl HistogramLog {
    pub(crate) fn new(interval_ns: u64, epoch_ns: u64, add_ns: u64, bytes: u64) -> HistogramLog {
        let interval_ns = interval_ns.max(1);
        let next_ns = epoch_ns + interval_ns;
        HistogramLog { interval_ns, next_ns, epoch_ns, add_ns, bytes, seen: Default::default(), entries: Vec::new() }
    }

    pub(crate) fn start_measuring(&mut self, now_ns: u64) {
        self.seen = Default::default();
        self.entries.clear();
        self.next_ns = now_ns + self.interval_ns;
    }

    pub(crate) fn next_roll_ns(&self) -> u64 {
        self.next_ns
    }

    /// The lines so far.
    pub(crate) fn entries(&self) -> &[HistogramLogEntry] {
        &self.entries
    }

    pub(crate) fn roll(&mut self, now_ns: u64, latencies: &[Latencies; 3]) {
        if now_ns >= self.next_ns {
            self.emit(self.next_ns, latencies);
            while self.next_ns <= now_ns {
                self.next_ns += self.interval_ns;
            }
        }
    }

    /// Adds the lines of the interval that ends now.
    pub(crate) fn emit(&mut self, end_ns: u64, latencies: &[Latencies; 3]) {
        for direction in Direction::ALL {
            let (now, seen) = (&latencies[direction.index()].clat, &mut self.seen[direction.index()]);
            let changes = now.counts().iter().zip(seen.counts()).enumerate();
            let buckets: Vec<(u32, u64)> = changes
                .filter(|(_, (now, seen))| now > seen)
                .map(|(index, (now, seen))| (index as u32, now - seen))
                .collect();
            if !buckets.is_empty() {
                let time_ns = end_ns.saturating_sub(self.epoch_ns) + self.add_ns;
                self.entries.push(HistogramLogEntry { time_ns, direction, bytes: self.bytes, buckets });
                *seen = now.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_plan::WorkerPlan;
    use iolab_recording::{BlockHeader, SpooledRecord};
    use std::io::{Read, Seek};

    /// Bandwidth entries, as `(ms, KiB/s)`, of a run of 4 KiB reads that complete at these times
    /// (ms); windows of 100 ms.
    fn bandwidth(completions_ms: &[u64], end_ms: u64) -> Vec<(u64, u64)> {
        let text = include_str!("../../../contract/recording/tests/worker_plan.json");
        let logs = serde_json::from_str::<WorkerPlan>(text).expect("a worker's plan").logs;
        let plan = LogPlan { bandwidth: Some("b".to_owned()), window_ns: 100_000_000, ..logs };
        let mut file = tempfile::tempfile().expect("a temporary file");
        let spool = File::try_clone(&file).expect("a second handle");
        let mut logs = Logs::new(&plan, false, spool, 0, 0);
        let mut totals = Totals::default();
        for ms in completions_ms {
            logs.roll(ms * 1_000_000, &totals);
            totals.ios[0] += 1;
            totals.bytes[0] += 4096;
        }
        assert_eq!(logs.finish(end_ms * 1_000_000, &totals), None);
        let mut bytes = Vec::new();
        file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("readable");
        let (header, rest) = bytes.split_first_chunk().expect("a block");
        let records = BlockHeader::decode(header).expect("a header").records(rest);
        let entries = records.map(|record| match record {
            SpooledRecord::Window(entry) => entry,
            SpooledRecord::Operation(operation) => panic!("{operation:?}"),
        });
        entries.map(|entry| (entry.time_ns / 1_000_000, entry.value)).collect()
    }

    #[test]
    fn a_moment_after_the_last_window_is_no_rate() {
        assert_eq!(bandwidth(&[50, 150, 201], 201), [(100, 40), (200, 40)]);
        assert_eq!(bandwidth(&[50, 150, 270], 280), [(100, 40), (200, 40), (280, 50)]);
        assert_eq!(bandwidth(&[10], 20), [(20, 200)]);
    }
}
