//! Rebuilds a recording from the entries of a partial recording.

use std::collections::BTreeMap;

use super::{Entry, MARK, is_partial, take};
use crate::recording::Recording;
use crate::{DirectionRecording, FORMAT, Interval, IntervalLatencies, Observations, WorkerOutcome, WorkerRecording};

/// The readable part of a partial recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Partial {
    /// The recording before anything was measured.
    pub(super) start: Recording,
    pub(super) begun_unix_ns: Option<u64>,
    pub(super) ended: BTreeMap<u32, WorkerRecording>,
    pub(super) intervals: BTreeMap<u32, Vec<IntervalLatencies>>,
    pub(super) observations: Option<Observations>,
    /// Where and why reading stopped, if not at the end.
    pub damage: Option<RecordingDamage>,
}

/// Where a partial recording stops being readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingDamage {
    /// First byte that was not read.
    pub at_byte: u64,
    /// Bytes of the file.
    pub of_bytes: u64,
    /// Why.
    pub reason: &'static str,
}

/// Why bytes are not a partial recording that can be read at all.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PartialError {
    /// Another kind of file.
    #[error("not a partial recording of iolab")]
    Mark,
    /// Another format.
    #[error("a partial recording of another format; this version reads format 1")]
    Format,
    /// The plan is missing: without it, the following entries have no meaning.
    #[error("the start of the partial recording cannot be read: {0}")]
    Start(&'static str),
}

impl std::fmt::Display for RecordingDamage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lost = self.of_bytes - self.at_byte;
        write!(f, "readable up to byte {} of {} ({}); {lost} bytes are lost", self.at_byte, self.of_bytes, self.reason)
    }
}

impl Partial {
    /// Reads as many entries as are whole.
    ///
    /// # Errors
    /// The file is of another kind or format, or its first entry is not whole.
    pub fn read(bytes: &[u8]) -> Result<Partial, PartialError> {
        let mut rest = match bytes.strip_prefix(MARK) {
            Some(rest) => rest,
            None if MARK.starts_with(bytes) && !bytes.is_empty() => &[],
            None if is_partial(bytes) => return Err(PartialError::Format),
            None => return Err(PartialError::Mark),
        };
        let start = match take(&mut rest) {
            Ok(Entry::Start(start)) => *start,
            Ok(_) => return Err(PartialError::Start("its first entry is no plan")),
            Err(reason) => return Err(PartialError::Start(reason)),
        };
        let mut partial = Partial::begin(start);
        while !rest.is_empty() {
            let at_byte = (bytes.len() - rest.len()) as u64;
            let read = take(&mut rest).and_then(|entry| partial.add(entry));
            if let Err(reason) = read {
                partial.damage = Some(RecordingDamage { at_byte, of_bytes: bytes.len() as u64, reason });
                break;
            }
        }
        Ok(partial)
    }

    pub(super) fn begin(start: Recording) -> Partial {
        let (ended, intervals) = (BTreeMap::new(), BTreeMap::new());
        Partial { start, begun_unix_ns: None, ended, intervals, observations: None, damage: None }
    }

    pub(super) fn add(&mut self, entry: Entry) -> Result<(), &'static str> {
        let known = |number: u32| self.start.plan.workers.iter().any(|plan| plan.number == number);
        match entry {
            Entry::Start(_) => return Err("a second beginning"),
            Entry::Begun { unix_ns } => self.begun_unix_ns = Some(unix_ns),
            Entry::Interval(worker, _) if !known(worker) => return Err("an interval of a worker that is not planned"),
            Entry::Interval(worker, interval) => {
                let series = self.intervals.entry(worker).or_default();
                let last_ns = series.last().map_or(0, |last| last.start_ns + last.length_ns);
                if interval.start_ns < last_ns {
                    return Err("the intervals of a worker are out of order");
                }
                series.push(interval);
            }
            Entry::Worker(worker) if !known(worker.number) => return Err("a worker that is not planned"),
            Entry::Worker(worker) => drop(self.ended.insert(worker.number, *worker)),
            Entry::Observed(news) => self.observations.get_or_insert_default().append(*news),
        }
        Ok(())
    }

    /// Takes the intervals of a worker out.
    pub fn take_intervals(&mut self, worker: u32) -> Vec<IntervalLatencies> {
        self.intervals.remove(&worker).unwrap_or_default()
    }

    /// The recording of a killed run: workers that had ended are complete, the others have the data
    /// of their intervals. It is marked as interrupted, and its warnings say what is missing.
    pub fn into_recording(self) -> Recording {
        self.into_recording_with(&mut worker_from)
    }

    /// The same, where `from_intervals` makes the recordings of the workers that have not ended.
    pub(super) fn into_recording_with(
        mut self,
        from_intervals: &mut dyn FnMut(u32, Vec<IntervalLatencies>) -> WorkerRecording,
    ) -> Recording {
        let mut recording = self.start.clone();
        recording.iolab_recording = FORMAT;
        recording.started_unix_ns = self.begun_unix_ns.unwrap_or(recording.started_unix_ns);
        recording.interrupted = true;
        let numbers: Vec<u32> = recording.plan.workers.iter().map(|plan| plan.number).collect();
        recording.workers = numbers.into_iter().map(|number| self.worker(number, from_intervals)).collect();
        let ends = recording.workers.iter().map(|worker| worker.started_ns.saturating_add(worker.runtime_ns));
        recording.elapsed_ns = ends.max().unwrap_or(0);
        // Each entry was sound, but their sequence may not be.
        recording.observations = self.observations.take().filter(|seen| seen.check().is_ok());
        recording.devices = recording.observations.iter().flat_map(Observations::device_uses).collect();
        recording.warnings.push(
            "this run did not finish: for jobs that were still running there are only the complete intervals, \
            without submission latency, queue depths and CPU usage"
                .to_owned(),
        );
        recording.warnings.extend(self.damage.map(|damage| format!("the partial recording is damaged: {damage}")));
        recording
    }

    fn worker(
        &mut self,
        number: u32,
        from_intervals: &mut dyn FnMut(u32, Vec<IntervalLatencies>) -> WorkerRecording,
    ) -> WorkerRecording {
        let intervals = self.take_intervals(number);
        match self.ended.remove(&number) {
            Some(worker) => WorkerRecording { interval_latencies: intervals, ..worker },
            None => from_intervals(number, intervals),
        }
    }
}

/// The recording of a worker that left only its intervals; not run if there are none.
pub fn worker_from(number: u32, intervals: Vec<IntervalLatencies>) -> WorkerRecording {
    let mut sums = Sums::default();
    intervals.iter().for_each(|interval| add_interval(&mut sums, interval));
    worker_with(number, intervals, sums)
}

/// What the intervals of a worker add up to, by direction.
pub(super) type Sums = [DirectionRecording; 3];

pub(super) fn add_interval(sums: &mut Sums, interval: &IntervalLatencies) {
    for part in &interval.directions {
        let sum = &mut sums[part.direction.index()];
        sum.ios = sum.ios.saturating_add(part.ios);
        sum.bytes = sum.bytes.saturating_add(part.bytes);
        sum.issued = sum.ios;
        sum.lat.merge(&part.lat());
        sum.clat.merge(&part.clat());
        sum.response.merge(&part.response());
    }
}

/// The recording of a worker that left these intervals, which add up to `sums`.
pub(super) fn worker_with(number: u32, intervals: Vec<IntervalLatencies>, sums: Sums) -> WorkerRecording {
    let mut worker = WorkerRecording { number, ..WorkerRecording::default() };
    let (Some(first), Some(last)) = (intervals.first(), intervals.last()) else { return worker };
    worker.outcome = WorkerOutcome::Interrupted;
    worker.started_ns = first.start_ns;
    worker.runtime_ns = last.start_ns.saturating_add(last.length_ns) - first.start_ns;
    worker.directions = sums;
    for sum in worker.directions.iter_mut().filter(|sum| sum.ios > 0) {
        sum.runtime_ns = worker.runtime_ns;
    }
    worker.intervals = intervals.iter().map(counts).collect();
    worker.interval_latencies = intervals;
    worker
}

fn counts(interval: &IntervalLatencies) -> Interval {
    let mut counts = Interval { start_ns: interval.start_ns, length_ns: interval.length_ns, ..Interval::default() };
    for part in &interval.directions {
        let index = part.direction.index();
        (counts.ios[index], counts.bytes[index]) = (part.ios, part.bytes);
    }
    counts
}
