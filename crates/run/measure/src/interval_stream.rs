//! The latencies of each interval, written to the partial recording during the run.
//!
//! At each line of the grid, the counts of the histograms since the last line make one entry, which
//! one write appends to the file. Nothing is kept in memory, nothing is allocated, and operations
//! cost nothing extra: the only work is to scan the buckets between the extremes of the interval.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::sync::Arc;

use iolab_histogram::{Baseline, Histogram};
use iolab_plan::Direction;
use iolab_recording::partial::{EntryBuffer, LoggedLatency};

use crate::Totals;
use crate::latencies::Latencies;

/// The running histograms of a recorder, by direction; unmeasured ones are empty or `None`.
#[derive(Debug, Default)]
pub(crate) struct Sources<'a> {
    pub(crate) latencies: Option<&'a mut [Latencies; 3]>,
    pub(crate) response: Option<&'a mut [Histogram; 3]>,
}

/// Cuts the histograms of one worker into intervals, and appends them to a file that workers share.
#[derive(Debug)]
pub struct IntervalStream {
    file: Arc<File>,
    worker: u32,
    origin_ns: u64,
    length_ns: u64,
    begun_ns: u64,
    next_end_ns: u64,
    at_begin: Totals,
    /// By direction, in the order lat, clat, response.
    baselines: [[Baseline; 3]; 3],
    buffer: EntryBuffer,
    /// The next start is that of a ramp, whose intervals are not recorded.
    ramp_first: bool,
    trouble: Option<String>,
}

impl IntervalStream {
    /// A stream of `worker` on the grid from `origin_ns` (the start of the run) in steps of
    /// `length_ns`, into a file opened for appending. `ramp_first`: the first start is that of the
    /// ramp.
    pub fn new(file: Arc<File>, worker: u32, origin_ns: u64, length_ns: u64, ramp_first: bool) -> IntervalStream {
        IntervalStream {
            file,
            worker,
            origin_ns,
            length_ns: length_ns.max(1),
            begun_ns: origin_ns,
            next_end_ns: u64::MAX,
            at_begin: Totals::default(),
            baselines: Default::default(),
            buffer: EntryBuffer::new(),
            ramp_first,
            trouble: None,
        }
    }

    /// The recorder was reset and begins to count.
    pub(crate) fn start(&mut self, now_ns: u64) {
        if std::mem::take(&mut self.ramp_first) {
            return;
        }
        self.baselines.iter_mut().flatten().for_each(Baseline::clear);
        self.begun_ns = now_ns;
        self.next_end_ns = self.line_after(now_ns);
        self.at_begin = Totals::default();
    }

    fn line_after(&self, now_ns: u64) -> u64 {
        self.origin_ns + (now_ns.saturating_sub(self.origin_ns) / self.length_ns + 1) * self.length_ns
    }

    /// When [`IntervalStream::roll`] must be called next.
    pub(crate) fn next_end_ns(&self) -> u64 {
        self.next_end_ns
    }

    /// Writes the intervals that ended by `now_ns`. Neither `totals` nor `sources` may include
    /// operations that completed now. Intervals in which nothing completed share one entry.
    pub(crate) fn roll(&mut self, now_ns: u64, totals: &Totals, sources: Sources<'_>) {
        if now_ns < self.next_end_ns {
            return;
        }
        self.buffer.clear();
        self.close(self.next_end_ns, totals, sources);
        self.next_end_ns = self.line_after(now_ns);
        let last_line_ns = self.next_end_ns - self.length_ns;
        if last_line_ns > self.begun_ns {
            self.close(last_line_ns, totals, Sources::default());
        }
        self.write();
    }

    /// Writes the last, usually shorter interval.
    pub(crate) fn finish(&mut self, now_ns: u64, totals: &Totals, sources: Sources<'_>) {
        // The roll empties the sources, so the rest may be empty.
        let rest = if now_ns < self.next_end_ns {
            sources
        } else {
            self.roll(now_ns, totals, sources);
            Sources::default()
        };
        if self.next_end_ns == u64::MAX {
            return;
        }
        self.next_end_ns = u64::MAX;
        if now_ns > self.begun_ns || *totals != self.at_begin {
            self.buffer.clear();
            self.close(now_ns.max(self.begun_ns), totals, rest);
            self.write();
        }
    }

    /// A sentence about the first error, if there was one.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    fn close(&mut self, end_ns: u64, totals: &Totals, mut sources: Sources<'_>) {
        self.buffer.begin(self.worker, self.begun_ns.saturating_sub(self.origin_ns), end_ns - self.begun_ns);
        for direction in Direction::ALL {
            let index = direction.index();
            let ios = totals.ios[index] - self.at_begin.ios[index];
            if ios == 0 {
                continue;
            }
            self.buffer.direction(direction, ios, totals.bytes[index] - self.at_begin.bytes[index]);
            let [lat, clat, response] = &mut self.baselines[index];
            if let Some(latencies) = &mut sources.latencies {
                self.buffer.latency(LoggedLatency::Lat, &mut latencies[index].lat, lat);
                self.buffer.latency(LoggedLatency::Clat, &mut latencies[index].clat, clat);
            }
            if let Some(histograms) = &mut sources.response {
                self.buffer.latency(LoggedLatency::Response, &mut histograms[index], response);
            }
        }
        self.buffer.end();
        self.begun_ns = end_ns;
        self.at_begin = *totals;
    }

    /// Uses a single write, so that the entries of several workers never mix. A failed write ends
    /// the stream, not the run.
    fn write(&mut self) {
        let bytes = self.buffer.as_bytes();
        let answer = loop {
            match (&*self.file).write(bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                answer => break answer,
            }
        };
        let reason = match answer {
            Ok(written) if written == bytes.len() => return,
            Ok(written) => format!("wrote only {written} of {} bytes", bytes.len()),
            Err(error) => error.to_string(),
        };
        self.trouble = Some(format!("latencies of intervals are recorded only up to this point: {reason}"));
        self.next_end_ns = u64::MAX;
    }
}
