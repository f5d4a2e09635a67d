//! Checks whether the rate was constant from beginning to end.

use iolab_plan::Direction;
use iolab_recording::Severity;
use iolab_statistics::{Line, change_points, median, noise_variance};

use super::{RuleMatch, of_jobs, together};
use crate::facts::{Facts, Job};
use crate::wording::{count, percent};

/// With fewer intervals, no trend can be seen.
const LEAST_INTERVALS: usize = 10;

/// The rate may move by this share of its mean from beginning to end (SNIA SSS PTS 2.0.2 allows 10
/// % over its window, and 20 % between its extremes).
const DRIFT: f64 = 0.2;

/// A lasting drop by this share is a cliff.
const FALL: f64 = 0.3;

/// The levels before and after a cliff must each have lasted for this share of the run.
const LASTS: f64 = 0.15;

/// A rate that rises or falls steadily.
pub(crate) fn drift(facts: &Facts<'_>) -> Vec<RuleMatch> {
    of_jobs(facts, Severity::Warning, |job| {
        let rates = rates(job)?;
        if cliff_in(&rates).is_some() {
            return None;
        }
        let line = Line::through(&rates)?;
        let (first, last) = (line.start, line.start + line.slope * (rates.len() - 1) as f64);
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let third = rates.len() / 3;
        let (early, late) = (median(&rates[..third])?, median(&rates[rates.len() - third..])?);
        // The trend line and the medians must agree: a single slow interval moves only the line.
        let moves = |from: f64, to: f64| (to - from).abs() > DRIFT * mean;
        (moves(first, last) && moves(early, late) && (last > first) == (late > early)).then(|| {
            let word = if late > early { "rose" } else { "fell" };
            format!("IOPS {word} from {} to {}", rounded(early), rounded(late))
        })
    })
}

/// A lasting drop to a lower level, as when a cache or a credit is used up.
pub(crate) fn cliff(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let seen = facts.shown().filter_map(|job| {
        let rates = rates(job)?;
        let (at, before, after) = cliff_in(&rates)?;
        let first = &job.first().worker.intervals;
        // Rates begin with the second interval.
        let seconds = first.get(at + 1).map_or(0.0, |interval| interval.start_ns as f64 / 1e9);
        let writes = job.first().plan.workload.pattern.directions.contains(&Direction::Write);
        let why = if writes { "as when a write cache is full" } else { "as when a burst credit is used up" };
        let (high, low) = (rounded(before), rounded(after));
        let fall = percent(1.0 - after / before);
        Some((job.name, format!("the rate fell from {high} to {low} IOPS ({fall}) {seconds:.0} s into the run, {why}")))
    });
    together(Severity::Warning, seen.collect())
}

/// The position of a lasting drop, with the levels before and after it.
fn cliff_in(rates: &[f64]) -> Option<(usize, f64, f64)> {
    let penalty = 3.0 * (rates.len() as f64).ln() * noise_variance(rates);
    let segments = change_points(rates, 3, penalty.max(f64::MIN_POSITIVE));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let least = (LASTS * rates.len() as f64).ceil() as usize;
    let falls = segments.windows(2).filter_map(|pair| {
        let at = pair[1].start;
        let (before, after) = (&rates[..at], &rates[at..]);
        let (high, low) = (mean(before), mean(after));
        let lasts = before.len() >= least && after.len() >= least;
        // Nearly all rates before the drop must exceed nearly all after it, which noise of a busy
        // machine does not cause.
        let parted = quantile_of(before, 0.1)? > quantile_of(after, 0.9)?;
        (lasts && parted && low < (1.0 - FALL) * high).then_some((at, high, low))
    });
    // Several positions near a drop may qualify: choose the one where two levels fit best.
    let fit = |(at, high, low): &(usize, f64, f64)| (*at * (rates.len() - *at)) as f64 * (high - low).powi(2);
    falls.max_by(|one, other| fit(one).total_cmp(&fit(other)))
}

fn quantile_of(values: &[f64], share: f64) -> Option<f64> {
    iolab_statistics::quantile(values, share)
}

/// Operations per second of all workers, for each interval in which all of them ran; `None` when
/// there are too few intervals.
fn rates(job: &Job<'_>) -> Option<Vec<f64>> {
    if job.members.iter().any(|member| member.waits()) {
        return None;
    }
    let first = &job.first().worker.intervals;
    // The first and the last interval may be cut short.
    let inner = first.get(1..first.len().checked_sub(1)?)?;
    let rates: Vec<f64> = inner
        .iter()
        .filter_map(|line| {
            let of = |intervals: &[iolab_recording::Interval]| {
                let same = intervals.iter().find(|other| other.start_ns == line.start_ns)?;
                (same.length_ns == line.length_ns).then(|| same.ios.iter().sum::<u64>())
            };
            let ios: Option<u64> = job.members.iter().map(|member| of(&member.worker.intervals)).sum();
            Some(ios? as f64 * 1e9 / line.length_ns.max(1) as f64)
        })
        .collect();
    // With too few operations in an interval, their number is mostly chance.
    let enough = median(&rates).is_some_and(|rate| rate * inner[0].length_ns as f64 / 1e9 >= 20.0);
    (rates.len() >= LEAST_INTERVALS && enough).then_some(rates)
}

fn rounded(rate: f64) -> String {
    count(rate.round() as u64)
}
