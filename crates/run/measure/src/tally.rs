//! The counters common to all recorders: operations, bytes, intervals, depths, flushes.

use iolab_histogram::Histogram;
use iolab_plan::PerDirection;
use iolab_recording::{DepthUse, SyncRecording, WorkerRecording};

use crate::interval_stream::Sources;
use crate::intervals::Totals;
use crate::{IntervalSeries, IntervalStream};

/// The counters common to all recorders.
#[derive(Debug)]
pub struct WorkerCounters {
    /// Operations completed in the measured part.
    pub totals: Totals,
    /// Operations completed or given up during the ramp.
    before_measuring: PerDirection<u64>,
    /// Short transfers.
    pub short: PerDirection<u64>,
    /// Operations given up.
    pub dropped: PerDirection<u64>,
    /// Latency of flushes.
    pub sync: Histogram,
    /// Operations per interval, for rates.
    intervals: IntervalSeries,
    /// Latencies per interval, if they are recorded.
    stream: Option<IntervalStream>,
    /// When the next interval of either ends.
    next_line_ns: u64,
    depth: Vec<u64>,
    submit_batches: Vec<u64>,
    complete_batches: Vec<u64>,
}

impl WorkerCounters {
    /// Counters for a queue of `depth`, with an interval series.
    pub fn new(depth: usize, intervals: IntervalSeries) -> WorkerCounters {
        WorkerCounters {
            totals: Totals::default(),
            before_measuring: [0; 3],
            short: [0; 3],
            dropped: [0; 3],
            sync: Histogram::new(),
            intervals,
            stream: None,
            next_line_ns: u64::MAX,
            depth: vec![0; depth + 1],
            submit_batches: vec![0; depth + 1],
            complete_batches: vec![0; depth + 1],
        }
    }

    /// Also records the latencies of each interval.
    pub fn stream_to(&mut self, stream: IntervalStream) {
        self.stream = Some(stream);
    }

    /// When an interval ends.
    #[inline(always)]
    pub(crate) fn next_line_ns(&self) -> u64 {
        self.next_line_ns
    }

    /// Closes the intervals that ended by `now_ns`. Operations that completed now must not be
    /// counted yet.
    #[cold]
    pub(crate) fn roll(&mut self, now_ns: u64, sources: Sources<'_>) {
        self.intervals.roll(now_ns, &self.totals);
        if let Some(stream) = &mut self.stream {
            stream.roll(now_ns, &self.totals, sources);
        }
        self.find_next_line();
    }

    /// Closes the last interval.
    pub(crate) fn finish(&mut self, now_ns: u64, sources: Sources<'_>) {
        self.intervals.finish(now_ns, &self.totals);
        if let Some(stream) = &mut self.stream {
            stream.finish(now_ns, &self.totals, sources);
        }
        self.find_next_line();
    }

    fn find_next_line(&mut self) {
        let stream_ns = self.stream.as_ref().map_or(u64::MAX, IntervalStream::next_end_ns);
        self.next_line_ns = self.intervals.next_end_ns().min(stream_ns);
    }

    /// One flush made `count` operations visible, so that `in_flight` are in flight. All of them
    /// count at that depth, because the device gets them at once.
    #[inline(always)]
    pub fn flushed(&mut self, count: usize, in_flight: usize) {
        if let Some(batches) = self.submit_batches.get_mut(count) {
            *batches += 1;
        }
        if let Some(operations) = self.depth.get_mut(in_flight) {
            *operations += count as u64;
        }
    }

    /// One reap found `count` completions.
    #[inline(always)]
    pub fn reaped(&mut self, count: usize) {
        if let Some(batches) = self.complete_batches.get_mut(count) {
            *batches += 1;
        }
    }

    /// This number of operations were made visible one by one, with nothing else in flight, and
    /// `reaped` of them were reaped.
    #[inline(always)]
    pub fn took_turns(&mut self, flushed: u64, reaped: u64) {
        for (counters, turns) in
            [(&mut self.submit_batches, flushed), (&mut self.depth, flushed), (&mut self.complete_batches, reaped)]
        {
            if let Some(counter) = counters.get_mut(1) {
                *counter += turns;
            }
        }
    }

    /// Discards everything but the number of issued operations: the ramp is over.
    pub fn start_measuring(&mut self, now_ns: u64) {
        for (index, before) in self.before_measuring.iter_mut().enumerate() {
            *before += self.totals.ios[index] + self.dropped[index];
        }
        self.totals = Totals::default();
        self.short = [0; 3];
        self.dropped = [0; 3];
        self.sync.clear();
        self.intervals.start(now_ns);
        if let Some(stream) = &mut self.stream {
            stream.start(now_ns);
        }
        self.find_next_line();
        self.depth.fill(0);
        self.submit_batches.fill(0);
        self.complete_batches.fill(0);
    }

    /// Writes the counters into a recording. `runtime_ns` is the length of the measured part.
    pub fn write_to(&self, recording: &mut WorkerRecording, runtime_ns: u64) {
        for (index, direction) in recording.directions.iter_mut().enumerate() {
            direction.ios = self.totals.ios[index];
            direction.bytes = self.totals.bytes[index];
            direction.issued = self.before_measuring[index] + self.totals.ios[index] + self.dropped[index];
            direction.short_ios = self.short[index];
            direction.dropped_ios = self.dropped[index];
            direction.runtime_ns = if direction.ios > 0 { runtime_ns } else { 0 };
        }
        let lat = self.sync.to_sparse();
        recording.sync = SyncRecording { ios: lat.count, lat };
        if let Some(trouble) = self.stream.as_ref().and_then(IntervalStream::trouble) {
            recording.note_lost(trouble);
        }
        recording.intervals = self.intervals.finished().to_vec();
        recording.depth = DepthUse {
            at_submit: non_zero(&self.depth),
            submit_batches: non_zero(&self.submit_batches),
            complete_batches: non_zero(&self.complete_batches),
        };
    }
}

fn non_zero(counters: &[u64]) -> Vec<(u32, u64)> {
    let numbered = counters.iter().enumerate();
    numbered.filter(|(_, count)| **count > 0).map(|(index, count)| (index as u32, *count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_counts_at_the_depth_it_makes() {
        let mut tally = WorkerCounters::new(8, IntervalSeries::new(0, 1_000, 1));
        tally.flushed(8, 8);
        tally.flushed(1, 8);
        tally.flushed(3, 5);
        tally.flushed(1, 9);
        let mut recording = WorkerRecording::default();
        tally.write_to(&mut recording, 1);
        assert_eq!(recording.depth.at_submit, [(5, 3), (8, 9)]);
        assert_eq!(recording.depth.submit_batches, [(1, 2), (3, 1), (8, 1)]);
    }
}
