//! Compares two sides: one row for each cell and figure.

use iolab_recording::Finding;
use iolab_statistics::{
    Bootstrap, Comparison, DecisionRules, Interval, Random, compare, compare_unpaired, median, rank_sum_interval,
    ratio_interval, settle, signed_rank_interval, size_of_ratio,
};
use iolab_study::{Figure, FigureDirection as Of};
use serde::{Deserialize, Serialize};

use crate::pairing::{Paired, PairingChoice};
use crate::row::{Basis, ComparisonRow};
use crate::same_storage::different_storage;
use crate::side::{Cell, Trial, cells};
use crate::value::{is_latency, value, within_run};
use crate::{
    Condition, Difference, JudgedCondition, LatencyKind, OperationType, Side, differences, judge_condition, pairing,
};

/// The options of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonRequest {
    /// Figures to compare; if empty, the usual ones, for reads and writes separately if there are
    /// both.
    pub figures: Vec<Figure>,
    /// How trials are paired.
    pub pairing: PairingChoice,
    /// How intervals are computed.
    pub intervals: IntervalsFrom,
    /// The rules for verdicts.
    pub rules: DecisionRules,
    /// Changes for the worse that make the comparison fail.
    pub conditions: Vec<Condition>,
}

/// How the interval of a ratio is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalsFrom {
    /// Student's method within blocks, Welch's without.
    #[default]
    Test,
    /// Bootstrap of the trials (BCa). With few trials its intervals are too narrow.
    Bootstrap,
}

/// The result, as plain data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonResult {
    /// The baseline.
    pub baseline: SideFacts,
    /// The candidate.
    pub candidate: SideFacts,
    /// The rules for verdicts.
    pub rules: DecisionRules,
    /// How intervals were computed.
    pub intervals: IntervalsFrom,
    /// What a reader must know before believing any row, from both sides together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// One row for each figure and cell, sorted by figure.
    pub rows: Vec<ComparisonRow>,
    /// Differences between the sides other than their figures.
    pub differences: Vec<Difference>,
    /// Notes that are needed to read the rows.
    pub notes: Vec<String>,
    /// The results of the conditions, in order.
    pub conditions: Vec<JudgedCondition>,
}

/// A side, in brief.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideFacts {
    /// Its name, as given by the user.
    pub name: String,
    /// Number of runs that count.
    pub runs: usize,
    /// Start of the first run, ns since the Unix epoch, if known.
    pub first_unix_ns: Option<u64>,
    /// Start of the last run.
    pub last_unix_ns: Option<u64>,
}

/// Resamples of a bootstrap.
const RESAMPLES: usize = 10_000;
const SEED: u64 = 1;

/// Compares two sides. The same sides give exactly the same result.
pub fn hold_against(baseline: &Side, candidate: &Side, request: &ComparisonRequest) -> ComparisonResult {
    let cells = cells([baseline, candidate]);
    let kind = latency_kind(&cells);
    let mut notes = Vec::new();
    let matched: Vec<Cell<'_>> = {
        let (both, single): (Vec<_>, Vec<_>) =
            cells.into_iter().partition(|cell| cell.trials.iter().all(|trials| !trials.is_empty()));
        notes.extend(pairing::unmatched(&single));
        both
    };
    let paired: Vec<Paired<'_>> = matched.iter().map(|cell| pairing::pair(cell, request.pairing)).collect();
    notes.extend(pairing::remarks(&paired));
    let figures = figures(request, [baseline, candidate], &matched);
    let mut rows = Vec::new();
    for figure in &figures {
        let mut of_figure: Vec<ComparisonRow> =
            paired.iter().map(|paired| row(paired, figure, kind, request)).collect();
        correct(&mut of_figure, &paired, request);
        rows.extend(of_figure);
    }
    notes.extend(differences::notes([baseline, candidate], kind, &rows));
    let conditions = request.conditions.iter().map(|one| judge_condition(one, &rows, &request.rules)).collect();
    ComparisonResult {
        baseline: facts(baseline),
        candidate: facts(candidate),
        rules: request.rules,
        intervals: request.intervals,
        findings: different_storage([baseline, candidate], &matched).into_iter().collect(),
        rows,
        differences: differences::differences([baseline, candidate]),
        notes,
        conditions,
    }
}

fn facts(side: &Side) -> SideFacts {
    let counted = || side.runs.iter().filter(|run| run.summary.flaw.is_none());
    let starts = || counted().filter_map(|run| run.summary.started_unix_ns);
    SideFacts {
        name: side.name.clone(),
        runs: counted().count(),
        first_unix_ns: starts().min(),
        last_unix_ns: starts().max(),
    }
}

/// Total latency, unless some trial has percentiles of completion latency only.
fn latency_kind(cells: &[Cell<'_>]) -> LatencyKind {
    let mut directions = cells.iter().flat_map(|cell| cell.trials.iter().flatten()).flat_map(directions);
    let lacks_total = directions.any(|one| {
        let has = |latencies: &crate::Latencies| latencies.histogram.is_some() || !latencies.percentiles.is_empty();
        has(&one.clat) && !has(&one.lat)
    });
    if lacks_total { LatencyKind::Completion } else { LatencyKind::Total }
}

fn directions<'r>(trial: &'r Trial<'r>) -> impl Iterator<Item = &'r crate::DirectionSummary> {
    trial.jobs.iter().flat_map(|job| &job.directions)
}

/// The requested figures, otherwise those of the studies, otherwise the usual ones; then the
/// figures of the conditions.
fn figures(request: &ComparisonRequest, sides: [&Side; 2], cells: &[Cell<'_>]) -> Vec<Figure> {
    let mut figures = request.figures.clone();
    if figures.is_empty() {
        let [theirs, ours] = sides;
        figures = theirs.figures.iter().filter(|figure| ours.figures.contains(figure)).cloned().collect();
    }
    if figures.is_empty() {
        figures = usual(cells);
    }
    for condition in &request.conditions {
        if !figures.contains(&condition.figure) {
            figures.push(condition.figure.clone());
        }
    }
    figures
}

/// Separates reads and writes if there are both: a percentile over both describes neither.
fn usual(cells: &[Cell<'_>]) -> Vec<Figure> {
    let is_on = |operations| {
        let mut jobs = cells.iter().flat_map(|cell| cell.trials.iter().flatten()).flat_map(|trial| &trial.jobs);
        jobs.any(|job| job.has(operations))
    };
    let sides: &[Of] =
        if is_on(OperationType::Read) && is_on(OperationType::Write) { &[Of::Read, Of::Write] } else { &[Of::All] };
    let of = |side: &Of| Figure::usual().into_iter().map(|figure| Figure { side: *side, ..figure }).collect::<Vec<_>>();
    sides.iter().flat_map(of).collect()
}

fn row(paired: &Paired<'_>, figure: &Figure, kind: LatencyKind, request: &ComparisonRequest) -> ComparisonRow {
    let [theirs, ours] = values(paired, figure, kind);
    let mut row = ComparisonRow {
        points: paired.cell.points.clone(),
        job: paired.cell.job.clone(),
        figure: figure.name(),
        of: figure.clone(),
        latency: is_latency(figure).then_some(kind),
        baseline_median: median(&theirs),
        candidate_median: median(&ours),
        baseline: theirs,
        candidate: ours,
        basis: Basis::Nothing,
        ratio: None,
        comparison: None,
        effect: None,
        remark: None,
    };
    match (row.baseline.len(), row.candidate.len()) {
        (0, 0) => row.remark = Some("not measured, or too few samples".to_owned()),
        (0, _) => row.remark = Some("not measured by the baseline, or too few samples".to_owned()),
        (_, 0) => row.remark = Some("not measured by the candidate, or too few samples".to_owned()),
        (1, 1) => single(&mut row, paired, kind, request),
        _ => several(&mut row, paired.is_paired, request),
    }
    row
}

/// The values of the trials that have one; with blocks, of the blocks where both sides have one.
fn values(paired: &Paired<'_>, figure: &Figure, kind: LatencyKind) -> [Vec<f64>; 2] {
    let of = |trial: &Trial<'_>| value(figure, kind, trial).filter(|value| value.is_finite() && *value > 0.0);
    let [theirs, ours] = &paired.trials;
    if paired.is_paired {
        let both = theirs.iter().zip(ours).filter_map(|(one, other)| Some((of(one)?, of(other)?)));
        let (theirs, ours) = both.unzip();
        return [theirs, ours];
    }
    [theirs.iter().filter_map(of).collect(), ours.iter().filter_map(of).collect()]
}

/// One run on each side: at best an interval within these runs, and no verdict.
fn single(row: &mut ComparisonRow, paired: &Paired<'_>, kind: LatencyKind, request: &ComparisonRequest) {
    let ratio = row.candidate[0] / row.baseline[0];
    let within = |trials: &[Trial<'_>]| within_run(&row.of, kind, &trials.first()?.jobs, request.rules.confidence);
    let both = within(&paired.trials[0]).zip(within(&paired.trials[1]));
    let interval = both.and_then(|(theirs, ours)| ratio_interval(&theirs, &ours));
    row.basis = if interval.is_some() { Basis::WithinRuns } else { Basis::Nothing };
    row.remark = Some(match interval {
        Some(_) => format!("one run each, so no verdict: {}", to_be_sure(&request.rules)),
        None => format!("one run each, so no interval and no verdict: {}", to_be_sure(&request.rules)),
    });
    row.effect = Some(size_of_ratio(ratio));
    // The whole run is the better estimate of what happened; the intervals omit its beginning and
    // end.
    row.ratio = Some(match interval {
        Some(limits) => {
            Interval { estimate: ratio, low: limits.low.min(ratio), high: limits.high.max(ratio), ..limits }
        }
        None => Interval { estimate: ratio, low: ratio, high: ratio, confidence: 0.0 },
    });
}

/// What a verdict would need when there is one run on each side.
fn to_be_sure(rules: &DecisionRules) -> String {
    format!("run each side at least {} times to be sure at {} %", rules.least_blocks, rules.confidence * 100.0)
}

fn several(row: &mut ComparisonRow, is_paired: bool, request: &ComparisonRequest) {
    let better = row.of.better();
    let compared = match is_paired {
        true => compare(&row.baseline, &row.candidate, better, &request.rules),
        false => compare_unpaired(&row.baseline, &row.candidate, better, &request.rules),
    };
    let Some(comparison) = compared else { return };
    row.basis = if is_paired { Basis::Blocks } else { Basis::Trials };
    row.comparison = Some(comparison);
}

/// The ratio with limits from a bootstrap: of the pairs, or of each side separately.
fn resampled(row: &ComparisonRow, is_paired: bool, confidence: f64) -> Option<Interval> {
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let (theirs, ours) = (logs(&row.baseline), logs(&row.candidate));
    if is_paired {
        let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(one, other)| one - other).collect();
        let middle = |sample: &[f64]| signed_rank_interval(sample, confidence).map_or(f64::NAN, |found| found.estimate);
        return Some(Bootstrap::new(&ratios, middle, RESAMPLES, SEED)?.bca_interval(confidence).map(f64::exp));
    }
    let shift = |ours: &[f64], theirs: &[f64]| {
        rank_sum_interval(ours, theirs, confidence).map_or(f64::NAN, |found| found.estimate)
    };
    let mut random = Random::new(SEED);
    let mut draw = |values: &[f64]| -> Vec<f64> { values.iter().map(|_| values[random.below(values.len())]).collect() };
    let resampled = (0..RESAMPLES).map(|_| shift(&draw(&ours), &draw(&theirs))).collect();
    let without = |values: &[f64], place: usize| [&values[..place], &values[place + 1..]].concat();
    let left_out = (0..ours.len())
        .map(|place| shift(&without(&ours, place), &theirs))
        .chain((0..theirs.len()).map(|place| shift(&ours, &without(&theirs, place))));
    let bootstrap =
        Bootstrap::from_values(shift(&ours, &theirs), resampled, left_out.filter(|one| !one.is_nan()).collect());
    Some(bootstrap.bca_interval(confidence).map(f64::exp))
}

/// Computes limits that hold together for all cells of one figure, and the verdicts that follow.
fn correct(rows: &mut [ComparisonRow], paired: &[Paired<'_>], request: &ComparisonRequest) {
    let rules = &request.rules;
    let mut comparisons: Vec<Comparison> = rows.iter().filter_map(|row| row.comparison.clone()).collect();
    settle(&mut comparisons, rules);
    let places = rows.iter_mut().zip(paired).filter(|(row, _)| row.comparison.is_some());
    for ((row, paired), mut settled) in places.zip(comparisons) {
        if request.intervals == IntervalsFrom::Bootstrap
            && let Some(ratio) = resampled(row, paired.is_paired, rules.confidence)
        {
            settled = settled.with_ratio(ratio, rules);
        }
        row.ratio = Some(settled.ratio);
        row.effect = Some(size_of_ratio(settled.ratio.estimate));
        row.comparison = Some(settled);
    }
}
