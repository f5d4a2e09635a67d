//! How a worker that replays a trace kept its times: how late each operation began, in total and by
//! interval.

use iolab_histogram::SparseHistogram;
use iolab_text::{counted, grouped};
use serde::{Deserialize, Serialize};

/// The times of a replay. *Late* is the time when an operation began minus its time in the trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriftRecording {
    /// How late operations began, ns; syncs included. Empty when the replay had no times.
    pub late: SparseHistogram,
    /// The lateness by intervals of the trace's time, ascending.
    pub series: Vec<DriftInterval>,
    /// Operations that were due but waited for an earlier operation of the trace: one of their own
    /// thread, or a sync of another.
    pub waited_for_order: u64,
    /// How often the trace could not be read fast enough for the replay.
    pub starved: u64,
}

/// One interval of a replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriftInterval {
    /// Its beginning, ns since the worker began.
    pub start_ns: u64,
    /// Operations that were due in it.
    pub operations: u64,
    /// How late they began on average, ns.
    pub mean_ns: u64,
    /// How late the latest of them began, ns.
    pub most_ns: u64,
}

impl DriftRecording {
    /// How much later, on average, operations began in the last interval than in the first, ns: the
    /// accumulated delay. Negative when the replay became more punctual.
    pub fn drift_ns(&self) -> i64 {
        match (self.series.first(), self.series.last()) {
            (Some(first), Some(last)) => last.mean_ns as i64 - first.mean_ns as i64,
            _ => 0,
        }
    }

    /// Adds the times of another worker.
    pub fn join(&mut self, other: &DriftRecording) {
        self.late.merge(&other.late);
        for interval in &other.series {
            match self.series.binary_search_by_key(&interval.start_ns, |own| own.start_ns) {
                Ok(place) => self.series[place].join(interval),
                Err(place) => self.series.insert(place, *interval),
            }
        }
        self.waited_for_order += other.waited_for_order;
        self.starved += other.starved;
    }

    /// A line for texts.
    pub fn line(&self) -> String {
        let us = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
        let order = format!(
            "{} waited for their order, the trace was not ready {}",
            grouped(self.waited_for_order),
            counted(self.starved, "time")
        );
        if self.late.is_empty() {
            return format!("as fast as possible; {order}");
        }
        format!(
            "late by p50={} p99={} p99.9={} max={} usec, drift={:+.1} usec; {order}",
            us(self.late.percentile(50.0)),
            us(self.late.percentile(99.0)),
            us(self.late.percentile(99.9)),
            us(self.late.max),
            self.drift_ns() as f64 / 1e3,
        )
    }
}

impl DriftInterval {
    fn join(&mut self, other: &DriftInterval) {
        let sum = |one: &DriftInterval| u128::from(one.mean_ns) * u128::from(one.operations);
        let operations = self.operations + other.operations;
        self.mean_ns = ((sum(self) + sum(other)) / u128::from(operations.max(1))) as u64;
        self.operations = operations;
        self.most_ns = self.most_ns.max(other.most_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_of_workers_are_joined_by_time() {
        let interval =
            |start_ns, operations, mean_ns, most_ns| DriftInterval { start_ns, operations, mean_ns, most_ns };
        let mut one =
            DriftRecording { series: vec![interval(0, 1, 10, 10), interval(2, 3, 20, 30)], ..Default::default() };
        let other = DriftRecording { series: vec![interval(1, 2, 5, 9), interval(2, 1, 60, 60)], ..Default::default() };
        one.join(&other);
        assert_eq!(one.series, [interval(0, 1, 10, 10), interval(1, 2, 5, 9), interval(2, 4, 30, 60)]);
        assert_eq!(one.drift_ns(), 20);
    }
}
