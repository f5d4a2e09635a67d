//! The design: the configurations, and the order in which their trials run.

use iolab_order::Arrange;
use iolab_statistics::{DecisionRules, Random};
use serde::{Deserialize, Serialize};

use crate::axis::JobSetting;
use crate::trial::TrialId;
use crate::{JobSource, Study, StudyError, job_text};

/// One point of every axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// Names of the points, in the order of the axes.
    pub points: Vec<String>,
    /// All options it sets: those of every trial, then those of the axes.
    pub settings: Vec<JobSetting>,
}

/// What a study will run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Design {
    /// Names of the axes.
    pub axes: Vec<String>,
    /// Configurations, the last axis changing fastest.
    pub configurations: Vec<Configuration>,
    /// Trials in the order in which they run: block after block, each in an order of its own.
    pub trials: Vec<TrialId>,
    /// Warnings for the author before anything runs.
    pub warnings: Vec<String>,
}

/// More trials than this are treated as a mistake.
const MOST_TRIALS: usize = 100_000;

/// Makes the design of a study.
///
/// # Errors
/// Two axes that set the same option, names that no axis has, nothing left to run, or far too many
/// trials.
pub fn design(study: &Study) -> Result<Design, StudyError> {
    check_options(study)?;
    check_names(study)?;
    if !matches!(study.job, JobSource::Command(_)) {
        let points = study.axes.iter().flat_map(|axis| &axis.points).map(|point| point.settings.as_slice());
        std::iter::once(study.settings.as_slice()).chain(points).try_for_each(|own| job_text::lines(own).map(drop))?;
    }
    let trials_of_one = 1 + study.ladder.as_ref().map_or(0, |ladder| ladder.levels.len());
    let size = study.axes.iter().try_fold(trials_of_one, |size, axis| size.checked_mul(axis.points.len()));
    if size.and_then(|size| size.checked_mul(study.blocks as usize)).is_none_or(|trials| trials > MOST_TRIALS) {
        return Err(StudyError::meaning(format!("more than {MOST_TRIALS} trials: use fewer values or fewer blocks")));
    }
    let mut rows: Vec<Vec<usize>> = vec![Vec::new()];
    for axis in &study.axes {
        let longer = |row: &Vec<usize>| {
            let row = row.clone();
            (0..axis.points.len()).map(move |point| [row.as_slice(), &[point]].concat())
        };
        rows = rows.iter().flat_map(longer).collect();
    }
    let configurations: Vec<Configuration> =
        rows.iter().map(|row| configuration(study, row)).filter(|made| !is_excluded(study, made)).collect();
    if configurations.is_empty() {
        return Err(StudyError::meaning("every combination is excluded, so there is nothing to run"));
    }
    Ok(Design {
        axes: study.axes.iter().map(|axis| axis.name.clone()).collect(),
        trials: order(study, configurations.len()),
        warnings: [
            study.left_out.clone(),
            confounded(study, &configurations),
            too_few_blocks(configurations.len(), study.blocks).into_iter().collect(),
        ]
        .concat(),
        configurations,
    })
}

fn configuration(study: &Study, row: &[usize]) -> Configuration {
    let points = study.axes.iter().zip(row).map(|(axis, point)| &axis.points[*point]);
    let of_axes = points.clone().flat_map(|point| point.settings.iter().cloned());
    Configuration {
        points: points.map(|point| point.name.clone()).collect(),
        settings: study.settings.iter().cloned().chain(of_axes).collect(),
    }
}

fn is_excluded(study: &Study, configuration: &Configuration) -> bool {
    let has = |(name, point): (&String, &String)| {
        let mut pairs = study.axes.iter().zip(&configuration.points);
        pairs.any(|(axis, own)| axis.name == *name && own == point)
    };
    study.excluded.iter().any(|row| row.iter().all(has))
}

/// Each block in its own random order. With a ladder, first the closed loops, from which the rates
/// of the levels follow, then the levels.
fn order(study: &Study, configurations: usize) -> Vec<TrialId> {
    let mut random = Random::new(study.seed);
    let levels = study.ladder.as_ref().map_or(0, |ladder| ladder.levels.len());
    let mut trials = Vec::with_capacity(configurations * (1 + levels) * study.blocks as usize);
    for block in 0..study.blocks {
        let mut closed: Vec<TrialId> =
            (0..configurations).map(|configuration| TrialId { block, configuration, level: None }).collect();
        random.shuffle(&mut closed);
        trials.extend(closed);
        let of = |configuration| (0..levels).map(move |level| TrialId { block, configuration, level: Some(level) });
        let mut open: Vec<TrialId> = (0..configurations).flat_map(of).collect();
        if !open.is_empty() {
            random.shuffle(&mut open);
        }
        trials.extend(open);
    }
    trials
}

impl Study {
    /// Whether a configuration can be planned only after `set_up`.
    pub fn is_planned_later(&self, configuration: &Configuration) -> bool {
        let mut points = self.axes.iter().zip(&configuration.points);
        points.any(|(axis, name)| axis.points.iter().any(|point| point.later && point.name == *name))
    }
}

impl Design {
    /// A short description of a trial: its configuration ([`label`](Self::label)) and its load.
    pub fn name_of(&self, study: &Study, trial: TrialId) -> String {
        let mut name = self.label(trial.configuration);
        if let (Some(level), Some(ladder)) = (trial.level, &study.ladder) {
            name += &format!(", load {} %", ladder.levels[level]);
        } else if study.ladder.is_some() {
            name += ", closed loop";
        }
        name
    }
}

fn check_options(study: &Study) -> Result<(), StudyError> {
    let mut seen: Vec<(&str, &str)> =
        study.settings.iter().map(|setting| (setting.option.as_str(), "settings")).collect();
    for (place, axis) in study.axes.iter().enumerate() {
        if study.axes[..place].iter().any(|other| other.name == axis.name) {
            return Err(StudyError::meaning(format!("two axes are called '{}'", axis.name)));
        }
        let mut options: Vec<&str> =
            axis.points.iter().flat_map(|point| &point.settings).map(|setting| setting.option.as_str()).collect();
        options.arrange();
        options.dedup();
        for option in options {
            if let Some((_, other)) = seen.iter().find(|(name, _)| *name == option) {
                let message = format!("'{option}' is set by axis '{}' and by {other}: remove one of them", axis.name);
                return Err(StudyError::meaning(message));
            }
            seen.push((option, &axis.name));
        }
    }
    Ok(())
}

/// Names in `exclude` and `baseline` must exist: a typo would silently run or compare something
/// else.
fn check_names(study: &Study) -> Result<(), StudyError> {
    let excluded = study.excluded.iter().flatten().map(|(axis, point)| ("exclude", axis, point));
    let baseline = study.baseline.iter().map(|(axis, point)| ("baseline", axis, point));
    for (place, name, point) in excluded.chain(baseline) {
        let Some(axis) = study.axes.iter().find(|axis| axis.name == *name) else {
            let names: Vec<&str> = study.axes.iter().map(|axis| axis.name.as_str()).collect();
            return Err(StudyError::meaning(format!(
                "{place}: unknown axis '{name}'; the axes are: {}",
                names.join(", ")
            )));
        };
        if !axis.points.iter().any(|own| own.name == *point) {
            let names: Vec<&str> = axis.points.iter().map(|own| own.name.as_str()).collect();
            return Err(StudyError::meaning(format!(
                "{place}: axis '{name}' has no '{point}'; it has: {}",
                names.join(", ")
            )));
        }
    }
    Ok(())
}

/// Pairs of axes that never vary independently, so that their effects cannot be separated.
fn confounded(study: &Study, configurations: &[Configuration]) -> Vec<String> {
    let mut warnings = Vec::new();
    let points = |axis: usize| {
        let mut points: Vec<&str> = configurations.iter().map(|made| made.points[axis].as_str()).collect();
        points.arrange();
        points.dedup();
        points
    };
    let follows = |axis: usize, of: usize| {
        points(of).iter().all(|point| {
            let mut with =
                configurations.iter().filter(|made| made.points[of] == *point).map(|made| &made.points[axis]);
            let first = with.next();
            with.all(|other| Some(other) == first)
        })
    };
    for first in 0..study.axes.len() {
        for second in first + 1..study.axes.len() {
            let vary = points(first).len() > 1 && points(second).len() > 1;
            if vary && follows(first, second) && follows(second, first) {
                let (first, second) = (&study.axes[first].name, &study.axes[second].name);
                warnings.push(format!(
                    "'{first}' and '{second}' always change together, so their effects cannot be separated"
                ));
            }
        }
    }
    warnings
}

/// A warning for the author of a study that cannot reach a verdict.
pub(crate) fn too_few_blocks(configurations: usize, blocks: u32) -> Option<String> {
    let least = DecisionRules::default().least_blocks;
    (configurations > 1 && (blocks as usize) < least).then(|| {
        let repeats = iolab_text::counted(blocks.into(), "repeat");
        format!("{repeats} can show sizes and intervals, but no verdicts: repeat at least {least} times")
    })
}
