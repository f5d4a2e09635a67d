//! What the trials say.

use std::borrow::Cow;

use iolab_aggregate::Target;
use iolab_plan::{Direction, PerDirection};
use iolab_recording::{Finding, Recording, WorkerRecording};
use iolab_statistics::{Interval, Rules, median_interval};
use serde::{Deserialize, Serialize};

use crate::comparisons::{Contrast, Families, Standing};
use crate::ladder_result::{ladders, percents};
use crate::same_storage::different_storage;
use crate::steps::{blocks_to_run, preconditioned};
use crate::warm_up::without_warm_up;
use crate::{
    Design, Figure, LadderResult, Measure, Planned, Preconditioned, Printed, Results, Side, Study, WarmUp, WarmUpMethod,
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
    /// The storage it reached; empty where that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reached: Vec<Target>,
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
        let flaw = iolab_aggregate::flaw(recording);
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
        // CPU time is that of the whole trial, as are the device's counters, so it is held against
        // all of its operations.
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
            reached: iolab_aggregate::targets(recording),
        }
    }

    /// The figures of what a command printed.
    pub fn of_command(planned: Planned, figures: &[Figure], printed: &Printed) -> Trial {
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
    let whole = iolab_aggregate::WholeRun::new(recording);
    Direction::ALL.map(|direction| whole.throughput(&[direction]).ios_per_second())
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

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// The figures, by number.
    pub figures: Vec<Figure>,
    /// For each figure and configuration, figures first.
    pub rows: Vec<Row>,
    /// Every configuration against every other, for each figure; of many configurations, those
    /// against the baseline and against the best, and those that differ in one axis. Limits of all
    /// that is said of one figure hold together.
    pub contrasts: Vec<Contrast>,
    /// What came of each figure: the best configuration, what each axis does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standings: Vec<Standing>,
    /// What must be known before any of it is believed; made of all trials together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Trials that do not count, and why.
    pub flaws: Vec<String>,
    /// Trials that are missing: not run yet, or their recordings cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
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

/// Analyses what has been run so far. The same results, in whatever order they came, give the same
/// analysis.
pub fn analyse(study: &Study, design: &Design, results: &Results, rules: &Rules) -> Analysis {
    let blocks = blocks_to_run(study, design, results);
    let mut trials: Vec<Trial> = results.trials.iter().filter(|trial| trial.block < blocks).cloned().collect();
    trials.sort_by_key(Trial::planned);
    let (mut rows, mut contrasts, mut standings) = (Vec::new(), Vec::new(), Vec::new());
    let mut families = Families::new(study, design);
    for figure in 0..study.figures.len() {
        let of_figure: Vec<Row> = (0..design.configurations.len())
            .map(|configuration| row(blocks, &trials, configuration, figure, rules))
            .collect();
        let (of_pairs, standing) = families.judge(figure, &study.figures[figure], &of_figure, rules);
        contrasts.extend(of_pairs);
        standings.push(standing);
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
        standings,
        findings: different_storage(design, &trials).into_iter().collect(),
        flaws: trials.iter().filter_map(told).chain(damaged(study, design, results)).collect(),
        missing: absent(study, design, results, blocks),
        preconditioned: preconditioned(study, results),
        ladders: ladders(study, design, &trials, blocks, rules),
        warm_ups: trials.iter().filter_map(warm_up).collect(),
    }
}

pub(crate) fn row(blocks: u32, trials: &[Trial], configuration: usize, figure: usize, rules: &Rules) -> Row {
    let value = |block: u32| {
        let planned = Planned { block, configuration, level: None };
        let mut own = trials.iter().filter(|trial| trial.planned() == planned);
        own.find(|trial| trial.flaw.is_none()).and_then(|trial| trial.values[figure])
    };
    let values: Vec<Option<f64>> = (0..blocks).map(value).collect();
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    Row { configuration, figure, values, median: median_interval(&known, rules.confidence) }
}

/// Trials whose recordings are there and cannot be read.
fn damaged<'a>(study: &'a Study, design: &'a Design, results: &'a Results) -> impl Iterator<Item = String> + use<'a> {
    let told = |(trial, reason): &(Planned, String)| {
        format!("block {}, {}: {reason}", trial.block + 1, design.name_of(study, *trial))
    };
    results.damaged.iter().map(told)
}

/// Trials that are not there: by name in blocks that have begun, and how many blocks have not.
fn absent(study: &Study, design: &Design, results: &Results, blocks: u32) -> Vec<String> {
    let is_there =
        |trial: &Planned| results.is_settled(*trial) || results.damaged.iter().any(|damaged| damaged.0 == *trial);
    let (mut told, mut blocks_left) = (Vec::new(), 0);
    for block in design.trials.chunk_by(|one, other| one.block == other.block) {
        if block[0].block >= blocks {
            break;
        }
        let absent: Vec<&Planned> = block.iter().filter(|trial| !is_there(trial)).collect();
        if absent.len() == block.len() {
            blocks_left += 1;
            continue;
        }
        let name = |trial: &&Planned| {
            format!("block {}, {}: not run to its end", trial.block + 1, design.name_of(study, **trial))
        };
        told.extend(absent.iter().map(name));
    }
    if blocks_left > 0 {
        told.push(format!("{blocks_left} {} not begun", if blocks_left == 1 { "block" } else { "blocks" }));
    }
    told
}

impl Analysis {
    /// One figure of one configuration.
    pub fn row(&self, figure: usize, configuration: usize) -> Option<&Row> {
        self.rows.iter().find(|row| row.figure == figure && row.configuration == configuration)
    }

    /// One configuration held against another.
    pub fn contrast(&self, figure: usize, baseline: usize, candidate: usize) -> Option<Contrast> {
        let mut own = self.contrasts.iter().filter(|contrast| contrast.figure == figure);
        own.find_map(|contrast| match (contrast.baseline, contrast.candidate) {
            pair if pair == (baseline, candidate) => Some(contrast.clone()),
            pair if pair == (candidate, baseline) => Some(contrast.turned()),
            _ => None,
        })
    }
}
