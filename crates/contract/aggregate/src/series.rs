//! Time series: intervals of several workers added up, and averaged over longer windows.
//!
//! Intervals lie on a grid common to all workers, so the sum of a cell is the work of the group in
//! it. An empty cell between others is time in which nothing completed, and counts as such.

use std::collections::BTreeMap;

use iolab_plan::Direction;
use iolab_recording::WorkerRecording;

/// Operations and bytes of one period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Start, ns since the start of the run.
    pub start_ns: u64,
    /// End, ns since the start of the run.
    pub end_ns: u64,
    /// Operations completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
}

impl RateSample {
    /// Operations per second.
    pub fn ios_per_second(&self) -> f64 {
        crate::throughput::per_second(self.ios, self.end_ns - self.start_ns)
    }

    /// KiB per second.
    pub fn kib_per_second(&self) -> f64 {
        crate::throughput::per_second(self.bytes, self.end_ns - self.start_ns) / 1024.0
    }
}

/// The workers' intervals, added cell by cell, in order of time and without gaps.
pub fn summed_series(workers: &[&WorkerRecording], directions: &[Direction], interval_ns: u64) -> Vec<RateSample> {
    let interval_ns = interval_ns.max(1);
    let mut cells: BTreeMap<u64, RateSample> = BTreeMap::new();
    for interval in workers.iter().flat_map(|worker| &worker.intervals).filter(|interval| interval.length_ns > 0) {
        let end_ns = interval.start_ns + interval.length_ns;
        let empty = RateSample { start_ns: interval.start_ns, end_ns, ios: 0, bytes: 0 };
        let cell = cells.entry(interval.start_ns / interval_ns).or_insert(empty);
        cell.start_ns = cell.start_ns.min(interval.start_ns);
        cell.end_ns = cell.end_ns.max(end_ns);
        for direction in directions {
            cell.ios = cell.ios.saturating_add(interval.ios[direction.index()]);
            cell.bytes = cell.bytes.saturating_add(interval.bytes[direction.index()]);
        }
    }
    let mut series: Vec<RateSample> = Vec::with_capacity(cells.len());
    for mut cell in cells.into_values() {
        if let Some(last) = series.last() {
            // Cells touch: a gap is idle time at the start of the next cell, an overlap is not
            // counted twice.
            cell.start_ns = last.end_ns;
            cell.end_ns = cell.end_ns.max(last.end_ns + 1);
        }
        series.push(cell);
    }
    series
}

/// Joins samples into windows of at least `window_ms`. The rest at the end is a window if it covers
/// half of one or there is no other; otherwise its rate would be noise, and it is left out.
pub fn windows(series: &[RateSample], window_ms: u64) -> Vec<RateSample> {
    let window_ns = window_ms.max(1) * 1_000_000;
    let mut whole: Vec<RateSample> = Vec::new();
    let mut open: Option<RateSample> = None;
    for sample in series {
        let window = open.get_or_insert(RateSample { start_ns: sample.start_ns, ..RateSample::default() });
        window.end_ns = sample.end_ns;
        window.ios = window.ios.saturating_add(sample.ios);
        window.bytes = window.bytes.saturating_add(sample.bytes);
        if window.end_ns - window.start_ns >= window_ns {
            whole.extend(open.take());
        }
    }
    whole.extend(open.filter(|rest| whole.is_empty() || (rest.end_ns - rest.start_ns) * 2 >= window_ns));
    whole
}

/// Extremes and moments of a series of rates.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SeriesSummary {
    /// Number of samples.
    pub samples: u64,
    /// Smallest, rounded.
    pub min: u64,
    /// Largest, rounded.
    pub max: u64,
    /// Mean.
    pub mean: f64,
    /// Sample standard deviation.
    pub stddev: f64,
}

impl SeriesSummary {
    /// Summarises `rates`.
    pub fn of(rates: impl Iterator<Item = f64> + Clone) -> SeriesSummary {
        let samples = rates.clone().count();
        if samples == 0 {
            return SeriesSummary::default();
        }
        let mean = rates.clone().sum::<f64>() / samples as f64;
        let spread: f64 = rates.clone().map(|rate| (rate - mean) * (rate - mean)).sum();
        SeriesSummary {
            samples: samples as u64,
            min: rates.clone().fold(f64::INFINITY, f64::min).round() as u64,
            max: rates.fold(0.0, f64::max).round() as u64,
            mean,
            stddev: if samples < 2 { 0.0 } else { (spread / (samples - 1) as f64).sqrt() },
        }
    }
}

#[cfg(test)]
mod tests {
    use iolab_recording::Interval;

    use super::*;

    fn worker(intervals: &[(u64, u64, u64)]) -> WorkerRecording {
        let interval = |&(start_ms, length_ms, ios): &(u64, u64, u64)| Interval {
            start_ns: start_ms * 1_000_000,
            length_ns: length_ms * 1_000_000,
            ios: [ios, 0, 0],
            bytes: [ios * 1024, 0, 0],
        };
        WorkerRecording { intervals: intervals.iter().map(interval).collect(), ..Default::default() }
    }

    #[test]
    fn extremes_are_those_of_the_sum() {
        // One worker is fast while the other is slow, so the speed of the group is constant.
        let one = worker(&[(0, 500, 10), (500, 500, 90)]);
        let two = worker(&[(0, 500, 90), (500, 500, 10)]);
        let series = summed_series(&[&one, &two], &[Direction::Read], 500_000_000);
        let summary = SeriesSummary::of(windows(&series, 500).iter().map(RateSample::ios_per_second));
        assert_eq!(
            (summary.min, summary.max, summary.mean, summary.stddev, summary.samples),
            (200, 200, 200.0, 0.0, 2)
        );
    }

    #[test]
    fn silent_cells_count_as_stalls() {
        let series = summed_series(&[&worker(&[(0, 100, 100), (300, 100, 100)])], &[Direction::Read], 100_000_000);
        let whole: Vec<f64> = windows(&series, 400).iter().map(RateSample::ios_per_second).collect();
        assert_eq!(whole, [500.0]);
    }

    #[test]
    fn ragged_ends_are_joined_or_dropped() {
        for (cells, expected) in [
            (&[(0, 30, 3)][..], &[100.0][..]),
            (&[(60, 40, 4), (100, 100, 10), (200, 100, 10)], &[100.0]),
            (&[(0, 100, 10), (100, 100, 10), (200, 30, 0)], &[100.0]),
            (&[(0, 100, 10), (100, 100, 10), (200, 100, 0)], &[100.0, 0.0]),
        ] {
            let series = summed_series(&[&worker(cells)], &[Direction::Read], 100_000_000);
            let rates: Vec<f64> = windows(&series, 200).iter().map(RateSample::ios_per_second).collect();
            assert_eq!(rates, expected, "{cells:?}");
        }
    }
}
