//! One figure of one run: its value, and its interval within the run.

use iolab_aggregate::Throughput;
use iolab_histogram::SparseHistogram;
use iolab_statistics::{Interval, mean_interval, percentile_intervals};
use iolab_study::{Figure, FigureDirection, Measure};
use serde::{Deserialize, Serialize};

use crate::side::Trial;
use crate::{DirectionSummary, JobSummary, Latencies, OperationType, SummaryInterval};

/// The kind of latency of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LatencyKind {
    /// reaped - begun, fio's `lat`.
    Total,
    /// reaped - submitted, fio's `clat`, for which its reports have percentiles by default.
    Completion,
}

/// Resamples for an interval within a run.
const RESAMPLES: usize = 2000;
/// A fixed seed: the same run always gets the same intervals.
const SEED: u64 = 1;

fn is_on(side: FigureDirection, operations: OperationType) -> bool {
    match side {
        FigureDirection::All => true,
        FigureDirection::Read => operations == OperationType::Read,
        FigureDirection::Write => operations == OperationType::Write,
    }
}

/// The value of a figure over jobs that ran at the same time; `None` if it cannot be computed.
pub(crate) fn value(figure: &Figure, kind: LatencyKind, trial: &Trial<'_>) -> Option<f64> {
    match &figure.measure {
        // These are of the whole run, whichever of its jobs caused them.
        Measure::MachineCpu | Measure::Traffic | Measure::Device(_) | Measure::Reported(_) => {
            trial.run.summary.of_the_run.get(&figure.name()).copied()
        }
        _ => figure.value(&Reduced { jobs: &trial.jobs, side: figure.side, kind }),
    }
}

/// The operations of one side of jobs that ran at the same time.
struct Reduced<'a> {
    jobs: &'a [&'a JobSummary],
    side: FigureDirection,
    kind: LatencyKind,
}

impl Reduced<'_> {
    fn directions(&self) -> impl Iterator<Item = &DirectionSummary> {
        let all = self.jobs.iter().flat_map(|job| &job.directions);
        all.filter(|one| is_on(self.side, one.operations))
    }

    fn merged(&self, of: fn(&DirectionSummary) -> &Latencies) -> Latencies {
        let mut all = Latencies::default();
        self.directions().for_each(|one| all.merge(of(one)));
        all
    }

    fn latencies(&self) -> Latencies {
        match self.kind {
            LatencyKind::Total => self.merged(|one| &one.lat),
            LatencyKind::Completion => self.merged(|one| &one.clat),
        }
    }
}

impl iolab_study::OperationFigures for Reduced<'_> {
    fn count(&self) -> u64 {
        self.directions().map(|one| one.ios).fold(0, u64::saturating_add)
    }

    /// A single rate is used as stated; for several, all work is divided by the longest run time.
    fn rates(&self) -> [f64; 2] {
        let all: Vec<&DirectionSummary> = self.directions().collect();
        if let [one] = all.as_slice() {
            return [one.ios_per_second, one.bytes_per_second];
        }
        let done = all.iter().map(|one| one.done()).fold(Throughput::default(), Throughput::beside);
        [done.ios_per_second(), done.bytes_per_second()]
    }

    fn mean_latency_ns(&self) -> Option<f64> {
        self.latencies().mean_ns
    }

    fn latency_ns(&self, percent: f64) -> Option<f64> {
        self.latencies().percentile(percent)
    }

    fn response_ns(&self, percent: f64) -> Option<f64> {
        self.merged(|one| &one.response).percentile(percent)
    }

    fn cpu_ns(&self) -> Option<f64> {
        self.jobs.iter().map(|job| job.cpu_ns).sum()
    }
}

/// Whether the figure's value depends on the kind of latency.
pub(crate) fn is_latency(figure: &Figure) -> bool {
    matches!(figure.measure, Measure::MeanLatency | Measure::Latency(_))
}

/// The confidence interval of a figure within one run, from its time intervals. `None` with fewer
/// than ten intervals, or for figures without such an interval.
pub(crate) fn within_run(
    figure: &Figure,
    kind: LatencyKind,
    jobs: &[&JobSummary],
    confidence: f64,
) -> Option<Interval> {
    let rates = |of: fn(&SummaryInterval) -> u64| {
        let rates = stretches(figure.side, jobs, |length_ns, directions| {
            directions.iter().map(|one| of(one) as f64).sum::<f64>() * 1e9 / length_ns as f64
        });
        mean_interval(&rates, confidence, RESAMPLES, SEED)
    };
    let percentile = |percent: f64, of: fn(&SummaryInterval) -> &SparseHistogram| {
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

/// A value from each interval that all jobs have.
fn stretches<T>(side: FigureDirection, jobs: &[&JobSummary], of: impl Fn(u64, &[&SummaryInterval]) -> T) -> Vec<T> {
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
        let own: Vec<&SummaryInterval> = directions.filter(|one| is_on(side, one.operations)).collect();
        all.push(of(interval.length_ns, &own));
    }
    all
}
