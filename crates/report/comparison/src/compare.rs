//! Holding two sides against each other: a row for each cell and figure.

use iolab_recording::Finding;
use iolab_statistics::{
    Better, Bootstrap, Comparison, Interval, Magnitude, Random, Rules, compare, compare_unpaired, median,
    rank_sum_interval, ratio_interval, settle, signed_rank_interval, size_of_ratio,
};
use iolab_study::{Figure, Side as Of};
use serde::{Deserialize, Serialize};

use crate::pairing::{self, Paired, PairingChoice};
use crate::same_storage::different_storage;
use crate::side::{Cell, Trial, cells};
use crate::value::{is_latency, value, within_run};
use crate::{Condition, Difference, Judged, LatencyKind, Operations, Side, differences, judge_condition};

/// How to compare.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What to compare; none means the usual ones, of reads and writes apart where there are both.
    pub figures: Vec<Figure>,
    /// What belongs to what.
    pub pairing: PairingChoice,
    /// Where intervals come from.
    pub intervals: IntervalsFrom,
    /// What decides.
    pub rules: Rules,
    /// What must not have become worse.
    pub conditions: Vec<Condition>,
}

/// Where the interval of a ratio comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalsFrom {
    /// Student's method within blocks, Welch's without.
    #[default]
    Test,
    /// Resampled trials (BCa); of few trials it promises too much.
    Bootstrap,
}

/// What came of it, as plain data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The side that is held against.
    pub baseline: SideFacts,
    /// The one that is held.
    pub candidate: SideFacts,
    /// What decided.
    pub rules: Rules,
    /// Where intervals came from.
    pub intervals: IntervalsFrom,
    /// What must be known before any row is believed; made of both sides together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Figures of cells, figures first.
    pub rows: Vec<Row>,
    /// In what the sides differ beside their figures.
    pub differences: Vec<Difference>,
    /// What must be known to read the rows.
    pub notes: Vec<String>,
    /// What became of the conditions, in their order.
    pub conditions: Vec<Judged>,
}

/// A side, in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideFacts {
    /// What the user calls it.
    pub name: String,
    /// Runs that count.
    pub runs: usize,
    /// Start of the first of them, ns since the Unix epoch, if known.
    pub first_unix_ns: Option<u64>,
    /// Start of the last.
    pub last_unix_ns: Option<u64>,
}

/// What a row's interval is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Trials of the same blocks.
    Blocks,
    /// Trials, each for itself.
    Trials,
    /// The intervals of one run on each side: how runs differ from one another it does not know, so
    /// there is no verdict.
    WithinRuns,
    /// Nothing: there is no interval.
    Nothing,
}

/// One figure of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Axes and points of the configuration; empty when there is only one.
    pub points: Vec<(String, String)>,
    /// The job; `None` for all jobs together, empty when the job of one side is called otherwise on
    /// the other.
    pub job: Option<String>,
    /// Name of the figure.
    pub figure: String,
    /// The figure.
    pub of: Figure,
    /// Which latency, if the figure is one.
    pub latency: Option<LatencyKind>,
    /// Values of the baseline's trials; paired with the candidate's where the basis is blocks.
    pub baseline: Vec<f64>,
    /// Values of the candidate's trials.
    pub candidate: Vec<f64>,
    /// Median of the baseline.
    pub baseline_median: Option<f64>,
    /// Median of the candidate.
    pub candidate_median: Option<f64>,
    /// What the interval is made of.
    pub basis: Basis,
    /// Candidate over baseline, with limits where there are any.
    pub ratio: Option<Interval>,
    /// Test, effect and verdict, where there are trials to make them of.
    pub comparison: Option<Comparison>,
    /// The word for the size of the change.
    pub effect: Option<Magnitude>,
    /// Why there is no verdict, or no value.
    pub remark: Option<String>,
}

impl Row {
    /// Job and configuration, for people; empty where there is only one of each.
    pub fn name(&self) -> String {
        pairing::name(&self.points, self.job.as_deref())
    }
}

/// Resamples of a bootstrap.
const RESAMPLES: usize = 10_000;
const SEED: u64 = 1;

/// Compares two sides. The same sides give the same outcome, to the last bit.
pub fn hold_against(baseline: &Side, candidate: &Side, request: &Request) -> Outcome {
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
        let mut of_figure: Vec<Row> = paired.iter().map(|paired| row(paired, figure, kind, request)).collect();
        correct(&mut of_figure, &paired, request);
        rows.extend(of_figure);
    }
    notes.extend(differences::notes([baseline, candidate], kind, &rows));
    let conditions = request.conditions.iter().map(|one| judge_condition(one, &rows, &request.rules)).collect();
    Outcome {
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

/// Total latency, unless some trial knows percentiles of completion latency only.
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

/// The figures asked for, else those of the studies, else the usual ones; then what conditions are
/// about.
fn figures(request: &Request, sides: [&Side; 2], cells: &[Cell<'_>]) -> Vec<Figure> {
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

/// Reads and writes apart where there are both: a percentile of both together is of neither.
fn usual(cells: &[Cell<'_>]) -> Vec<Figure> {
    let is_on = |operations| {
        let mut jobs = cells.iter().flat_map(|cell| cell.trials.iter().flatten()).flat_map(|trial| &trial.jobs);
        jobs.any(|job| job.has(operations))
    };
    let sides: &[Of] =
        if is_on(Operations::Read) && is_on(Operations::Write) { &[Of::Read, Of::Write] } else { &[Of::All] };
    let of = |side: &Of| Figure::usual().into_iter().map(|figure| Figure { side: *side, ..figure }).collect::<Vec<_>>();
    sides.iter().flat_map(of).collect()
}

fn row(paired: &Paired<'_>, figure: &Figure, kind: LatencyKind, request: &Request) -> Row {
    let [theirs, ours] = values(paired, figure, kind);
    let mut row = Row {
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

/// Values of the trials that have one; of blocks, those that have both.
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

/// One run on each side: an interval of these very runs at best, and no verdict.
fn single(row: &mut Row, paired: &Paired<'_>, kind: LatencyKind, request: &Request) {
    let ratio = row.candidate[0] / row.baseline[0];
    let within = |trials: &[Trial<'_>]| within_run(&row.of, kind, &trials.first()?.jobs, request.rules.confidence);
    let both = within(&paired.trials[0]).zip(within(&paired.trials[1]));
    let interval = both.and_then(|(theirs, ours)| ratio_interval(&theirs, &ours));
    row.basis = if interval.is_some() { Basis::WithinRuns } else { Basis::Nothing };
    row.remark = Some(match interval {
        Some(_) => format!("one run each: no verdict; {}", to_be_sure(&request.rules)),
        None => format!("one run each: no interval, no verdict; {}", to_be_sure(&request.rules)),
    });
    row.effect = Some(size_of_ratio(ratio));
    // The whole run is the better estimate of what happened; its first and last stretches are in no
    // interval.
    row.ratio = Some(match interval {
        Some(limits) => {
            Interval { estimate: ratio, low: limits.low.min(ratio), high: limits.high.max(ratio), ..limits }
        }
        None => Interval { estimate: ratio, low: ratio, high: ratio, confidence: 0.0 },
    });
}

/// What gives one run of each a verdict.
fn to_be_sure(rules: &Rules) -> String {
    format!("run each at least {} times to be sure at {} %", rules.least_blocks, rules.confidence * 100.0)
}

fn several(row: &mut Row, is_paired: bool, request: &Request) {
    let better = row.of.better();
    let compared = match is_paired {
        true => compare(&row.baseline, &row.candidate, better, &request.rules),
        false => compare_unpaired(&row.baseline, &row.candidate, better, &request.rules),
    };
    let Some(comparison) = compared else { return };
    row.basis = if is_paired { Basis::Blocks } else { Basis::Trials };
    row.comparison = Some(comparison);
}

/// The ratio with limits from resampled trials: of pairs, or of each side for itself.
fn resampled(row: &Row, is_paired: bool, confidence: f64) -> Option<Interval> {
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

/// Limits that hold together for all cells of one figure, and what follows from them.
fn correct(rows: &mut [Row], paired: &[Paired<'_>], request: &Request) {
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

/// Whether a larger value is worse.
pub(crate) fn is_worse_above(figure: &Figure) -> bool {
    figure.better() == Better::Lower
}
