//! The result of a rate ladder: latency against load, the knee, and the highest load that meets a
//! target.

use iolab_statistics::{DecisionRules, Interval, knee, median_interval};
use serde::{Deserialize, Serialize};

use crate::ladder::percents;
use crate::{Design, Ladder, Slo, Study, Trial};

/// The ladder of one configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderResult {
    /// Number of the configuration.
    pub configuration: usize,
    /// Operations per second that the levels are shares of: by default the rate of the first
    /// closed-loop trial. `None` when that did nothing.
    pub maximum_iops: Option<f64>,
    /// Operations per second of the closed loop over all blocks.
    pub closed_loop: Option<Interval>,
    /// Its levels, ascending by load.
    pub levels: Vec<LevelResult>,
    /// Where latency starts to rise steeply; `None` when it does not.
    pub knee: Option<Knee>,
    /// The highest load that meets the target, if there is one; also `None` when no level meets it.
    pub capacity: Option<SloCapacity>,
}

/// One level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LevelResult {
    /// Load in percent of the maximum.
    pub percent: f64,
    /// Requested operations per second.
    pub asked_iops: f64,
    /// Operations per second reached.
    pub done_iops: Option<Interval>,
    /// Percentiles of service times (reaped - begun), ns.
    pub service: Vec<LevelPercentile>,
    /// Percentiles of response times (reaped - intended), ns.
    pub response: Vec<LevelPercentile>,
    /// Number of trials that count.
    pub trials: usize,
    /// Trials among these that requested more than was done.
    pub behind: usize,
    /// Trials among those in which the generator was too slow.
    pub generator_late: usize,
}

/// One percentile of a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LevelPercentile {
    /// The percentile.
    pub percent: f64,
    /// By block, ns; `None` where a trial is missing or had too few samples.
    pub values: Vec<Option<f64>>,
    /// Their median with its interval.
    pub median: Option<Interval>,
}

/// Where latency starts to rise steeply.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Knee {
    /// Number of the level.
    pub level: usize,
    /// How it was found.
    pub by: KneeRule,
}

/// Ways to find a knee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum KneeRule {
    /// Furthest below the diagonal of load and median response time (Satopaa et al. 2011).
    Kneedle,
    /// The largest ratio of throughput to median response time (Kleinrock's power), if the curve
    /// has no knee.
    Power,
}

/// The highest load that meets the target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SloCapacity {
    /// The target.
    pub slo: Slo,
    /// Number of the level.
    pub level: usize,
    /// Operations per second requested there.
    pub iops: f64,
    /// The percentile there; its upper limit is within the target.
    pub response: Interval,
    /// Whether it is based on at least five trials.
    pub is_sure: bool,
    /// Lower levels that do not meet the target: a sign of other activity.
    pub lower_misses: usize,
    /// The next higher level was too much for the load generator rather than the device: the
    /// capacity may be larger.
    pub limited_by_generator: bool,
}

/// The ladders of all configurations.
pub(crate) fn ladders(
    study: &Study,
    design: &Design,
    trials: &[Trial],
    blocks: u32,
    rules: &DecisionRules,
) -> Vec<LadderResult> {
    let Some(ladder) = &study.ladder else { return Vec::new() };
    let of = |configuration| {
        let own: Vec<&Trial> =
            trials.iter().filter(|trial| trial.configuration == configuration && trial.flaw.is_none()).collect();
        one(ladder, configuration, &own, blocks, rules)
    };
    (0..design.configurations.len()).map(of).collect()
}

fn one(ladder: &Ladder, configuration: usize, trials: &[&Trial], blocks: u32, rules: &DecisionRules) -> LadderResult {
    let closed = || trials.iter().filter(|trial| trial.level.is_none());
    let first = closed().find(|trial| trial.block == 0);
    let speeds: Vec<f64> = closed().map(|trial| trial.rates.iter().sum()).collect();
    let level = |number: usize| {
        let asked_iops = first.and_then(|first| ladder.asked_iops(number, first))?;
        let of_block = |block: u32| trials.iter().copied().find(|one| one.block == block && one.level == Some(number));
        let own: Vec<Option<&Trial>> = (0..blocks).map(of_block).collect();
        Some(level_result(ladder, number, asked_iops, &own, rules))
    };
    let levels: Vec<LevelResult> = (0..ladder.levels.len()).filter_map(level).collect();
    LadderResult {
        configuration,
        maximum_iops: first.and_then(|first| ladder.maximum(first)),
        closed_loop: median_interval(&speeds, rules.confidence),
        knee: find_knee(&levels),
        capacity: ladder.slo.and_then(|slo| capacity(slo, &levels, rules)),
        levels,
    }
}

fn level_result(
    ladder: &Ladder,
    number: usize,
    asked_iops: f64,
    own: &[Option<&Trial>],
    rules: &DecisionRules,
) -> LevelResult {
    let known = || own.iter().copied().flatten();
    let percentile = |place: usize, percent: f64, of: fn(&Trial) -> &[Option<f64>]| {
        let values: Vec<Option<f64>> = own.iter().map(|trial| trial.and_then(|trial| *of(trial).get(place)?)).collect();
        let all: Vec<f64> = values.iter().copied().flatten().collect();
        LevelPercentile { percent, values, median: median_interval(&all, rules.confidence) }
    };
    let percentiles = |of: fn(&Trial) -> &[Option<f64>]| {
        percents(ladder).into_iter().enumerate().map(|(place, percent)| percentile(place, percent, of)).collect()
    };
    let done: Vec<f64> = known().map(|trial| trial.rates.iter().sum()).collect();
    LevelResult {
        percent: ladder.levels[number],
        asked_iops,
        done_iops: median_interval(&done, rules.confidence),
        service: percentiles(|trial| &trial.service),
        response: percentiles(|trial| &trial.response),
        trials: done.len(),
        behind: known().filter(|trial| trial.behind.is_some()).count(),
        generator_late: known().filter(|trial| trial.behind == Some(crate::Behind::Generator)).count(),
    }
}

fn response(level: &LevelResult, percent: f64) -> Option<Interval> {
    level.response.iter().find(|one| one.percent == percent)?.median
}

fn find_knee(levels: &[LevelResult]) -> Option<Knee> {
    let points: Vec<(usize, f64, f64)> = levels
        .iter()
        .enumerate()
        .filter_map(|(level, result)| Some((level, result.asked_iops, response(result, 50.0)?.estimate)))
        .collect();
    let curve: Vec<(f64, f64)> = points.iter().map(|(_, load, latency)| (*load, *latency)).collect();
    if let Some(place) = knee(&curve) {
        return Some(Knee { level: points[place].0, by: KneeRule::Kneedle });
    }
    if points.len() < 3 {
        return None;
    }
    let power = |place: &usize| {
        let done = levels[points[*place].0].done_iops.map_or(0.0, |done| done.estimate);
        done / points[*place].2.max(1.0)
    };
    let best = (0..points.len()).max_by(|a, b| power(a).total_cmp(&power(b)))?;
    Some(Knee { level: points[best].0, by: KneeRule::Power })
}

/// The highest level that was reached in every trial and whose upper limit is within the target.
fn capacity(slo: Slo, levels: &[LevelResult], rules: &DecisionRules) -> Option<SloCapacity> {
    let meets = |level: &LevelResult| {
        let within = response(level, slo.percent).filter(|interval| interval.high <= slo.limit_ns as f64);
        within.filter(|_| level.behind == 0)
    };
    let is_known = |level: &LevelResult| response(level, slo.percent).is_some();
    let (level, response) = levels.iter().enumerate().rev().find_map(|(place, level)| Some((place, meets(level)?)))?;
    Some(SloCapacity {
        slo,
        level,
        iops: levels[level].asked_iops,
        response,
        is_sure: levels[level].trials >= rules.least_blocks,
        lower_misses: levels[..level].iter().filter(|one| is_known(one) && meets(one).is_none()).count(),
        limited_by_generator: levels.get(level + 1).is_some_and(|next| next.generator_late > 0),
    })
}
