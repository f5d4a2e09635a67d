//! One figure of one run: its value, and how surely this very run knows it.

use iolab_histogram::SparseHistogram;
use iolab_statistics::{Interval, mean_interval, percentile_intervals};
use iolab_study::{Figure, Measure, Side};
use serde::{Deserialize, Serialize};

use crate::side::Trial;
use crate::{DirectionInterval, DirectionSummary, JobSummary, Latencies, Operations};

/// Which latency a figure is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LatencyKind {
    /// reaped - begun, fio's `lat`.
    Total,
    /// reaped - submitted, fio's `clat`: what its reports have percentiles of unless told.
    Completion,
}

/// Resampled runs for an interval within a run.
const RESAMPLES: usize = 2000;
/// Intervals are the same whenever they are made of the same run.
const SEED: u64 = 1;

fn is_on(side: Side, operations: Operations) -> bool {
    match side {
        Side::All => true,
        Side::Read => operations == Operations::Read,
        Side::Write => operations == Operations::Write,
    }
}

/// The value of a figure over jobs that ran at the same time; `None` when there is nothing to make it of.
pub(crate) fn value(figure: &Figure, kind: LatencyKind, trial: &Trial<'_>) -> Option<f64> {
    let jobs = &trial.jobs;
    let directions = || {
        let all = jobs.iter().flat_map(|job| &job.directions);
        all.filter(|one| is_on(figure.side, one.operations))
    };
    let rate = |of: fn(&DirectionSummary) -> f64| Some(directions().map(of).sum::<f64>()).filter(|rate| *rate > 0.0);
    let all = |of: fn(&DirectionSummary) -> &Latencies| {
        let mut all = Latencies::default();
        directions().for_each(|one| all.merge(of(one)));
        all
    };
    let latencies = || match kind {
        LatencyKind::Total => all(|one| &one.lat),
        LatencyKind::Completion => all(|one| &one.clat),
    };
    match &figure.measure {
        Measure::Iops => rate(|one| one.ios_per_second),
        Measure::Bandwidth => rate(|one| one.bytes_per_second),
        Measure::MeanLatency => latencies().mean_ns,
        Measure::Latency(percent) => latencies().percentile(*percent),
        Measure::Response(percent) => all(|one| &one.response).percentile(*percent),
        Measure::CpuPerOperation => {
            let operations = directions().map(|one| one.ios).fold(0, u64::saturating_add);
            let cpu_ns = jobs.iter().map(|job| job.cpu_ns).sum::<Option<f64>>()?;
            (operations > 0).then(|| cpu_ns / operations as f64)
        }
        // They are of the whole run, whichever of its jobs made it so.
        Measure::Device(_) | Measure::Reported(_) => trial.run.summary.of_the_run.get(&figure.name()).copied(),
    }
}

/// Whether the figure has a kind of latency in its name.
pub(crate) fn is_latency(figure: &Figure) -> bool {
    matches!(figure.measure, Measure::MeanLatency | Measure::Latency(_))
}

/// How surely one run knows the figure, from its intervals; `None` when it has fewer than ten, or the figure has no such interval.
pub(crate) fn within_run(
    figure: &Figure,
    kind: LatencyKind,
    jobs: &[&JobSummary],
    confidence: f64,
) -> Option<Interval> {
    let rates = |of: fn(&DirectionInterval) -> u64| {
        let rates = stretches(figure.side, jobs, |length_ns, directions| {
            directions.iter().map(|one| of(one) as f64).sum::<f64>() * 1e9 / length_ns as f64
        });
        mean_interval(&rates, confidence, RESAMPLES, SEED)
    };
    let percentile = |percent: f64, of: fn(&DirectionInterval) -> &SparseHistogram| {
        let histograms = stretches(figure.side, jobs, |_, directions| {
            let mut all = SparseHistogram::default();
            directions.iter().for_each(|one| all.merge(of(one)));
            all
        });
        percentile_intervals(&histograms, &[percent], confidence, RESAMPLES, SEED).pop().flatten()
    };
    match (&figure.measure, kind) {
        (Measure::Iops, _) => rates(|one| one.ios),
        (Measure::Bandwidth, _) => rates(|one| one.bytes),
        (Measure::Latency(percent), LatencyKind::Total) => percentile(*percent, |one| &one.lat),
        (Measure::Latency(percent), LatencyKind::Completion) => percentile(*percent, |one| &one.clat),
        (Measure::Response(percent), _) => percentile(*percent, |one| &one.response),
        _ => None,
    }
}

/// Something of each stretch that all the jobs have.
fn stretches<T>(side: Side, jobs: &[&JobSummary], of: impl Fn(u64, &[&DirectionInterval]) -> T) -> Vec<T> {
    let Some((first, others)) = jobs.split_first() else { return Vec::new() };
    let mut all = Vec::new();
    for interval in &first.intervals {
        let is_same = |other: &&crate::IntervalSummary| {
            (other.start_ns, other.length_ns) == (interval.start_ns, interval.length_ns)
        };
        let Some(rest) = others.iter().map(|job| job.intervals.iter().find(is_same)).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let directions = std::iter::once(interval).chain(rest).flat_map(|one| &one.directions);
        let own: Vec<&DirectionInterval> = directions.filter(|one| is_on(side, one.operations)).collect();
        all.push(of(interval.length_ns, &own));
    }
    all
}
