//! Pairs the trials of both sides.
//!
//! A block is a period in which both sides were measured: only then does drift affect both alike.
//! Two studies that ran one after the other have separate blocks, and are not paired merely because
//! both count from one.

use iolab_order::Arrange;
use serde::{Deserialize, Serialize};

use crate::side::{Cell, Trial};

/// The pairing that the user asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairingChoice {
    /// Blocks of one study, and of studies whose start times show that both sides ran side by side.
    #[default]
    Automatic,
    /// Blocks by number, and other runs in the order of their start.
    Paired,
    /// No pairing.
    Unpaired,
}

/// A cell with its trials in the order in which they are compared.
#[derive(Debug)]
pub(crate) struct Paired<'r> {
    pub(crate) cell: &'r Cell<'r>,
    pub(crate) trials: [Vec<Trial<'r>>; 2],
    pub(crate) is_paired: bool,
    remark: Option<String>,
}

pub(crate) fn pair<'r>(cell: &'r Cell<'r>, choice: PairingChoice) -> Paired<'r> {
    let apart = |remark: Option<String>| Paired { cell, trials: cell.trials.clone(), is_paired: false, remark };
    if choice == PairingChoice::Unpaired || cell.trials.iter().all(|trials| trials.len() == 1) {
        return apart(confounded(cell));
    }
    let blocks = by_block(cell);
    match (choice, blocks) {
        (PairingChoice::Automatic, Some(trials)) if is_one_study(&trials) || runs_side_by_side(&trials) => {
            Paired { cell, trials, is_paired: true, remark: None }
        }
        (PairingChoice::Paired, Some(trials)) => Paired { cell, trials, is_paired: true, remark: None },
        (PairingChoice::Paired, None) => in_order(cell),
        _ => apart(confounded(cell)),
    }
}

/// Trials of the blocks that both sides have, ascending; `None` unless every trial has a block of
/// its own.
fn by_block<'r>(cell: &'r Cell<'r>) -> Option<[Vec<Trial<'r>>; 2]> {
    let blocks = |trials: &[Trial<'r>]| {
        let mut blocks = trials.iter().map(|trial| trial.run.block).collect::<Option<Vec<u32>>>()?;
        blocks.arrange();
        let all = blocks.len();
        blocks.dedup();
        (blocks.len() == all).then_some(blocks)
    };
    let [theirs, ours] = &cell.trials;
    let (first, second) = (blocks(theirs)?, blocks(ours)?);
    let common: Vec<u32> = first.into_iter().filter(|block| second.contains(block)).collect();
    let of = |trials: &[Trial<'r>]| -> Vec<Trial<'r>> {
        let own = common.iter().filter_map(|block| trials.iter().find(|trial| trial.run.block == Some(*block)));
        own.cloned().collect()
    };
    (!common.is_empty()).then(|| [of(theirs), of(ours)])
}

/// Whether all trials are of one study, which runs block by block.
fn is_one_study(trials: &[Vec<Trial<'_>>; 2]) -> bool {
    let mut studies = trials.iter().flatten().map(|trial| trial.run.study.as_deref());
    let first = studies.next().flatten();
    first.is_some() && studies.all(|study| study == first)
}

/// Whether each block ended before the next one began.
fn runs_side_by_side(trials: &[Vec<Trial<'_>>; 2]) -> bool {
    let start = |trial: &Trial<'_>| trial.run.summary.started_unix_ns;
    let spans: Option<Vec<(u64, u64)>> = trials[0]
        .iter()
        .zip(&trials[1])
        .map(|(one, other)| {
            let (one, other) = (start(one)?, start(other)?);
            Some((one.min(other), one.max(other)))
        })
        .collect();
    spans.is_some_and(|spans| spans.windows(2).all(|pair| pair[0].1 < pair[1].0))
}

/// Pairs the first of one side with the first of the other, and so on.
fn in_order<'r>(cell: &'r Cell<'r>) -> Paired<'r> {
    let [theirs, ours] = &cell.trials;
    let pairs = theirs.len().min(ours.len());
    let trials = [theirs[..pairs].to_vec(), ours[..pairs].to_vec()];
    let has_starts = trials.iter().flatten().all(|trial| trial.run.summary.started_unix_ns.is_some());
    let remark = if theirs.len() != ours.len() {
        Some(format!(
            "{} and {}: the last ones of the longer side have no partner and are left out",
            iolab_text::counted(theirs.len() as u64, "run"),
            iolab_text::counted(ours.len() as u64, "run")
        ))
    } else if !has_starts {
        Some("start times are unknown, so runs are paired in the order given".to_owned())
    } else if !runs_side_by_side(&trials) {
        Some(
            "the runs were not made in pairs, one after the other: drift between them counts as a difference"
                .to_owned(),
        )
    } else {
        None
    };
    Paired { cell, trials, is_paired: true, remark }
}

/// All runs of one side came before those of the other: then time is also a difference between
/// them.
fn confounded(cell: &Cell<'_>) -> Option<String> {
    let starts = |trials: &[Trial<'_>]| -> Option<Vec<u64>> {
        trials.iter().map(|trial| trial.run.summary.started_unix_ns).collect()
    };
    let (theirs, ours) = (starts(&cell.trials[0])?, starts(&cell.trials[1])?);
    let is_before = |one: &[u64], other: &[u64]| one.iter().max() < other.iter().min();
    let is_apart = is_before(&theirs, &ours) || is_before(&ours, &theirs);
    (is_apart && theirs.len() + ours.len() > 2).then(|| {
        "all runs of one side came before those of the other: anything that changed in between counts as a difference (alternate the runs, or use a study)".to_owned()
    })
}

/// Cells that only one side has.
pub(crate) fn unmatched(cells: &[Cell<'_>]) -> Vec<String> {
    let told = |cell: &Cell<'_>| {
        let side = if cell.trials[0].is_empty() { "candidate" } else { "baseline" };
        format!("only the {side} has {}", name(&cell.points, cell.job.as_deref()))
    };
    cells.iter().map(told).collect()
}

/// The remarks about all cells, without duplicates.
pub(crate) fn remarks(paired: &[Paired<'_>]) -> Vec<String> {
    let mut remarks: Vec<String> = Vec::new();
    for remark in paired.iter().filter_map(|paired| paired.remark.as_ref()) {
        if !remarks.contains(remark) {
            remarks.push(remark.clone());
        }
    }
    remarks
}

/// The name of a cell, for people.
pub(crate) fn name(points: &[(String, String)], job: Option<&str>) -> String {
    let points = points.iter().map(|(axis, point)| format!("{axis}={point}"));
    let job = match job {
        None => Some("all jobs".to_owned()),
        Some("") => None,
        Some(job) => Some(format!("job {job}")),
    };
    job.into_iter().chain(points).collect::<Vec<_>>().join(", ")
}
