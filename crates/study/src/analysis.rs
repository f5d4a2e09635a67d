//! What the trials say.

use iolab_recording::Recording;
use iolab_statistics::{Comparison, Interval, Rules, compare, median_interval, settle};
use serde::{Deserialize, Serialize};

use crate::{Design, Figure, Measure, Study};

/// What is kept of one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Block, from 0.
    pub block: u32,
    /// Number of the configuration.
    pub configuration: usize,
    /// Values of the study's figures, in their order.
    pub values: Vec<Option<f64>>,
    /// Why it does not count: it failed or was interrupted.
    pub flaw: Option<String>,
}

impl Trial {
    /// The figures of a recording.
    pub fn new(block: u32, configuration: usize, figures: &[Figure], recording: &Recording) -> Trial {
        let failed = recording.workers.iter().find(|worker| worker.outcome.errno() != 0);
        let flaw = match failed {
            _ if recording.interrupted => Some("it was interrupted".to_owned()),
            Some(worker) => Some(format!("worker {}: {:?}", worker.number, worker.outcome)),
            None => None,
        };
        Trial { block, configuration, values: figures.iter().map(|figure| figure.of(recording)).collect(), flaw }
    }

    /// The figures of what a command printed.
    pub fn of_command(block: u32, configuration: usize, figures: &[Figure], printed: &serde_json::Value) -> Trial {
        let value = |figure: &Figure| match &figure.measure {
            Measure::Reported(reported) => reported.of(printed),
            _ => None,
        };
        let values: Vec<Option<f64>> = figures.iter().map(value).collect();
        let missing = figures.iter().zip(&values).find(|(_, value)| value.is_none());
        let flaw = missing.map(|(figure, _)| format!("it printed no number for '{}'", figure.name()));
        Trial { block, configuration, values, flaw }
    }
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
}

/// Analyses what has been run so far. The same trials, in whatever order they come, give the same analysis.
pub fn analyse(study: &Study, design: &Design, trials: &[Trial], rules: &Rules) -> Analysis {
    let mut rows = Vec::new();
    let mut contrasts = Vec::new();
    for figure in 0..study.figures.len() {
        let of_figure: Vec<Row> = (0..design.configurations.len())
            .map(|configuration| row(study.blocks, trials, configuration, figure, rules))
            .collect();
        contrasts.extend(contrasted(study, design, &of_figure, figure, rules));
        rows.extend(of_figure);
    }
    let mut flawed: Vec<&Trial> = trials.iter().filter(|trial| trial.flaw.is_some()).collect();
    flawed.sort_by_key(|trial| (trial.block, trial.configuration));
    let told = |trial: &&Trial| {
        let name = design.configurations[trial.configuration].points.join(", ");
        format!("block {}, {name}: {}", trial.block + 1, trial.flaw.as_deref().unwrap_or_default())
    };
    Analysis { figures: study.figures.clone(), rows, contrasts, flaws: flawed.iter().map(told).collect() }
}

fn row(blocks: u32, trials: &[Trial], configuration: usize, figure: usize, rules: &Rules) -> Row {
    let value = |block: u32| {
        let mut own = trials.iter().filter(|trial| trial.configuration == configuration && trial.block == block);
        own.find(|trial| trial.flaw.is_none()).and_then(|trial| trial.values[figure])
    };
    let values: Vec<Option<f64>> = (0..blocks).map(value).collect();
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    Row { configuration, figure, values, median: median_interval(&known, rules.confidence) }
}

/// Each configuration against the one that differs from it only in the compared axis, which is at its baseline there.
fn contrasted(study: &Study, design: &Design, rows: &[Row], figure: usize, rules: &Rules) -> Vec<Contrast> {
    let Some((axis, point)) = compared(study) else { return Vec::new() };
    let twin = |candidate: usize| {
        let mut points = design.configurations[candidate].points.clone();
        points[axis] = point.clone();
        design.configurations.iter().position(|other| other.points == points).filter(|twin| *twin != candidate)
    };
    let pairs = (0..rows.len()).filter_map(|candidate| Some((twin(candidate)?, candidate)));
    let (places, mut comparisons): (Vec<_>, Vec<Comparison>) = pairs
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

/// The axis that is compared and its baseline: as the study says, else the first axis that has two points, and its first.
fn compared(study: &Study) -> Option<(usize, String)> {
    if let Some((name, point)) = &study.baseline {
        return Some((study.axes.iter().position(|axis| axis.name == *name)?, point.clone()));
    }
    let axis = study.axes.iter().position(|axis| axis.points.len() > 1)?;
    Some((axis, study.axes[axis].points[0].name.clone()))
}
