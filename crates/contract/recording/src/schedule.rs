//! How well a worker kept the schedule of its paced load: operations due, operations sent, and the
//! largest lag.
//!
//! It contains facts, and one judgement derived from them: whether the load exceeded what the
//! worker could do.

use serde::{Deserialize, Serialize};

/// A backlog of less than this at the end is jitter, ns.
const JITTER_NS: u64 = 1_000_000;

/// The schedule of one worker over its measured part. *Lag* is how long ago the operation next in
/// line was due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScheduleRecording {
    /// Operations that were due, those of `backlog_at_end` included.
    pub asked: u64,
    /// The time in which they were due, ns.
    pub asked_within_ns: u64,
    /// Operations sent.
    pub sent: u64,
    /// The time in which they were sent, ns.
    pub sent_within_ns: u64,
    /// Operations due but not sent when the worker stopped; for Poisson arrivals, the expected
    /// number.
    pub backlog_at_end: u64,
    /// The most operations that were due and not sent at one time.
    pub backlog_most: u64,
    /// The lag when the worker stopped, or when it sent its last operation if it sent them all, ns.
    pub lag_at_end_ns: u64,
    /// The longest lag, ns.
    pub lag_most_ns: u64,
    /// How long, up to the end, there was always an operation that should have been sent already,
    /// ns.
    pub behind_for_ns: u64,
}

impl ScheduleRecording {
    /// Operations asked for per second.
    pub fn asked_iops(&self) -> f64 {
        per_second(self.asked, self.asked_within_ns)
    }

    /// Operations sent per second.
    pub fn sent_iops(&self) -> f64 {
        per_second(self.sent, self.sent_within_ns)
    }

    /// Whether the schedule demanded more than was possible: it was behind without a break for the
    /// last tenth of the time or more, and by more than half a percent of it.
    pub fn is_saturated(&self) -> bool {
        self.lag_at_end_ns >= JITTER_NS
            && self.behind_for_ns.saturating_mul(10) >= self.sent_within_ns
            && self.lag_at_end_ns.saturating_mul(200) >= self.sent_within_ns
    }

    /// Adds the schedule of another worker that is reported together with this one. Rates of
    /// workers add up. Extremes do not, because they need not be simultaneous.
    pub fn join(&mut self, other: &ScheduleRecording) {
        let within = |count: u64, from_ns: u64, to_ns: u64| (per_second(count, from_ns) * to_ns as f64 / 1e9) as u64;
        let asked_within_ns = self.asked_within_ns.max(other.asked_within_ns);
        let sent_within_ns = self.sent_within_ns.max(other.sent_within_ns);
        self.asked = within(self.asked, self.asked_within_ns, asked_within_ns)
            + within(other.asked, other.asked_within_ns, asked_within_ns);
        self.sent = within(self.sent, self.sent_within_ns, sent_within_ns)
            + within(other.sent, other.sent_within_ns, sent_within_ns);
        (self.asked_within_ns, self.sent_within_ns) = (asked_within_ns, sent_within_ns);
        self.backlog_at_end += other.backlog_at_end;
        self.backlog_most = self.backlog_most.max(other.backlog_most);
        self.lag_at_end_ns = self.lag_at_end_ns.max(other.lag_at_end_ns);
        self.lag_most_ns = self.lag_most_ns.max(other.lag_most_ns);
        self.behind_for_ns = self.behind_for_ns.max(other.behind_for_ns);
    }
}

fn per_second(count: u64, within_ns: u64) -> f64 {
    if within_ns == 0 { 0.0 } else { count as f64 * 1e9 / within_ns as f64 }
}

pub(crate) fn readable(ns: u64) -> String {
    if ns < 1_000_000_000 { format!("{:.1} ms", ns as f64 / 1e6) } else { format!("{:.2} s", ns as f64 / 1e9) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DirectionRecording;
    use crate::WorkerRecording;
    use iolab_histogram::Histogram;

    const S: u64 = 1_000_000_000;

    fn overload() -> ScheduleRecording {
        ScheduleRecording {
            asked: 10_000,
            asked_within_ns: 10 * S,
            sent: 8_300,
            sent_within_ns: 10 * S,
            backlog_at_end: 1_700,
            backlog_most: 1_700,
            lag_at_end_ns: 1_700_000_000,
            lag_most_ns: 1_700_000_000,
            behind_for_ns: 10 * S,
        }
    }

    #[test]
    fn a_sentence_says_what_was_asked_and_done() {
        let worker = WorkerRecording { schedule: Some(overload()), ..WorkerRecording::default() };
        let expected = "saturated: requested 1,000 IOPS, reached 830; \
             1,700 operations were never sent; the first of them was 1.70 s late";
        assert_eq!(worker.saturation().as_deref(), Some(expected));
    }

    #[test]
    fn a_slow_generator_is_not_blamed_on_the_device() {
        let mut late = Histogram::new();
        late.add(5);
        let direction = DirectionRecording { generator_late: late.to_sparse(), ..DirectionRecording::default() };
        let mut worker = WorkerRecording { schedule: Some(overload()), ..WorkerRecording::default() };
        worker.directions[0] = direction;
        assert!(
            worker.saturation().is_some_and(|text| text.ends_with("the load generator, not the device, was too slow"))
        );
    }

    #[test]
    fn stalls_that_were_made_up_for_and_jitter_are_no_saturation() {
        for (what, schedule) in [
            ("a stall early on", ScheduleRecording { lag_at_end_ns: 0, behind_for_ns: 0, ..overload() }),
            ("jitter at the end", ScheduleRecording { lag_at_end_ns: 900_000, behind_for_ns: 900_000, ..overload() }),
            ("a short stall at the end", ScheduleRecording { behind_for_ns: S / 2, ..overload() }),
            ("nothing at all", ScheduleRecording::default()),
        ] {
            assert!(!schedule.is_saturated(), "{what}");
        }
    }

    #[test]
    fn rates_of_workers_add_up() {
        let mut one = overload();
        let half = ScheduleRecording { asked: 500, asked_within_ns: S, sent: 500, sent_within_ns: S, ..overload() };
        one.join(&half);
        assert_eq!((one.asked_iops(), one.sent_iops()), (1_500.0, 1_330.0));
        assert_eq!((one.backlog_at_end, one.backlog_most), (3_400, 1_700));
    }

    #[test]
    fn numbers_are_readable() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(iolab_text::grouped(number), text);
        }
        assert_eq!((readable(12_345_678), readable(1_234_567_890)), ("12.3 ms".to_owned(), "1.23 s".to_owned()));
    }
}
