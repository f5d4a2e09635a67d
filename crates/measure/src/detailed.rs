//! The recorder for jobs that ask for more than totals and latencies: logs, response time, a latency limit, or
//! only some of the latencies.

use iolab_histogram::Histogram;
use iolab_plan::{Direction, LogKind, LogPlan, LogWindow, MeasurementPlan, PerDirection};
use iolab_recording::{HistogramLogEntry, LogEntry, WorkerRecording};

use crate::recorder::{Latencies, count};
use crate::{LogSpool, Recorder, Sample, Tally, Totals};

/// An operation took longer than the job allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatencyExceeded {
    /// Its direction.
    pub direction: Direction,
    /// What it took, ns.
    pub took_ns: u64,
    /// The limit, ns.
    pub limit_ns: u64,
}

/// Any subset of latencies, response time, logs, a limit.
#[derive(Debug)]
pub struct DetailedRecorder {
    tally: Tally,
    latencies: [Latencies; 3],
    response: [Histogram; 3],
    want: Wanted,
    max_latency_ns: PerDirection<u64>,
    exceeded: Option<LatencyExceeded>,
    logs: Option<Logs>,
    histogram_log: Option<HistogramLog>,
}

#[derive(Debug, Clone, Copy)]
struct Wanted {
    slat: bool,
    clat: bool,
    lat: bool,
    response: bool,
}

impl DetailedRecorder {
    /// A recorder for this plan. `synchronous` engines have no submission latency; `paced` loads have a response
    /// time; `spool` takes the log entries, if logs are asked for.
    pub fn new(tally: Tally, plan: &MeasurementPlan, synchronous: bool, paced: bool) -> DetailedRecorder {
        DetailedRecorder {
            tally,
            latencies: Default::default(),
            response: Default::default(),
            want: Wanted {
                slat: plan.slat && !synchronous,
                clat: plan.clat,
                lat: plan.lat,
                response: paced && plan.lat,
            },
            max_latency_ns: [0; 3],
            exceeded: None,
            logs: None,
            histogram_log: None,
        }
    }

    /// Ends the job when an operation takes longer (0: no limit), ns.
    pub fn limit_latency(&mut self, max_latency_ns: PerDirection<u64>) {
        self.max_latency_ns = max_latency_ns;
    }

    /// Writes logs as `plan` says; log time counts from `epoch_ns`, to which `add_ns` is added (the Unix time of
    /// the epoch, when the plan wants that).
    pub fn log_to(&mut self, plan: &LogPlan, spool: LogSpool, epoch_ns: u64, add_ns: u64, smallest_block: u64) {
        self.logs = Some(Logs::new(plan, spool, epoch_ns, add_ns));
        self.histogram_log = plan.histogram.as_ref().map(|log| HistogramLog {
            interval_ns: log.interval_ns.max(1),
            next_ns: epoch_ns + log.interval_ns.max(1),
            epoch_ns,
            add_ns,
            bytes: smallest_block,
            seen: Default::default(),
            entries: Vec::new(),
        });
    }

    /// The first operation that took too long, if one did.
    pub fn exceeded(&self) -> Option<LatencyExceeded> {
        self.exceeded
    }
}

impl Recorder for DetailedRecorder {
    const STAMPS: bool = true;

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    #[inline]
    fn completed(&mut self, sample: &Sample) {
        count(&mut self.tally.totals, sample);
        let index = sample.direction.index();
        let latencies = &mut self.latencies[index];
        let lat_ns = sample.reaped_ns.saturating_sub(sample.begun_ns);
        if self.want.slat {
            latencies.slat.add(sample.submitted_ns.saturating_sub(sample.begun_ns));
        }
        if self.want.clat {
            latencies.clat.add(sample.reaped_ns.saturating_sub(sample.submitted_ns));
        }
        if self.want.lat {
            latencies.lat.add(lat_ns);
        }
        if self.want.response {
            self.response[index].add(sample.reaped_ns.saturating_sub(sample.intended_ns));
        }
        let limit_ns = self.max_latency_ns[index];
        if limit_ns != 0 && lat_ns > limit_ns && self.exceeded.is_none() {
            self.exceeded = Some(LatencyExceeded { direction: sample.direction, took_ns: lat_ns, limit_ns });
        }
        if let Some(logs) = &mut self.logs {
            logs.completed(sample, lat_ns);
        }
    }

    fn start_measuring(&mut self, now_ns: u64) {
        self.tally.start_measuring(now_ns);
        for (latencies, response) in self.latencies.iter_mut().zip(&mut self.response) {
            latencies.slat.clear();
            latencies.clat.clear();
            latencies.lat.clear();
            response.clear();
        }
        if let Some(logs) = &mut self.logs {
            logs.start_measuring(now_ns);
        }
        if let Some(log) = &mut self.histogram_log {
            log.seen = Default::default();
            log.next_ns = now_ns + log.interval_ns;
        }
    }

    fn tick(&mut self, now_ns: u64) {
        let totals = self.tally.totals;
        self.tally.intervals.roll(now_ns, &totals);
        if let Some(logs) = &mut self.logs {
            logs.roll(now_ns, &totals);
        }
        if let Some(log) = &mut self.histogram_log {
            log.roll(now_ns, &self.latencies);
        }
    }

    fn next_tick_ns(&self) -> u64 {
        let intervals = self.tally.intervals.next_end_ns();
        let logs = self.logs.as_ref().map_or(u64::MAX, Logs::next_roll_ns);
        intervals.min(logs).min(self.histogram_log.as_ref().map_or(u64::MAX, |log| log.next_ns))
    }

    fn finish(&mut self, now_ns: u64, runtime_ns: u64, recording: &mut WorkerRecording) {
        self.tick(now_ns);
        let totals = self.tally.totals;
        self.tally.intervals.finish(now_ns, &totals);
        self.tally.write_to(recording, runtime_ns);
        for (index, direction) in recording.directions.iter_mut().enumerate() {
            direction.slat = self.latencies[index].slat.to_sparse();
            direction.clat = self.latencies[index].clat.to_sparse();
            direction.lat = self.latencies[index].lat.to_sparse();
            direction.response = self.response[index].to_sparse();
        }
        if let Some(mut logs) = self.logs.take() {
            logs.close_window(now_ns, &totals);
            logs.spool.flush();
            recording.notes.extend(logs.spool.trouble());
        }
        if let Some(mut log) = self.histogram_log.take() {
            log.emit(now_ns, &self.latencies);
            recording.histogram_log = log.entries;
        }
    }
}

/// Latency, bandwidth and IOPS logs, per operation or per window.
#[derive(Debug)]
struct Logs {
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
    fn new(plan: &LogPlan, spool: LogSpool, epoch_ns: u64, add_ns: u64) -> Logs {
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

    fn start_measuring(&mut self, now_ns: u64) {
        self.sums = Default::default();
        self.at_begin = Totals::default();
        self.window_begun_ns = now_ns;
        self.window_end_ns = if self.window_ns == 0 { u64::MAX } else { now_ns + self.window_ns };
    }

    fn next_roll_ns(&self) -> u64 {
        self.window_end_ns
    }

    fn completed(&mut self, sample: &Sample, lat_ns: u64) {
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

    fn roll(&mut self, now_ns: u64, totals: &Totals) {
        while now_ns >= self.window_end_ns {
            let end_ns = self.window_end_ns;
            self.close_window(end_ns, totals);
            self.window_end_ns = end_ns + self.window_ns;
        }
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
struct HistogramLog {
    interval_ns: u64,
    next_ns: u64,
    epoch_ns: u64,
    add_ns: u64,
    bytes: u64,
    seen: [Histogram; 3],
    entries: Vec<HistogramLogEntry>,
}

impl HistogramLog {
    fn roll(&mut self, now_ns: u64, latencies: &[Latencies; 3]) {
        if now_ns >= self.next_ns {
            self.emit(self.next_ns, latencies);
            while self.next_ns <= now_ns {
                self.next_ns += self.interval_ns;
            }
        }
    }

    fn emit(&mut self, end_ns: u64, latencies: &[Latencies; 3]) {
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
