//! Log entries: one for each operation, or one for each window, into the spool.

use iolab_histogram::Histogram;
use iolab_plan::{Direction, LogKind, LogPlan, LogWindow};
use iolab_recording::{HistogramLogEntry, LogEntry};

use crate::recorder::Latencies;
use crate::{LogSpool, Sample, Totals};

/// Latency, bandwidth and IOPS logs, per operation or per window.
#[derive(Debug)]
pub(crate) struct Logs {
    spool: LogSpool,
    epoch_ns: u64,
    add_ns: u64,
    window_ns: u64,
    value: LogWindow,
    latency: bool,
    bandwidth: bool,
    iops: bool,
    window_begun_ns: u64,
    window_end_ns: u64,
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

impl Logs {
    pub(crate) fn new(plan: &LogPlan, spool: LogSpool, epoch_ns: u64, add_ns: u64) -> Logs {
        let window_end_ns = if plan.window_ns == 0 { u64::MAX } else { epoch_ns + plan.window_ns };
        Logs {
            spool,
            epoch_ns,
            add_ns,
            window_ns: plan.window_ns,
            value: plan.window_value,
            latency: plan.latency.is_some(),
            bandwidth: plan.bandwidth.is_some(),
            iops: plan.iops.is_some(),
            window_begun_ns: epoch_ns,
            window_end_ns,
            at_begin: Totals::default(),
            sums: Default::default(),
        }
    }

    pub(crate) fn start_measuring(&mut self, now_ns: u64) {
        self.spool.restart();
        self.sums = Default::default();
        self.at_begin = Totals::default();
        self.window_begun_ns = now_ns;
        self.window_end_ns = if self.window_ns == 0 { u64::MAX } else { now_ns + self.window_ns };
    }

    pub(crate) fn next_roll_ns(&self) -> u64 {
        self.window_end_ns
    }

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
            return;
        }
        let mut entry = LogEntry {
            time_ns: sample.reaped_ns.saturating_sub(self.epoch_ns) + self.add_ns,
            value: 0,
            maximum: 0,
            offset: sample.offset,
            issue_ns: sample.begun_ns.saturating_sub(self.epoch_ns) + self.add_ns,
            bytes: sample.bytes,
            priority: u16::from(sample.priority >> 3) << 13 | u16::from(sample.priority & 7),
            kind: LogKind::Lat,
            direction: sample.direction,
        };
        let mut push = |kind, value| {
            entry.kind = kind;
            entry.value = value;
            entry.maximum = value;
            self.spool.push(&entry);
        };
        if self.latency {
            for (kind, value) in LATENCIES.into_iter().zip([lat_ns, clat_ns, slat_ns]) {
                push(kind, value);
            }
        }
        if self.bandwidth {
            push(LogKind::Bw, u64::from(sample.bytes) * 1_000_000 / lat_ns.max(1));
        }
        if self.iops {
            push(LogKind::Iops, 1);
        }
    }

    pub(crate) fn roll(&mut self, now_ns: u64, totals: &Totals) {
        while now_ns >= self.window_end_ns {
            let end_ns = self.window_end_ns;
            self.close_window(end_ns, totals);
            self.window_end_ns = end_ns + self.window_ns;
        }
    }

    /// Closes the last window and writes what is buffered; a sentence if entries were lost.
    pub(crate) fn finish(&mut self, now_ns: u64, totals: &Totals) -> Option<String> {
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
            if self.latency {
                for (kind, window) in LATENCIES.into_iter().zip(self.sums[index]) {
                    self.push_window(end_ns, kind, direction, window.sum / window.count.max(1), window.maximum);
                }
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
        self.spool.push(&LogEntry {
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
