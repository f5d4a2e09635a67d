//! Analyses the results of a study's trials.

use iolab_order::Arrange;
use iolab_recording::Finding;
use iolab_statistics::DecisionRules;
use iolab_text::counted;
use serde::{Deserialize, Serialize};

use crate::comparisons::{Contrast, Families, Standing};
use crate::ladder_result::ladders;
use crate::rows::{FigureValues, row};
use crate::same_storage::different_storage;
use crate::steps::{blocks_to_run, preconditioned};
use crate::trial::Trial;
use crate::{Design, Figure, LadderResult, Preconditioned, Study, TrialId, TrialResults, WarmUp, WarmUpMethod};

/// Format number of the JSON form.
pub const ANALYSIS_FORMAT: u32 = 1;

/// The format of an analysis that does not say it.
fn first_format() -> u32 {
    1
}

/// The analysis of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Analysis {
    /// Format number.
    #[serde(default = "first_format")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = ANALYSIS_FORMAT)))]
    pub iolab_analysis: u32,
    /// Names of the axes, by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<String>,
    /// The configurations, by number: for each the point of every axis.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configurations: Vec<Vec<String>>,
    /// The figures, by number.
    pub figures: Vec<Figure>,
    /// For each figure and configuration, figures first.
    pub rows: Vec<FigureValues>,
    /// Every configuration against every other, for each figure; with many configurations, only
    /// those against the baseline and against the best, and those that differ in one axis. All
    /// limits for one figure hold together.
    pub contrasts: Vec<Contrast>,
    /// The result of each figure: the best configuration, and the effect of each axis.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standings: Vec<Standing>,
    /// What must be known before any of it is believed, from all trials together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Trials that do not count, and why.
    pub flaws: Vec<String>,
    /// Missing trials: not run yet, or their recordings cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The results of preconditioning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preconditioned: Vec<Preconditioned>,
    /// The ladder of each configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ladders: Vec<LadderResult>,
    /// Trials of which a warm-up was left out, or whose warm-up could not be determined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warm_ups: Vec<TrialWarmUp>,
}

/// The warm-up of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialWarmUp {
    /// The trial.
    pub trial: TrialId,
    /// What was left out of it.
    pub warm_up: WarmUp,
}

/// Analyses what has been run so far. The same results in any order give the same analysis.
pub fn analyse(study: &Study, design: &Design, results: &TrialResults, rules: &DecisionRules) -> Analysis {
    let blocks = blocks_to_run(study, design, results);
    let mut trials: Vec<Trial> = results.trials.iter().filter(|trial| trial.block < blocks).cloned().collect();
    trials.arrange_by_key(Trial::planned);
    let (mut rows, mut contrasts, mut standings) = (Vec::new(), Vec::new(), Vec::new());
    let mut families = Families::new(study, design);
    for figure in 0..study.figures.len() {
        let of_figure: Vec<FigureValues> = (0..design.configurations.len())
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
        iolab_analysis: ANALYSIS_FORMAT,
        axes: design.axes.clone(),
        configurations: design.configurations.iter().map(|one| one.points.clone()).collect(),
        figures: study.figures.clone(),
        rows,
        contrasts,
        standings,
        findings: different_storage(design, &trials, study).into_iter().collect(),
        flaws: trials.iter().filter_map(told).chain(damaged(study, design, results)).collect(),
        missing: absent(study, design, results, blocks),
        preconditioned: preconditioned(study, results),
        ladders: ladders(study, design, &trials, blocks, rules),
        warm_ups: trials.iter().filter_map(warm_up).collect(),
    }
}

/// Trials whose recordings exist and cannot be read.
fn damaged<'a>(
    study: &'a Study,
    design: &'a Design,
    results: &'a TrialResults,
) -> impl Iterator<Item = String> + use<'a> {
    let told = |(trial, reason): &(TrialId, String)| {
        format!("block {}, {}: {reason}", trial.block + 1, design.name_of(study, *trial))
    };
    results.damaged.iter().map(told)
}

/// Missing trials: by name in blocks that have begun, and the number of blocks that have not.
fn absent(study: &Study, design: &Design, results: &TrialResults, blocks: u32) -> Vec<String> {
    let is_there =
        |trial: &TrialId| results.is_settled(*trial) || results.damaged.iter().any(|damaged| damaged.0 == *trial);
    let (mut told, mut blocks_left) = (Vec::new(), 0_u64);
    for block in design.trials.chunk_by(|one, other| one.block == other.block) {
        if block[0].block >= blocks {
            break;
        }
        let absent: Vec<&TrialId> = block.iter().filter(|trial| !is_there(trial)).collect();
        if absent.len() == block.len() {
            blocks_left += 1;
            continue;
        }
        let name =
            |trial: &&TrialId| format!("block {}, {}: did not finish", trial.block + 1, design.name_of(study, **trial));
        told.extend(absent.iter().map(name));
    }
    if blocks_left > 0 {
        told.push(format!("{} not started", counted(blocks_left, "block")));
    }
    told
}

impl Analysis {
    /// A configuration as `axis=point;axis=point`; its number where an older version did not save
    /// the names.
    pub fn points_of(&self, configuration: usize) -> String {
        let Some(points) = self.configurations.get(configuration) else { return configuration.to_string() };
        let named = self.axes.iter().zip(points).map(|(axis, point)| format!("{axis}={point}"));
        named.collect::<Vec<_>>().join(";")
    }

    /// One figure of one configuration.
    pub fn row(&self, figure: usize, configuration: usize) -> Option<&FigureValues> {
        self.rows.iter().find(|row| row.figure == figure && row.configuration == configuration)
    }

    /// One configuration compared with another.
    pub fn contrast(&self, figure: usize, baseline: usize, candidate: usize) -> Option<Contrast> {
        let mut own = self.contrasts.iter().filter(|contrast| contrast.figure == figure);
        own.find_map(|contrast| match (contrast.baseline, contrast.candidate) {
            pair if pair == (baseline, candidate) => Some(contrast.clone()),
            pair if pair == (candidate, baseline) => Some(contrast.turned()),
            _ => None,
        })
    }
}
