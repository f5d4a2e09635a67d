//! Warm-up: the part of a trial before its rate settles, found from its intervals and left out.
//!
//! A trial's operations per interval are divided into levels (PELT); the counted part begins with
//! the first level within 5 % of the last one. If the rate does not settle, or there are too few
//! intervals, MSER-5 determines how many of the first intervals to leave out. Without intervals,
//! nothing is left out. Reports say what was left out.

use iolab_histogram::SparseHistogram;
use iolab_recording::{IntervalLatencies, Recording, WorkerRecording};
use iolab_statistics::{mser5, steady_segment};
use serde::{Deserialize, Serialize};

/// The part of a trial that was left out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WarmUp {
    /// How it was found.
    pub method: WarmUpMethod,
    /// Time left out, ns from the start of the trial's measured part.
    pub left_out_ns: u64,
    /// Length of the measured part, ns.
    pub of_ns: u64,
}

/// Methods to find the end of a warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WarmUpMethod {
    /// The point from which the rate keeps its last level.
    ChangePoints,
    /// MSER-5, because the rate never settled or there were too few intervals.
    Mser5,
    /// There were fewer than ten intervals: nothing can be determined, and nothing is left out.
    TooShort,
}

/// Levels this close to the last one belong to it.
const TOLERANCE: f64 = 0.05;
/// With fewer intervals, nothing can be determined.
const LEAST_INTERVALS: usize = 10;
/// With fewer intervals, change points are guesses.
const LEAST_FOR_LEVELS: usize = 20;

/// A recording without its warm-up, and what was left out. CPU time and sync calls are not known
/// per interval: they stay those of the whole trial.
pub fn without_warm_up(recording: &Recording) -> (Recording, WarmUp) {
    let grid_ns =
        recording.plan.workers.iter().map(|worker| worker.measurement.histogram_interval_ns).max().unwrap_or(0);
    let intervals = || recording.workers.iter().flat_map(|worker| &worker.interval_latencies);
    let begun_ns = intervals().map(|interval| interval.start_ns).min();
    let end_ns = intervals().map(|interval| interval.start_ns + interval.length_ns).max();
    let (Some(begun_ns), Some(end_ns), true) = (begun_ns, end_ns, grid_ns > 0) else {
        return (recording.clone(), WarmUp { method: WarmUpMethod::TooShort, left_out_ns: 0, of_ns: 0 });
    };
    let rates = rates(recording, begun_ns / grid_ns, end_ns.div_ceil(grid_ns), grid_ns);
    let (method, skipped) = cut(&rates);
    let mut trimmed = recording.clone();
    let from_ns = if skipped > 0 { (begun_ns / grid_ns + skipped as u64) * grid_ns } else { begun_ns };
    if skipped > 0 {
        trimmed.workers.iter_mut().for_each(|worker| trim(worker, from_ns));
    }
    (trimmed, WarmUp { method, left_out_ns: from_ns - begun_ns, of_ns: end_ns - begun_ns })
}

/// How many of the first intervals to leave out.
fn cut(rates: &[f64]) -> (WarmUpMethod, usize) {
    match rates.len() {
        count if count < LEAST_INTERVALS => (WarmUpMethod::TooShort, 0),
        count if count >= LEAST_FOR_LEVELS => match steady_segment(rates, TOLERANCE) {
            Some(segment) => (WarmUpMethod::ChangePoints, segment.start),
            None => (WarmUpMethod::Mser5, mser5(rates)),
        },
        _ => (WarmUpMethod::Mser5, mser5(rates)),
    }
}

/// Operations per second of all workers in each interval from `first` up to `end`.
fn rates(recording: &Recording, first: u64, end: u64, grid_ns: u64) -> Vec<f64> {
    let mut rates = vec![0.0; (end - first) as usize];
    for interval in recording.workers.iter().flat_map(|worker| &worker.interval_latencies) {
        let ios: u64 = interval.directions.iter().map(|one| one.ios).sum();
        // The first and the last may be shorter than the others; an empty one adds nothing.
        if let Some(rate) = rates.get_mut((interval.start_ns / grid_ns - first) as usize)
            && interval.length_ns > 0
        {
            *rate += ios as f64 * 1e9 / interval.length_ns as f64;
        }
    }
    rates
}

/// Removes what was completed before `from_ns`.
fn trim(worker: &mut WorkerRecording, from_ns: u64) {
    let kept: Vec<IntervalLatencies> =
        worker.interval_latencies.iter().filter(|interval| interval.start_ns >= from_ns).cloned().collect();
    let end_ns = kept.iter().map(|interval| interval.start_ns + interval.length_ns).max().unwrap_or(from_ns);
    let begun_ns = kept.first().map_or(end_ns, |interval| interval.start_ns);
    for (number, direction) in worker.directions.iter_mut().enumerate() {
        let of_direction =
            || kept.iter().flat_map(|interval| &interval.directions).filter(|one| one.direction as usize == number);
        let was_measured = |histogram: &SparseHistogram| !histogram.is_empty();
        let merged = |whole: &SparseHistogram, part: fn(&iolab_recording::DirectionInterval) -> SparseHistogram| {
            let mut all = SparseHistogram::default();
            if was_measured(whole) {
                of_direction().for_each(|one| all.merge(&part(one)));
            }
            all
        };
        direction.lat = merged(&direction.lat, iolab_recording::DirectionInterval::lat);
        direction.clat = merged(&direction.clat, iolab_recording::DirectionInterval::clat);
        direction.response = merged(&direction.response, iolab_recording::DirectionInterval::response);
        // Not known per interval.
        direction.slat = SparseHistogram::default();
        direction.ios = of_direction().map(|one| one.ios).sum();
        direction.bytes = of_direction().map(|one| one.bytes).fold(0, u64::saturating_add);
        if direction.runtime_ns > 0 {
            direction.runtime_ns = end_ns - begun_ns;
        }
    }
    worker.runtime_ns = end_ns - begun_ns;
    worker.interval_latencies = kept;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cut_is_where_the_last_level_begins() {
        let noise = [0.4, -0.3, 0.1, -0.2, 0.3, 0.0, -0.4, 0.2];
        let series = |levels: &[(f64, usize)]| -> Vec<f64> {
            let flat = levels.iter().flat_map(|(level, count)| std::iter::repeat_n(*level, *count));
            flat.enumerate().map(|(place, level)| level + noise[place % noise.len()]).collect()
        };
        let check = |levels: &[(f64, usize)], expected: (WarmUpMethod, usize)| {
            assert_eq!(cut(&series(levels)), expected, "{levels:?}");
        };
        check(&[(20.0, 7), (100.0, 33)], (WarmUpMethod::ChangePoints, 7));
        check(&[(100.0, 40)], (WarmUpMethod::ChangePoints, 0));
        // It slows down near the end: most of it lies before that, so the last level cannot be
        // used.
        check(&[(100.0, 30), (50.0, 10)], (WarmUpMethod::Mser5, 0));
        check(&[(10.0, 5), (100.0, 10)], (WarmUpMethod::Mser5, 5));
        check(&[(10.0, 5), (100.0, 4)], (WarmUpMethod::TooShort, 0));
        check(&[], (WarmUpMethod::TooShort, 0));
    }
}
