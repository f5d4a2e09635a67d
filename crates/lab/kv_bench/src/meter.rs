//! Time stamps and counts of one thread.
//!
//! ```text
//! closed loop:    | operation | operation |        the end of one is the begin of the next: one stamp each
//! open loop:      due . begin | operation |        response = end - due; latency = end - begin
//! ```
//!
//! Steps of a scan are stamped [`SCAN_STEPS`] at a time, because a stamp costs a good part of a
//! step; each of them is counted with their mean.

use iolab_clock::Clock;
use iolab_histogram::{Baseline, Histogram, PackedHistogram};
use iolab_process::INTERRUPTS;
use iolab_recording::{DirectionInterval, Interval, IntervalLatencies, ScheduleRecording};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::result::{Direction, Tally, ThreadResult};

/// Steps of a scan between two stamps.
pub(crate) const SCAN_STEPS: u64 = 16;

/// How long to spin before an operation is due, ns.
const SPIN_NS: u64 = 20_000;

/// When operations of a thread are due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Time between two operations, ns.
    pub(crate) every_ns: f64,
    /// Where in it the thread begins, ns.
    pub(crate) phase_ns: f64,
}

/// When a thread ends, and when its operations are due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Operations; `u64::MAX` for no limit.
    pub(crate) operations: u64,
    /// Length, ns; `u64::MAX` for no limit.
    pub(crate) length_ns: u64,
    /// `None` for no schedule.
    pub(crate) pace: Option<Pace>,
    /// Length of an interval, ns.
    pub(crate) interval_ns: u64,
}

#[derive(Debug, Default)]
struct Counts {
    operations: u64,
    bytes: u64,
    latency: Box<Histogram>,
    response: Box<Histogram>,
    latency_before: Box<Baseline>,
    response_before: Box<Baseline>,
    operations_before: u64,
    bytes_before: u64,
}

#[derive(Debug)]
pub(crate) struct Meter<'a> {
    clock: &'a Clock,
    /// When the benchmark began.
    origin_ns: u64,
    started_ns: u64,
    /// End of the last operation.
    last_ns: u64,
    /// When the operation under way was due.
    due_ns: u64,
    ends_ns: u64,
    limits: Limits,
    done: u64,
    counts: [Counts; 3],
    interval_started_ns: u64,
    interval_ends_ns: u64,
    intervals: Vec<Interval>,
    latencies: Vec<IntervalLatencies>,
    lag_most_ns: u64,
    interrupted: bool,
    /// How many threads are still at work that this one only accompanies.
    accompanied: Option<&'a AtomicU64>,
}

/// What the directions are called in recordings: a deletion is a trim there.
const DIRECTIONS: [iolab_plan::Direction; 3] =
    [iolab_plan::Direction::Read, iolab_plan::Direction::Write, iolab_plan::Direction::Trim];

impl<'a> Meter<'a> {
    /// Begins now.
    pub(crate) fn start(clock: &'a Clock, origin_ns: u64, limits: Limits) -> Meter<'a> {
        let now_ns = clock.now_ns();
        Meter {
            clock,
            origin_ns,
            started_ns: now_ns,
            last_ns: now_ns,
            due_ns: now_ns,
            ends_ns: now_ns.saturating_add(limits.length_ns),
            limits,
            done: 0,
            counts: Default::default(),
            interval_started_ns: now_ns,
            interval_ends_ns: now_ns + limits.interval_ns - (now_ns - origin_ns.min(now_ns)) % limits.interval_ns,
            intervals: Vec::with_capacity(1024),
            latencies: Vec::with_capacity(1024),
            lag_most_ns: 0,
            interrupted: false,
            accompanied: None,
        }
    }

    /// The same for a thread that ends when the number of those it accompanies is 0.
    pub(crate) fn beside(mut self, accompanied: Option<&'a AtomicU64>) -> Meter<'a> {
        self.accompanied = accompanied;
        self
    }

    /// Whether there is another operation; under a rate, returns when it is due.
    #[inline]
    pub(crate) fn more(&mut self) -> bool {
        if self.done >= self.limits.operations || self.last_ns >= self.ends_ns {
            return false;
        }
        if INTERRUPTS.load(Ordering::Relaxed) > 0 {
            self.interrupted = true;
            return false;
        }
        if self.accompanied.is_some_and(|others| others.load(Ordering::Acquire) == 0) {
            return false;
        }
        match self.limits.pace {
            None => true,
            Some(pace) => self.wait(pace),
        }
    }

    #[inline(never)]
    fn wait(&mut self, pace: Pace) -> bool {
        let Pace { every_ns, phase_ns } = pace;
        self.due_ns = self.started_ns + (phase_ns + self.done as f64 * every_ns) as u64;
        if self.due_ns >= self.ends_ns {
            return false;
        }
        while self.clock.now_ns() < self.due_ns && INTERRUPTS.load(Ordering::Relaxed) == 0 {
            self.clock.sleep_until(self.due_ns, SPIN_NS);
        }
        self.last_ns = self.clock.now_ns();
        self.lag_most_ns = self.lag_most_ns.max(self.last_ns.saturating_sub(self.due_ns));
        true
    }

    /// An operation has ended.
    #[inline]
    pub(crate) fn done(&mut self, direction: Direction, bytes: u64) {
        let now_ns = self.clock.now_ns();
        let counts = &mut self.counts[direction as usize];
        counts.operations += 1;
        counts.bytes += bytes;
        counts.latency.add(now_ns.saturating_sub(self.last_ns));
        if self.limits.pace.is_some() {
            counts.response.add(now_ns.saturating_sub(self.due_ns));
        }
        self.done += 1;
        self.last_ns = now_ns;
        if now_ns >= self.interval_ends_ns {
            self.end_interval(now_ns);
        }
    }

    /// Several reads have ended, of which the last just now.
    #[inline]
    pub(crate) fn done_many(&mut self, count: u64, bytes: u64) {
        if count == 0 {
            return;
        }
        let now_ns = self.clock.now_ns();
        let counts = &mut self.counts[Direction::Read as usize];
        counts.operations += count;
        counts.bytes += bytes;
        counts.latency.add_many(now_ns.saturating_sub(self.last_ns) / count, count);
        self.done += count;
        self.last_ns = now_ns;
        if now_ns >= self.interval_ends_ns {
            self.end_interval(now_ns);
        }
    }

    /// Operations that may follow before the number of them is reached.
    pub(crate) fn left(&self) -> u64 {
        self.limits.operations - self.done.min(self.limits.operations)
    }

    #[cold]
    fn end_interval(&mut self, now_ns: u64) {
        let end_ns = (now_ns - (now_ns - self.origin_ns) % self.limits.interval_ns).max(self.interval_started_ns);
        self.close_interval(end_ns);
        self.interval_started_ns = end_ns;
        self.interval_ends_ns = end_ns + self.limits.interval_ns;
    }

    fn close_interval(&mut self, end_ns: u64) {
        let start_ns = self.interval_started_ns - self.origin_ns;
        let length_ns = end_ns - self.interval_started_ns;
        let mut interval = Interval { start_ns, length_ns, ..Interval::default() };
        let mut directions = Vec::new();
        let mut bytes = Vec::new();
        for (index, counts) in self.counts.iter_mut().enumerate() {
            let ios = counts.operations - counts.operations_before;
            let moved = counts.bytes - counts.bytes_before;
            (counts.operations_before, counts.bytes_before) = (counts.operations, counts.bytes);
            interval.ios[index] = ios;
            interval.bytes[index] = moved;
            if ios == 0 {
                continue;
            }
            let mut difference = |histogram: &mut Histogram, baseline: &mut Baseline| {
                bytes.clear();
                let any = histogram.difference(baseline, &mut bytes);
                any.then(|| PackedHistogram::take(&mut bytes.as_slice())).flatten()
            };
            let lat = difference(&mut counts.latency, &mut counts.latency_before);
            let response = difference(&mut counts.response, &mut counts.response_before);
            let clat_equals_lat = lat.is_some();
            let direction = DIRECTIONS[index];
            directions.push(DirectionInterval {
                direction,
                ios,
                bytes: moved,
                lat,
                clat: None,
                clat_equals_lat,
                response,
            });
        }
        self.intervals.push(interval);
        if !directions.is_empty() {
            self.latencies.push(IntervalLatencies { start_ns, length_ns, directions });
        }
    }

    /// What was measured.
    pub(crate) fn finish(mut self) -> ThreadResult {
        let end_ns = self.last_ns.max(self.interval_started_ns);
        if end_ns > self.interval_started_ns {
            self.close_interval(end_ns);
        }
        let elapsed_ns = self.last_ns - self.started_ns;
        let tallies = self.counts.each_ref().map(|counts| Tally {
            operations: counts.operations,
            bytes: counts.bytes,
            latency: counts.latency.to_sparse(),
            response: counts.response.to_sparse(),
        });
        ThreadResult {
            thread: iolab_process::thread_id(),
            started_ns: self.started_ns - self.origin_ns,
            elapsed_ns,
            schedule: self.limits.pace.map(|pace| self.schedule(pace.every_ns, elapsed_ns)),
            tallies,
            intervals: self.intervals,
            interval_latencies: self.latencies,
            interrupted: self.interrupted,
            ..ThreadResult::default()
        }
    }

    fn schedule(&self, every_ns: f64, elapsed_ns: u64) -> ScheduleRecording {
        let due = ((elapsed_ns as f64 / every_ns) as u64).min(self.limits.operations).max(self.done);
        let backlog = due - self.done;
        let lag_at_end_ns = (backlog as f64 * every_ns) as u64;
        ScheduleRecording {
            asked: due,
            asked_within_ns: (due as f64 * every_ns) as u64,
            sent: self.done,
            sent_within_ns: elapsed_ns,
            backlog_at_end: backlog,
            backlog_most: (self.lag_most_ns as f64 / every_ns) as u64,
            lag_at_end_ns,
            lag_most_ns: self.lag_most_ns,
            behind_for_ns: lag_at_end_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_LIMITS: Limits = Limits { operations: 10, length_ns: u64::MAX, pace: None, interval_ns: 1_000 };

    #[test]
    fn the_end_of_one_operation_is_the_begin_of_the_next() {
        let clock = Clock::simulated(5_000);
        let mut meter = Meter::start(&clock, 5_000, NO_LIMITS);
        let mut steps = 0;
        while meter.more() {
            steps += 1;
            clock.advance(300);
            meter.done(Direction::Write, 116);
        }
        let result = meter.finish();
        assert_eq!((steps, result.operations(), result.bytes(), result.elapsed_ns), (10, 10, 1160, 3_000));
        assert_eq!((result.tallies[1].latency.min, result.tallies[1].latency.max), (300, 300));
        assert_eq!(result.intervals.iter().map(|interval| interval.ios[1]).collect::<Vec<_>>(), [4, 3, 3]);
        assert_eq!(result.interval_latencies.len(), 3);
        assert!(result.schedule.is_none());
    }

    /// Due every 1000 ns; the first takes 2500 ns, so that the second is late and the third, too.
    #[test]
    fn an_operation_that_waited_for_another_has_a_longer_response() {
        let clock = Clock::simulated(0);
        let limits = Limits { operations: 4, pace: Some(Pace { every_ns: 1_000.0, phase_ns: 0.0 }), ..NO_LIMITS };
        let mut meter = Meter::start(&clock, 0, limits);
        for length in [2_500, 100, 100, 100] {
            assert!(meter.more());
            clock.advance(length);
            meter.done(Direction::Read, 1);
        }
        assert!(!meter.more());
        let result = meter.finish();
        // Ends at 2500, 2600, 2700, 3100; due at 0, 1000, 2000, 3000.
        assert_eq!(result.tallies[0].response.sum, 2_500 + 1_600 + 700 + 100);
        assert_eq!(result.tallies[0].latency.sum, 2_500 + 300);
        let schedule = result.schedule.unwrap();
        assert_eq!((schedule.asked, schedule.sent, schedule.lag_most_ns), (4, 4, 1_500));
    }

    #[test]
    fn time_ends_it() {
        let clock = Clock::simulated(0);
        let limits = Limits { operations: u64::MAX, length_ns: 1_000, ..NO_LIMITS };
        let mut meter = Meter::start(&clock, 0, limits);
        let mut steps = 0;
        while meter.more() {
            steps += 1;
            clock.advance(400);
            meter.done(Direction::Read, 1);
        }
        assert_eq!(steps, 3);
    }
}
