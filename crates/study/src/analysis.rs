//! What the trials say.

use std::borrow::Cow;

use iolab_plan::PerDirection;
use iolab_recording::{Recording, WorkerRecording};
use iolab_statistics::{Comparison, Interval, Rules, compare, median_interval, settle};
use serde::{Deserialize, Serialize};

use crate::ladder_result::{ladders, percents};
use crate::steps::{blocks_to_run, preconditioned};
use crate::warm_up::without_warm_up;
use crate::{
    Configuration, Design, Figure, LadderResult, Measure, Planned, Preconditioned, Results, Side, Study, WarmUp,
    WarmUpMethod,
};

/// What is kept of one trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Block, from 0.
    pub block: u32,
    /// Number of the configuration.
    pub configuration: usize,
    /// Number of the ladder's level; `None` for a trial without a rate.
    #[serde(default)]
    pub level: Option<usize>,
    /// Values of the study's figures, in their order.
    pub values: Vec<Option<f64>>,
    /// Why it does not count: it failed or was interrupted.
    pub flaw: Option<String>,
    /// Operations per second, by direction.
    #[serde(default)]
    pub rates: PerDirection<f64>,
    /// Its workers.
    #[serde(default)]
    pub workers: u32,
    /// Percentiles of service times that its ladder wants, ns.
    #[serde(default)]
    pub service: Vec<Option<f64>>,
    /// The same of response times.
    #[serde(default)]
    pub response: Vec<Option<f64>>,
    /// Whether it asked for more than was done, and whose fault that was.
    #[serde(default)]
    pub behind: Option<Behind>,
    /// What was left out of it.
    #[serde(default)]
    pub warm_up: Option<WarmUp>,
    /// How long it took, ns.
    #[serde(default)]
    pub elapsed_ns: u64,
}

/// Who could not do what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behind {
    /// The storage.
    Device,
    /// The load generator.
    Generator,
}

impl Trial {
    /// The figures of a recording.
    pub fn new(planned: Planned, study: &Study, recording: &Recording) -> Trial {
        let failed = recording.workers.iter().find(|worker| worker.outcome.errno() != 0);
        let flaw = match failed {
            _ if recording.interrupted => Some("it was interrupted".to_owned()),
            Some(worker) => Some(format!("worker {}: {:?}", worker.number, worker.outcome)),
            None => None,
        };
        let Planned { block, configuration, level } = planned;
        let (measured, warm_up) = match study.trims_warm_up {
            true => {
                let (measured, warm_up) = without_warm_up(recording);
                (Cow::Owned(measured), Some(warm_up))
            }
            false => (Cow::Borrowed(recording), None),
        };
        let percents = study.ladder.as_ref().map(percents).unwrap_or_default();
        let percentiles = |measure: fn(f64) -> Measure| {
            let figure = |percent: &f64| Figure { side: Side::All, measure: measure(*percent) }.of(&measured);
            percents.iter().map(figure).collect()
        };
        // CPU time is that of the whole trial, as are the device's counters, so it is held against all of its operations.
        let value = |figure: &Figure| match figure.measure {
            Measure::CpuPerOperation | Measure::Device(_) => figure.of(recording),
            _ => figure.of(&measured),
        };
        Trial {
            block,
            configuration,
            level,
            values: study.figures.iter().map(value).collect(),
            flaw,
            rates: rates(&measured),
            workers: recording.workers.len() as u32,
            service: percentiles(Measure::Latency),
            response: percentiles(Measure::Response),
            behind: behind(recording),
            warm_up,
            elapsed_ns: recording.elapsed_ns,
        }
    }

    /// The figures of what a command printed.
    pub fn of_command(planned: Planned, figures: &[Figure], printed: &serde_json::Value) -> Trial {
        let value = |figure: &Figure| match &figure.measure {
            Measure::Reported(reported) => reported.of(printed),
            _ => None,
        };
        let values: Vec<Option<f64>> = figures.iter().map(value).collect();
        let missing = figures.iter().zip(&values).find(|(_, value)| value.is_none());
        let flaw = missing.map(|(figure, _)| format!("it printed no number for '{}'", figure.name()));
        let Planned { block, configuration, level } = planned;
        Trial { block, configuration, level, values, flaw, ..Trial::default() }
    }

    /// Which trial it is.
    pub fn planned(&self) -> Planned {
        Planned { block: self.block, configuration: self.configuration, level: self.level }
    }
}

/// Operations per second, by direction.
fn rates(recording: &Recording) -> PerDirection<f64> {
    let rate = |number: usize| {
        let directions = recording.workers.iter().map(|worker| &worker.directions[number]);
        directions.filter(|one| one.runtime_ns > 0).map(|one| one.ios as f64 * 1e9 / one.runtime_ns as f64).sum()
    };
    std::array::from_fn(rate)
}

fn behind(recording: &Recording) -> Option<Behind> {
    let saturated = |worker: &&WorkerRecording| worker.schedule.is_some_and(|schedule| schedule.is_saturated());
    let directions = || recording.workers.iter().filter(saturated).flat_map(|worker| &worker.directions);
    recording.workers.iter().find(saturated)?;
    let late: u128 = directions().map(|one| one.generator_late.sum).sum();
    let waited: u128 = directions().map(|one| one.backlog_wait.sum).sum();
    Some(if late > waited { Behind::Generator } else { Behind::Device })
}

/// One figure of one configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Number of the configuration.
    pub configuration: usize,
    /// Number of the figure.
    pub figure: usize,
    /// Values by block; `None` where the trial is missing, flawed or had too few samples.
    pub values: Vec<Option<f64>>,
    /// Median with its interval; `None` without values.
    pub median: Option<Interval>,
}

/// One figure of two configurations that differ in the compared axis only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// Number of the figure.
    pub figure: usize,
    /// The configuration that is held against.
    pub baseline: usize,
    /// The one that is held.
    pub candidate: usize,
    /// What came of it.
    pub comparison: Comparison,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// The figures, by number.
    pub figures: Vec<Figure>,
    /// For each figure and configuration, figures first.
    pub rows: Vec<Row>,
    /// For each figure, corrected together (Holm).
    pub contrasts: Vec<Contrast>,
    /// Trials that do not count, and why.
    pub flaws: Vec<String>,
    /// What preconditioning came to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preconditioned: Vec<Preconditioned>,
    /// The ladder of each configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ladders: Vec<LadderResult>,
    /// Trials of which a warm-up was left out, or in which it could not be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warm_ups: Vec<TrialWarmUp>,
}

/// The warm-up of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrialWarmUp {
    /// Which trial.
    pub trial: Planned,
    /// What was left out of it.
    pub warm_up: WarmUp,
}

/// Analyses what has been run so far. The same results, in whatever order they came, give the same analysis.
pub fn analyse(study: &Study, design: &Design, results: &Results, rules: &Rules) -> Analysis {
    let blocks = blocks_to_run(study, design, results);
    let mut trials: Vec<Trial> = results.trials.iter().filter(|trial| trial.block < blocks).cloned().collect();
    trials.sort_by_key(Trial::planned);
    let mut rows = Vec::new();
    let mut contrasts = Vec::new();
    for figure in 0..study.figures.len() {
        let of_figure: Vec<Row> = (0..design.configurations.len())
            .map(|configuration| row(blocks, &trials, configuration, figure, rules))
            .collect();
        contrasts.extend(contrasted(study, design, &of_figure, figure, rules));
        rows.extend(of_figure);
    }
    let told = |trial: &Trial| {
        let flaw = trial.flaw.as_ref()?;
        Some(format!("block {}, {}: {flaw}", trial.block + 1, design.name_of(study, trial.planned())))
    };
    let warm_up = |trial: &Trial| {
        let warm_up = trial.warm_up?;
        let is_told = warm_up.left_out_ns > 0 || warm_up.method != WarmUpMethod::ChangePoints;
        is_told.then_some(TrialWarmUp { trial: trial.planned(), warm_up })
    };
    Analysis {
        figures: study.figures.clone(),
        rows,
        contrasts,
        flaws: trials.iter().filter_map(told).collect(),
        preconditioned: preconditioned(study, results),
        ladders: ladders(study, design, &trials, blocks, rules),
        warm_ups: trials.iter().filter_map(warm_up).collect(),
    }
}

fn row(blocks: u32, trials: &[Trial], configuration: usize, figure: usize, rules: &Rules) -> Row {
    let value = |block: u32| {
        let planned = Planned { block, configuration, level: None };
        let mut own = trials.iter().filter(|trial| trial.planned() == planned);
        own.find(|trial| trial.flaw.is_none()).and_then(|trial| trial.values[figure])
    };
    let values: Vec<Option<f64>> = (0..blocks).map(value).collect();
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    Row { configuration, figure, values, median: median_interval(&known, rules.confidence) }
}

/// Each configuration against the one that differs from it only in the compared axis, which is at its baseline there.
fn contrasted(study: &Study, design: &Design, rows: &[Row], figure: usize, rules: &Rules) -> Vec<Contrast> {
    let pairs = contrasts(study, &design.configurations);
    let (places, mut comparisons): (Vec<_>, Vec<Comparison>) = pairs
        .into_iter()
        .filter_map(|(baseline, candidate)| {
            let both = rows[baseline].values.iter().zip(&rows[candidate].values);
            let (theirs, ours): (Vec<f64>, Vec<f64>) =
                both.filter_map(|(one, other)| Some(((*one)?, (*other)?))).unzip();
            let better = study.figures[figure].better();
            Some(((baseline, candidate), compare(&theirs, &ours, better, rules)?))
        })
        .unzip();
    settle(&mut comparisons, rules);
    let contrast = |((baseline, candidate), comparison)| Contrast { figure, baseline, candidate, comparison };
    places.into_iter().zip(comparisons).map(contrast).collect()
}

/// The pairs that are compared: the numbers of a baseline, and of a configuration that is held against it.
pub(crate) fn contrasts(study: &Study, configurations: &[Configuration]) -> Vec<(usize, usize)> {
    let Some((axis, point)) = compared(study) else { return Vec::new() };
    let twin = |candidate: usize| {
        let mut points = configurations[candidate].points.clone();
        points[axis] = point.clone();
        configurations.iter().position(|other| other.points == points).filter(|twin| *twin != candidate)
    };
    (0..configurations.len()).filter_map(|candidate| Some((twin(candidate)?, candidate))).collect()
}

/// The axis that is compared and its baseline: as the study says, else the first axis that has two points, and its first.
fn compared(study: &Study) -> Option<(usize, String)> {
    if let Some((name, point)) = &study.baseline {
        return Some((study.axes.iter().position(|axis| axis.name == *name)?, point.clone()));
    }
    let axis = study.axes.iter().position(|axis| axis.points.len() > 1)?;
    Some((axis, study.axes[axis].points[0].name.clone()))
}
