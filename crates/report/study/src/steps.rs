//! The next step of a study: a function of the study and of what has been done, so that a study
//! that was stopped anywhere continues as if it had not been.
//!
//! ```text
//! for each trial in the order of the design: purge ─ fill ─ round ─ round … ─ trial      (finished steps are not repeated)
//! ```

use std::collections::BTreeMap;

use iolab_order::Arrange;
use iolab_statistics::{DecisionRules, Family, SteadyState, Weights, critical_bound};
use serde::{Deserialize, Serialize};

use crate::comparisons::logarithms;
use crate::rows::{FigureValues, row};
use crate::{Before, Design, PreconditionFrequency, PreconditionKind, Preconditioned, Purge, Study, Trial, TrialId};

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Step {
    /// Make the storage discard its content.
    Purge(Before),
    /// Write twice the capacity.
    Fill(Before),
    /// Run the user's preconditioning job.
    Prepare(Before),
    /// A round of the load, counted from 0.
    Round(Before, u32),
    /// A trial.
    Trial(TrialId),
}

/// The result of a step of preconditioning.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// The figure, for a round.
    pub value: Option<f64>,
    /// The result of a purge.
    pub purge: Option<Purge>,
    /// Bytes written by a fill or a job.
    pub written_bytes: u64,
}

/// Everything done so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrialResults {
    /// Trials.
    pub trials: Vec<Trial>,
    /// Steps of preconditioning.
    pub steps: BTreeMap<Step, StepResult>,
    /// Trials whose recordings exist and cannot be read, and why; they are run again when the study
    /// continues.
    pub damaged: Vec<(TrialId, String)>,
}

impl Step {
    /// Its name, used for its files.
    pub fn name(&self) -> String {
        let place = |before: &Before| {
            let mut name = before.block.map_or("study".to_owned(), |block| format!("b{block:02}"));
            before.configuration.iter().for_each(|number| name += &format!("-c{number:03}"));
            before.level.iter().for_each(|number| name += &format!("-l{number:02}"));
            name
        };
        match self {
            Step::Purge(before) => format!("{}-purge", place(before)),
            Step::Fill(before) => format!("{}-fill", place(before)),
            Step::Prepare(before) => format!("{}-job", place(before)),
            Step::Round(before, round) => format!("{}-r{round:02}", place(before)),
            Step::Trial(trial) => trial.name(),
        }
    }
}

impl TrialId {
    /// Its name, used for its files.
    pub fn name(&self) -> String {
        let level = self.level.map(|level| format!("-l{level:02}")).unwrap_or_default();
        format!("b{:02}-c{:03}{level}", self.block, self.configuration)
    }
}

impl TrialResults {
    /// A trial, if it has been run.
    pub fn trial(&self, planned: TrialId) -> Option<&Trial> {
        self.trials.iter().find(|trial| trial.planned() == planned)
    }

    /// The closed-loop trial that gives the maximum rate of a configuration's levels.
    pub fn closed_loop(&self, configuration: usize) -> Option<&Trial> {
        self.trial(TrialId { block: 0, configuration, level: None })
    }

    /// Whether the trial has been run, or cannot be: a level without a known maximum.
    pub(crate) fn is_settled(&self, planned: TrialId) -> bool {
        let is_hopeless = |first: &Trial| first.flaw.is_some() || first.rates.iter().sum::<f64>() <= 0.0;
        self.trial(planned).is_some()
            || (planned.level.is_some() && self.closed_loop(planned.configuration).is_some_and(is_hopeless))
    }
}

/// The next step; `None` when all is done.
pub fn next(study: &Study, design: &Design, results: &TrialResults) -> Option<Step> {
    let trial = missing(study, design, results).next()?;
    Some(precondition(study, trial, results).unwrap_or(Step::Trial(trial)))
}

/// The missing trials, as far as it is known which are needed, in order.
pub fn missing<'a>(
    study: &'a Study,
    design: &'a Design,
    results: &'a TrialResults,
) -> impl Iterator<Item = TrialId> + use<'a> {
    let blocks = blocks_to_run(study, design, results);
    let needed = design.trials.iter().take_while(move |trial| trial.block < blocks);
    needed.copied().filter(|trial| !results.is_settled(*trial))
}

/// The number of blocks that the study needs, judging by its trials so far. With `blocks = "auto"`:
/// until every interval is narrow enough, at most the planned number.
pub fn blocks_to_run(study: &Study, design: &Design, results: &TrialResults) -> u32 {
    let Some(auto) = &study.auto_blocks else { return study.blocks };
    let is_whole = |blocks: u32| {
        design.trials.iter().take_while(|trial| trial.block < blocks).all(|trial| results.is_settled(*trial))
    };
    let enough =
        (auto.start..study.blocks).find(|blocks| !is_whole(*blocks) || is_narrow(study, design, results, *blocks));
    enough.unwrap_or(study.blocks)
}

/// Whether every comparison of these blocks is precise enough in the most important figure, or the
/// median if nothing is compared.
///
/// This is checked before every trial, so the limits come from a bound that needs no simulation,
/// widened by what simulated limits usually need in addition.
fn is_narrow(study: &Study, design: &Design, results: &TrialResults, blocks: u32) -> bool {
    const WIDER: f64 = 1.15;
    let Some(auto) = &study.auto_blocks else { return true };
    let rules = DecisionRules::default();
    let trials: Vec<Trial> =
        results.trials.iter().filter(|trial| trial.block < blocks && trial.level.is_none()).cloned().collect();
    let figure = study.primary_figure();
    let count = design.configurations.len();
    let rows: Vec<FigureValues> =
        (0..count).map(|configuration| row(blocks, &trials, configuration, figure, &rules)).collect();
    if count < 2 {
        let medians = rows.iter().filter_map(|row| row.median);
        return medians.into_iter().all(|limits| limits.half_width() <= auto.half_width * limits.estimate.abs());
    }
    let pairs: Vec<Weights> =
        (1..count).flat_map(|one| (0..one).map(move |other| vec![(one, 1.0), (other, -1.0)])).collect();
    let (present, logs) = logarithms(&rows);
    let family = Family::without_limits(&present, &pairs);
    let critical = WIDER * critical_bound(pairs.len(), family.freedom() as f64, rules.confidence);
    let stated = family.state(&logs).stated;
    stated.iter().flatten().all(|one| critical * one.error <= auto.half_width.ln_1p())
}

/// The first missing step of preconditioning before a trial.
fn precondition(study: &Study, trial: TrialId, results: &TrialResults) -> Option<Step> {
    let precondition = study.precondition.as_ref()?;
    let before = before(precondition.once, trial);
    let undone = |step: Step| (!results.steps.contains_key(&step)).then_some(step);
    match precondition.kind {
        PreconditionKind::Fill => undone(Step::Fill(before)),
        PreconditionKind::Job => undone(Step::Prepare(before)),
        PreconditionKind::Snia => undone(Step::Purge(before)).or_else(|| undone(Step::Fill(before))).or_else(|| {
            let rounds = rounds(before, results);
            let verdict = Preconditioned::judge(PreconditionKind::Snia, &rounds, &precondition.rules);
            matches!(verdict, Some(SteadyState::NotYet { .. })).then_some(Step::Round(before, rounds.len() as u32))
        }),
    }
}

/// The preconditioning that precedes a trial.
fn before(once: PreconditionFrequency, trial: TrialId) -> Before {
    match once {
        PreconditionFrequency::Study => Before::default(),
        PreconditionFrequency::Block => Before { block: Some(trial.block), ..Before::default() },
        PreconditionFrequency::Trial => {
            Before { block: Some(trial.block), configuration: Some(trial.configuration), level: trial.level }
        }
    }
}

/// All preconditionings of a study, in the order of their trials.
pub fn preconditionings(study: &Study, design: &Design) -> Vec<Before> {
    let Some(precondition) = &study.precondition else { return Vec::new() };
    let mut all: Vec<Before> = Vec::new();
    for trial in &design.trials {
        let one = before(precondition.once, *trial);
        // Those of one block are consecutive.
        if all.last() != Some(&one) {
            all.push(one);
        }
    }
    all
}

fn rounds(before: Before, results: &TrialResults) -> Vec<Option<f64>> {
    let round = |number: u32| results.steps.get(&Step::Round(before, number));
    (0..).map_while(round).map(|result| result.value).collect()
}

/// The results of all preconditionings.
pub(crate) fn preconditioned(study: &Study, results: &TrialResults) -> Vec<Preconditioned> {
    let Some(precondition) = &study.precondition else { return Vec::new() };
    let place = |step: &Step| match step {
        Step::Purge(before) | Step::Fill(before) | Step::Prepare(before) | Step::Round(before, _) => Some(*before),
        Step::Trial(_) => None,
    };
    let mut places: Vec<Before> = results.steps.keys().filter_map(place).collect();
    places.arrange();
    places.dedup();
    let of = |before: Before| {
        let rounds = rounds(before, results);
        let written = [Step::Fill(before), Step::Prepare(before)].into_iter().find_map(|step| results.steps.get(&step));
        Preconditioned {
            before,
            kind: precondition.kind,
            purge: results.steps.get(&Step::Purge(before)).and_then(|result| result.purge.clone()),
            written_bytes: written.map(|result| result.written_bytes),
            figure: precondition.figure.clone(),
            verdict: Preconditioned::judge(precondition.kind, &rounds, &precondition.rules),
            rounds,
            rules: precondition.rules,
        }
    };
    places.into_iter().map(of).collect()
}
