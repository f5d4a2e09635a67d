//! The recorders of the hot loop.

use iolab_histogram::Histogram;
use iolab_plan::Direction;
use iolab_recording::WorkerRecording;

use crate::interval_stream::Sources;
use crate::latencies::Latencies;
use crate::{Totals, WorkerCounters};

/// One completed operation and its stamps, ns.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Direction.
    pub direction: Direction,
    /// Bytes moved.
    pub bytes: u32,
    /// Byte offset.
    pub offset: u64,
    /// Number of its file.
    pub file: u32,
    /// Priority byte of the operation.
    pub priority: u8,
    /// When the schedule intended to send it; equals `begun_ns` when the load is not paced.
    pub intended_ns: u64,
    /// When a loop that loses no time would have begun it. From `intended_ns` until then the
    /// operation waited for the device; from then until `begun_ns`, for the loop. Meaningful only
    /// for a scheduled direction.
    pub sendable_ns: u64,
    /// When the loop began to prepare it.
    pub begun_ns: u64,
    /// When it had been handed to the kernel or device.
    pub submitted_ns: u64,
    /// When its completion was collected.
    pub reaped_ns: u64,
}

/// Operations of one direction that share all their stamps: submitted together, collected together.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Direction.
    pub direction: Direction,
    /// Operations, at least 1.
    pub count: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// When the loop began to prepare them, ns.
    pub begun_ns: u64,
    /// When they had been handed to the kernel or device, ns.
    pub submitted_ns: u64,
    /// When their completions were collected, ns.
    pub reaped_ns: u64,
}

/// Receives the progress of the hot loop. Implementations must not allocate per call.
pub trait Recorder {
    /// Whether the loop must take latency stamps.
    const STAMPS: bool;

    /// Whether every operation must be reported by `completed`; otherwise equal ones are reported
    /// together by `completed_run`.
    const EACH: bool;

    /// The common counters.
    fn tally(&mut self) -> &mut WorkerCounters;

    /// One operation completed.
    fn completed(&mut self, sample: &Sample);

    /// Operations with the same stamps completed.
    fn completed_run(&mut self, run: &Run);

    /// A part of a file could not be read, written or trimmed.
    fn failed(&mut self, _direction: Direction, _file: u32, _offset: u64, _bytes: u64) {}

    /// The measured part begins: discards the ramp.
    fn start_measuring(&mut self, now_ns: u64);

    /// Closes grid intervals and log windows that have ended. Called outside the per-operation
    /// path, before anything that completed at `now_ns` is counted.
    fn tick(&mut self, now_ns: u64);

    /// When `tick` must be called next.
    fn next_tick_ns(&self) -> u64;

    /// The first operation that took longer than the job allows, if one did.
    fn exceeded(&self) -> Option<LatencyExceeded> {
        None
    }

    /// Ends counting: closes the last interval and log window.
    fn finish(&mut self, now_ns: u64);

    /// Writes everything counted so far into the recording; `runtime_ns` is the length of the
    /// measured part.
    fn write_to(&self, runtime_ns: u64, recording: &mut WorkerRecording);
}

#[inline(always)]
fn count_run(totals: &mut Totals, run: &Run) {
    let index = run.direction.index();
    totals.ios[index] += run.count;
    totals.bytes[index] += run.bytes;
}

#[inline(always)]
pub(crate) fn count(totals: &mut Totals, sample: &Sample) {
    let index = sample.direction.index();
    totals.ios[index] += 1;
    totals.bytes[index] += u64::from(sample.bytes);
}

/// Totals and depths only: fio's `gtod_reduce`.
#[derive(Debug)]
pub struct CountingRecorder {
    tally: WorkerCounters,
}

impl CountingRecorder {
    /// A recorder around these counters.
    pub fn new(tally: WorkerCounters) -> CountingRecorder {
        CountingRecorder { tally }
    }
}

impl Recorder for CountingRecorder {
    const STAMPS: bool = false;
    const EACH: bool = false;

    fn tally(&mut self) -> &mut WorkerCounters {
        &mut self.tally
    }

    #[inline(always)]
    fn completed(&mut self, sample: &Sample) {
        count(&mut self.tally.totals, sample);
    }

    #[inline(always)]
    fn completed_run(&mut self, run: &Run) {
        count_run(&mut self.tally.totals, run);
    }

    fn start_measuring(&mut self, now_ns: u64) {
        self.tally.start_measuring(now_ns);
    }

    fn tick(&mut self, now_ns: u64) {
        self.tally.roll(now_ns, Sources::default());
    }

    fn next_tick_ns(&self) -> u64 {
        self.tally.next_line_ns()
    }

    fn finish(&mut self, now_ns: u64) {
        self.tally.finish(now_ns, Sources::default());
    }

    fn write_to(&self, runtime_ns: u64, recording: &mut WorkerRecording) {
        self.tally.write_to(recording, runtime_ns);
    }
}

/// All three latencies of every operation, and nothing beyond what a plain job needs.
///
/// Operations that were submitted the moment they began have a single latency: clat is lat, and
/// slat is 0. They are counted in a separate histogram, from which the three are computed on
/// demand.
#[derive(Debug)]
pub struct FullRecorder {
    tally: WorkerCounters,
    latencies: [Latencies; 3],
    at_once: [Histogram; 3],
    slat: bool,
}

impl FullRecorder {
    /// A recorder around these counters. `slat` is false for synchronous engines: there, submission
    /// and completion are one call, and a submission latency would be meaningless.
    pub fn new(tally: WorkerCounters, slat: bool) -> FullRecorder {
        FullRecorder { tally, latencies: Default::default(), at_once: Default::default(), slat }
    }

    /// Distributes the values that were counted separately.
    #[cold]
    fn settle(&mut self) {
        for (latencies, at_once) in self.latencies.iter_mut().zip(&mut self.at_once) {
            latencies.add_at_once(at_once, self.slat);
            at_once.clear();
        }
    }
}

impl Recorder for FullRecorder {
    const STAMPS: bool = true;
    const EACH: bool = false;

    fn tally(&mut self) -> &mut WorkerCounters {
        &mut self.tally
    }

    #[inline(always)]
    fn completed(&mut self, sample: &Sample) {
        self.completed_run(&Run {
            direction: sample.direction,
            count: 1,
            bytes: u64::from(sample.bytes),
            begun_ns: sample.begun_ns,
            submitted_ns: sample.submitted_ns,
            reaped_ns: sample.reaped_ns,
        });
    }

    #[inline(always)]
    fn completed_run(&mut self, run: &Run) {
        count_run(&mut self.tally.totals, run);
        let index = run.direction.index();
        let lat_ns = run.reaped_ns.saturating_sub(run.begun_ns);
        if run.submitted_ns == run.begun_ns {
            self.at_once[index].add_many(lat_ns, run.count);
            return;
        }
        let latencies = &mut self.latencies[index];
        if self.slat {
            latencies.slat.add_many(run.submitted_ns.saturating_sub(run.begun_ns), run.count);
        }
        latencies.clat.add_many(run.reaped_ns.saturating_sub(run.submitted_ns), run.count);
        latencies.lat.add_many(lat_ns, run.count);
    }

    fn start_measuring(&mut self, now_ns: u64) {
        self.tally.start_measuring(now_ns);
        for latencies in &mut self.latencies {
            latencies.slat.clear();
            latencies.clat.clear();
            latencies.lat.clear();
        }
        self.at_once.iter_mut().for_each(Histogram::clear);
    }

    fn tick(&mut self, now_ns: u64) {
        self.settle();
        self.tally.roll(now_ns, Sources { latencies: Some(&mut self.latencies), response: None });
    }

    fn next_tick_ns(&self) -> u64 {
        self.tally.next_line_ns()
    }

    fn finish(&mut self, now_ns: u64) {
        self.settle();
        self.tally.finish(now_ns, Sources { latencies: Some(&mut self.latencies), response: None });
    }

    fn write_to(&self, runtime_ns: u64, recording: &mut WorkerRecording) {
        self.tally.write_to(recording, runtime_ns);
        for (index, direction) in recording.directions.iter_mut().enumerate() {
            let mut latencies = self.latencies[index].clone();
            latencies.add_at_once(&self.at_once[index], self.slat);
            direction.slat = latencies.slat.to_sparse();
            direction.clat = latencies.clat.to_sparse();
            direction.lat = latencies.lat.to_sparse();
        }
    }
}

/// An operation took longer than the job allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatencyExceeded {
    /// Its direction.
    pub direction: Direction,
    /// Its duration, ns.
    pub took_ns: u64,
    /// The limit, ns.
    pub limit_ns: u64,
}
