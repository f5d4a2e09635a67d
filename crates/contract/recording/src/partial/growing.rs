//! A partial recording that is followed while it grows, in bounded memory.
//!
//! A reader passes on what was appended to the file, and asks for the recording of the run so far.
//! In long runs, intervals are merged until there are few enough for a chart, and of the samples
//! only some are kept: they are counters, so that nothing is lost between two of them. The file
//! itself keeps everything.

use std::collections::BTreeMap;

use iolab_order::Arrange;

use super::rebuild::{Partial, PartialError, Sums, add_interval, worker_with};
use super::{Entry, MARK, is_decided, is_partial, take};
use crate::recording::Recording;
use crate::{DirectionInterval, IntervalLatencies, Observations, WorkerOutcome};

/// Most intervals of a worker, and most samples of a device.
const MOST: usize = 512;

/// A run that goes on, as its partial recording tells it.
#[derive(Debug, Default)]
pub struct GrowingRecording {
    partial: Option<Partial>,
    /// The last whole interval of each worker, as it was recorded.
    latest: BTreeMap<u32, IntervalLatencies>,
    /// Intervals read so far.
    intervals: u64,
    /// What the intervals of each worker add up to, so that asking often costs little.
    sums: BTreeMap<u32, Sums>,
    /// The beginning of an entry whose end has not come yet.
    rest: Vec<u8>,
    /// Length of the intervals that are kept, ns; 0 as long as none were merged.
    width_ns: u64,
    /// What is wrong with the file: nothing after it is read.
    damage: Option<&'static str>,
    has_mark: bool,
}

impl GrowingRecording {
    /// Takes the next bytes of the file. Returns whether anything changed.
    ///
    /// # Errors
    /// It is no partial recording that this version reads.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<bool, PartialError> {
        self.rest.extend_from_slice(bytes);
        if !self.has_mark {
            if self.rest.len() < MARK.len() && MARK.starts_with(&self.rest) {
                return Ok(false);
            }
            if !self.rest.starts_with(MARK) {
                return Err(if is_partial(&self.rest) { PartialError::Format } else { PartialError::Mark });
            }
            self.rest.drain(..MARK.len());
            self.has_mark = true;
        }
        let bytes = std::mem::take(&mut self.rest);
        let mut left = bytes.as_slice();
        let mut has_changed = false;
        while self.damage.is_none() && is_decided(left) {
            match take(&mut left).and_then(|entry| self.add(entry)) {
                Ok(()) => has_changed = true,
                Err(reason) if self.partial.is_none() => return Err(PartialError::Start(reason)),
                Err(reason) => self.damage = Some(reason),
            }
        }
        if self.damage.is_none() {
            self.rest = left.to_vec();
        }
        Ok(has_changed)
    }

    fn add(&mut self, entry: Entry) -> Result<(), &'static str> {
        let Some(partial) = &mut self.partial else {
            let Entry::Start(start) = entry else { return Err("its first entry is no plan") };
            self.partial = Some(Partial::begin(*start));
            return Ok(());
        };
        let of_worker = match &entry {
            Entry::Interval(worker, interval) => Some((*worker, interval.clone())),
            _ => None,
        };
        partial.add(entry)?;
        let of_worker = of_worker.map(|(worker, interval)| {
            self.intervals += 1;
            add_interval(self.sums.entry(worker).or_default(), &interval);
            // The last one of a worker may be too short to say anything.
            let is_whole = |known: &IntervalLatencies| interval.length_ns >= known.length_ns / 2;
            if self.latest.get(&worker).is_none_or(is_whole) {
                self.latest.insert(worker, interval);
            }
            worker
        });
        if let Some(series) = of_worker.and_then(|worker| partial.intervals.get_mut(&worker)) {
            join_last(series, self.width_ns);
            if series.len() > MOST {
                let longest_ns = series.iter().map(|interval| interval.length_ns).max().unwrap_or(0);
                self.width_ns = (self.width_ns * 2).max(longest_ns.saturating_mul(2)).max(1);
                partial.intervals.values_mut().for_each(|series| *series = joined(series, self.width_ns));
            }
        }
        partial.observations.iter_mut().for_each(thin);
        Ok(())
    }

    /// The recording of the run so far; `None` before its plan is there. Workers that still run
    /// have what their intervals have, and count as finished.
    pub fn recording(&self) -> Option<Recording> {
        self.partial.clone().map(|partial| self.finished(partial))
    }

    fn finished(&self, partial: Partial) -> Recording {
        // What a partial recording adds is said of a run that was killed.
        let warnings = partial.start.warnings.clone();
        let mut recording = partial.into_recording_with(&mut |worker, intervals| {
            worker_with(worker, intervals, self.sums.get(&worker).cloned().unwrap_or_default())
        });
        recording.interrupted = false;
        recording.warnings = warnings;
        recording.warnings.extend(self.damage.map(|damage| format!("the partial recording is damaged: {damage}")));
        for worker in &mut recording.workers {
            if matches!(worker.outcome, WorkerOutcome::Interrupted) && worker.runtime_ns > 0 {
                worker.outcome = WorkerOutcome::Finished;
            }
        }
        recording
    }

    /// The recording of the run so far without its course: of the intervals of each worker only the
    /// first and the last, and no observations. It costs little however long the run is, and has
    /// all that rates and latencies of the whole run need.
    pub fn totals(&self) -> Option<Recording> {
        let known = self.partial.as_ref()?;
        let ends = |series: &Vec<IntervalLatencies>| match series.as_slice() {
            [first, .., last] => vec![first.clone(), last.clone()],
            few => few.to_vec(),
        };
        let intervals = known.intervals.iter().map(|(worker, series)| (*worker, ends(series))).collect();
        let (start, ended) = (known.start.clone(), known.ended.clone());
        let partial =
            Partial { start, begun_unix_ns: known.begun_unix_ns, ended, intervals, observations: None, damage: None };
        Some(self.finished(partial))
    }

    /// The plan and the host of the run: its recording before anything was measured.
    pub fn start(&self) -> Option<&Recording> {
        self.partial.as_ref().map(|partial| &partial.start)
    }

    /// When the first operations could begin, ns since the Unix epoch; `None` before that.
    pub fn begun_unix_ns(&self) -> Option<u64> {
        self.partial.as_ref()?.begun_unix_ns
    }

    /// The last interval of each worker, by its number.
    pub fn latest(&self) -> Vec<(u32, IntervalLatencies)> {
        self.latest.iter().map(|(worker, interval)| (*worker, interval.clone())).collect()
    }

    /// How many intervals of workers were read so far.
    pub fn intervals(&self) -> u64 {
        self.intervals
    }

    /// The numbers of the workers that have ended.
    pub fn ended(&self) -> impl Iterator<Item = u32> {
        self.partial.iter().flat_map(|partial| partial.ended.keys().copied())
    }
}

/// Merges the last interval into the one before it, if both end within the same line of this width.
fn join_last(series: &mut Vec<IntervalLatencies>, width_ns: u64) {
    if let [.., before, last] = series.as_slice()
        && width_ns > 0
        && line(before, width_ns) == line(last, width_ns)
        && let (Some(last), Some(before)) = (series.pop(), series.pop())
    {
        series.push(join(before, &last));
    }
}

fn joined(series: &mut Vec<IntervalLatencies>, width_ns: u64) -> Vec<IntervalLatencies> {
    let mut joined: Vec<IntervalLatencies> = Vec::new();
    for interval in series.drain(..) {
        joined.push(interval);
        join_last(&mut joined, width_ns);
    }
    joined
}

/// Which line of this width an interval ends on or before.
fn line(interval: &IntervalLatencies, width_ns: u64) -> u64 {
    interval.start_ns.saturating_add(interval.length_ns).saturating_sub(1) / width_ns
}

fn join(mut before: IntervalLatencies, last: &IntervalLatencies) -> IntervalLatencies {
    before.length_ns = last.start_ns.saturating_add(last.length_ns).saturating_sub(before.start_ns);
    for part in &last.directions {
        match before.directions.iter_mut().find(|known| known.direction == part.direction) {
            Some(known) => add(known, part),
            None => before.directions.push(part.clone()),
        }
    }
    before.directions.arrange_by_key(|part| part.direction.index());
    before
}

fn add(sum: &mut DirectionInterval, part: &DirectionInterval) {
    sum.ios = sum.ios.saturating_add(part.ios);
    sum.bytes = sum.bytes.saturating_add(part.bytes);
    for (sum, part) in [(&mut sum.lat, &part.lat), (&mut sum.clat, &part.clat), (&mut sum.response, &part.response)] {
        match (sum.as_mut(), part) {
            (Some(known), Some(part)) => *known = known.merged(part),
            (None, Some(part)) => *sum = Some(part.clone()),
            _ => {}
        }
    }
}

/// Keeps every second sample, and the last, if there are too many. Requests are sums of their
/// interval: only the latest are kept.
fn thin(seen: &mut Observations) {
    for device in &mut seen.devices {
        thin_samples(&mut device.samples);
        if device.requests.len() > MOST {
            device.requests.drain(..MOST / 2);
        }
    }
    for network in &mut seen.network {
        network.peers.iter_mut().for_each(|series| thin_samples(&mut series.samples));
        network.links.iter_mut().for_each(|series| thin_samples(&mut series.samples));
        network.servers.iter_mut().for_each(|series| thin_samples(&mut series.samples));
        network.mounts.iter_mut().for_each(|series| thin_samples(&mut series.samples));
    }
    thin_samples(&mut seen.host);
}

fn thin_samples<T>(samples: &mut Vec<T>) {
    if samples.len() > MOST {
        every_second(samples);
    }
}

fn every_second<T>(samples: &mut Vec<T>) {
    let last = samples.len() - 1;
    let mut place = 0;
    samples.retain(|_| {
        place += 1;
        (place - 1) % 2 == 0 || place - 1 == last
    });
}
