//! The recorder for jobs that ask for more than totals and latencies: logs, response time, a
//! latency limit, or only some of the latencies.

use std::fs::File;

use iolab_histogram::Histogram;
use iolab_plan::{Direction, FilePlan, IoPriority, LogPlan, MeasurementPlan, PerDirection, PriorityPlan};
use iolab_recording::WorkerRecording;

use crate::block_errors::BlockCounters;
use crate::files::FileCounters;
use crate::interval_stream::Sources;
use crate::latencies::Latencies;
use crate::logs::{HistogramLog, Logs};
use crate::priorities::Priorities;
use crate::recorder::{LatencyExceeded, count};
use crate::{Recorder, Run, Sample, WorkerCounters};

/// Any subset of latencies, plus response time, logs and a limit.
#[derive(Debug)]
pub struct DetailedRecorder {
    tally: WorkerCounters,
    latencies: [Latencies; 3],
    response: [Histogram; 3],
    delays: [Delays; 3],
    want: Wanted,
    synchronous: bool,
    max_latency_ns: PerDirection<u64>,
    exceeded: Option<LatencyExceeded>,
    files: Option<FileCounters>,
    blocks: Option<BlockCounters>,
    priorities: Option<Priorities>,
    logs: Option<Logs>,
    histogram_log: Option<HistogramLog>,
    trouble: Option<String>,
}

/// The part of one direction's response time before operations were sent.
#[derive(Debug, Default)]
struct Delays {
    wait: Histogram,
    late: Histogram,
}

#[derive(Debug, Clone, Copy)]
struct Wanted {
    slat: bool,
    clat: bool,
    lat: bool,
    response: PerDirection<bool>,
}

impl DetailedRecorder {
    /// A recorder for this plan. `synchronous` engines have no submission latency; `scheduled`
    /// directions have a response time.
    pub fn new(
        tally: WorkerCounters,
        plan: &MeasurementPlan,
        synchronous: bool,
        scheduled: PerDirection<bool>,
    ) -> DetailedRecorder {
        DetailedRecorder {
            tally,
            latencies: Default::default(),
            response: Default::default(),
            delays: Default::default(),
            want: Wanted {
                slat: plan.slat && !synchronous,
                clat: plan.clat,
                lat: plan.lat,
                response: scheduled.map(|scheduled| scheduled && plan.lat),
            },
            synchronous,
            max_latency_ns: [0; 3],
            exceeded: None,
            files: None,
            blocks: None,
            priorities: None,
            logs: None,
            histogram_log: None,
            trouble: None,
        }
    }

    /// Ends the job when an operation takes longer (0: no limit), ns.
    pub fn limit_latency(&mut self, max_latency_ns: PerDirection<u64>) {
        self.max_latency_ns = max_latency_ns;
    }

    /// Also counts for each of this number of files.
    pub fn count_files(&mut self, files: usize) {
        self.files = Some(FileCounters::new(files));
    }

    /// Also counts trims and errors of each block of this many bytes.
    pub fn count_blocks(&mut self, files: &[FilePlan], block_bytes: u64) {
        self.blocks = Some(BlockCounters::new(files, block_bytes));
    }

    /// Also measures the latencies of each priority; `own` is that of the worker. With `total`,
    /// these are `lat` instead of `clat`.
    pub fn split_priorities(&mut self, plan: &PriorityPlan, own: IoPriority, total: bool) {
        self.priorities = Some(Priorities::new(plan, own, total));
    }

    /// Spools logs to a file, as `plan` says. Log times count from `epoch_ns`, plus `add_ns` (the
    /// Unix time of the epoch, if the plan wants that).
    pub fn log_to(&mut self, plan: &LogPlan, spool: File, epoch_ns: u64, add_ns: u64, smallest_block: u64) {
        self.logs = Some(Logs::new(plan, self.synchronous, spool, epoch_ns, add_ns));
        let histogram = plan.histogram.as_ref();
        self.histogram_log = histogram.map(|log| HistogramLog::new(log.interval_ns, epoch_ns, add_ns, smallest_block));
    }
}

impl Recorder for DetailedRecorder {
    const STAMPS: bool = true;
    const EACH: bool = true;

    fn tally(&mut self) -> &mut WorkerCounters {
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
        if self.want.response[index] {
            let delays = &mut self.delays[index];
            self.response[index].add(sample.reaped_ns.saturating_sub(sample.intended_ns));
            delays.wait.add(sample.sendable_ns.saturating_sub(sample.intended_ns));
            delays.late.add(sample.begun_ns.saturating_sub(sample.sendable_ns));
        }
        let limit_ns = self.max_latency_ns[index];
        if limit_ns != 0 && lat_ns > limit_ns && self.exceeded.is_none() {
            self.exceeded = Some(LatencyExceeded { direction: sample.direction, took_ns: lat_ns, limit_ns });
        }
        if let Some(files) = &mut self.files {
            files.count(sample);
        }
        if let Some(blocks) = &mut self.blocks {
            blocks.completed(sample);
        }
        if let Some(priorities) = &mut self.priorities {
            priorities.count(sample);
        }
        if let Some(logs) = &mut self.logs {
            logs.completed(sample, lat_ns);
        }
    }

    fn completed_run(&mut self, run: &Run) {
        // The loop reports each operation to this recorder (EACH), so a run is one operation
        // without its place.
        self.completed(&Sample {
            direction: run.direction,
            bytes: run.bytes as u32,
            offset: 0,
            file: 0,
            priority: 0,
            intended_ns: run.begun_ns,
            sendable_ns: run.begun_ns,
            begun_ns: run.begun_ns,
            submitted_ns: run.submitted_ns,
            reaped_ns: run.reaped_ns,
        });
    }

    fn failed(&mut self, direction: Direction, file: u32, offset: u64, bytes: u64) {
        if let Some(blocks) = &mut self.blocks {
            blocks.failed(direction, file, offset, bytes);
        }
    }

    fn start_measuring(&mut self, now_ns: u64) {
        self.tally.start_measuring(now_ns);
        for latencies in &mut self.latencies {
            latencies.slat.clear();
            latencies.clat.clear();
            latencies.lat.clear();
        }
        self.response.iter_mut().for_each(Histogram::clear);
        for delays in &mut self.delays {
            delays.wait.clear();
            delays.late.clear();
        }
        if let Some(files) = &mut self.files {
            files.clear();
        }
        if let Some(priorities) = &mut self.priorities {
            priorities.clear();
        }
        if let Some(logs) = &mut self.logs {
            logs.start_measuring(now_ns);
        }
        if let Some(log) = &mut self.histogram_log {
            log.start_measuring(now_ns);
        }
    }

    fn tick(&mut self, now_ns: u64) {
        let totals = self.tally.totals;
        let sources = Sources { latencies: Some(&mut self.latencies), response: Some(&mut self.response) };
        self.tally.roll(now_ns, sources);
        if let Some(logs) = &mut self.logs {
            logs.roll(now_ns, &totals);
        }
        if let Some(log) = &mut self.histogram_log {
            log.roll(now_ns, &self.latencies);
        }
    }

    fn next_tick_ns(&self) -> u64 {
        let intervals = self.tally.next_line_ns();
        let logs = self.logs.as_ref().map_or(u64::MAX, Logs::next_roll_ns);
        intervals.min(logs).min(self.histogram_log.as_ref().map_or(u64::MAX, HistogramLog::next_roll_ns))
    }

    fn exceeded(&self) -> Option<LatencyExceeded> {
        self.exceeded
    }

    fn finish(&mut self, now_ns: u64) {
        self.tick(now_ns);
        let totals = self.tally.totals;
        let sources = Sources { latencies: Some(&mut self.latencies), response: Some(&mut self.response) };
        self.tally.finish(now_ns, sources);
        self.trouble = self.logs.as_mut().and_then(|logs| logs.finish(now_ns, &totals));
        if let Some(log) = &mut self.histogram_log {
            log.emit(now_ns, &self.latencies);
        }
    }

    fn write_to(&self, runtime_ns: u64, recording: &mut WorkerRecording) {
        self.tally.write_to(recording, runtime_ns);
        for (index, direction) in recording.directions.iter_mut().enumerate() {
            direction.slat = self.latencies[index].slat.to_sparse();
            direction.clat = self.latencies[index].clat.to_sparse();
            direction.lat = self.latencies[index].lat.to_sparse();
            direction.response = self.response[index].to_sparse();
            direction.backlog_wait = self.delays[index].wait.to_sparse();
            direction.generator_late = self.delays[index].late.to_sparse();
        }
        if let Some(files) = &self.files {
            files.write_to(recording);
        }
        if let Some(blocks) = &self.blocks {
            blocks.write_to(recording);
        }
        if let Some(priorities) = &self.priorities {
            priorities.write_to(recording);
        }
        if let Some(trouble) = &self.trouble {
            recording.note_lost(trouble);
        }
        if let Some(log) = &self.histogram_log {
            recording.histogram_log = log.entries().to_vec();
        }
    }
}
