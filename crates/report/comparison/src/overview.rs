//! The figures of one run, job by job, for lists and exports of runs.

use iolab_study::{Figure, FigureDirection, Measure};
use serde::{Deserialize, Serialize};

use crate::side::{ComparedRun, Trial, groups};
use crate::value::{is_latency, value};
use crate::{LatencyKind, OperationType, RunSummary};

/// One figure of one job of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFigure {
    /// The job; `None` for all jobs together.
    pub job: Option<String>,
    /// The figure.
    pub figure: Figure,
    /// The kind of latency, if it is one.
    pub latency: Option<LatencyKind>,
    /// In the figure's own unit.
    pub value: f64,
}

/// All figures of a run: throughput, mean, percentiles that have enough samples, CPU time; for
/// reads, for writes, and for both together.
pub fn overview(run: &RunSummary) -> Vec<RunFigure> {
    const PERCENTS: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99];
    let mut measures = vec![Measure::Iops, Measure::Bandwidth, Measure::MeanLatency];
    measures.extend(PERCENTS.map(Measure::Latency));
    measures.extend([99.0, 99.9].map(Measure::Response));
    let placed = ComparedRun { summary: run.clone(), ..ComparedRun::default() };
    let mut all = Vec::new();
    for (job, jobs) in groups(&placed.summary) {
        let trial = Trial { run: &placed, jobs };
        let is_both =
            [OperationType::Read, OperationType::Write].iter().all(|one| trial.jobs.iter().any(|job| job.has(*one)));
        let sides: &[FigureDirection] = if is_both {
            &[FigureDirection::All, FigureDirection::Read, FigureDirection::Write]
        } else {
            &[FigureDirection::All]
        };
        let mut figures: Vec<Figure> = sides
            .iter()
            .flat_map(|side| measures.iter().map(|measure| Figure { side: *side, measure: measure.clone() }))
            .collect();
        figures.push(Figure { side: FigureDirection::All, measure: Measure::CpuPerOperation });
        all.extend(figures.into_iter().filter_map(|figure| known(figure, job.as_ref(), &trial)));
    }
    all
}

/// The total latency if it is known, otherwise the completion latency.
fn known(figure: Figure, job: Option<&String>, trial: &Trial<'_>) -> Option<RunFigure> {
    let of = |kind| value(&figure, kind, trial).map(|value| (kind, value));
    let (kind, value) = of(LatencyKind::Total).or_else(|| of(LatencyKind::Completion))?;
    let latency = is_latency(&figure).then_some(kind);
    Some(RunFigure { job: job.cloned(), figure, latency, value })
}
