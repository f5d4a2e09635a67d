//! Checks whether both sides used the same storage.

use std::collections::BTreeSet;

use iolab_findings::{Reached, by_target, different_targets};
use iolab_order::Gather;
use iolab_recording::Finding;

use crate::Side;
use crate::differences::BESIDE_THE_POINT;
use crate::side::{Cell, Trial, UNSET};

/// Options that select the storage and do not affect the load otherwise.
const NAMES_STORAGE: [&str; 4] = ["filename", "directory", "filename_format", "opendir"];

/// The finding, if the sides of some cell used different storage.
pub(crate) fn different_storage(sides: [&Side; 2], cells: &[Cell<'_>]) -> Option<Finding> {
    let reached = |cell: &Cell<'_>| -> [Reached; 2] {
        [0, 1].map(|side| cell.trials[side].iter().map(|trial| trial.run.summary.reached.clone()).collect())
    };
    let differ: Vec<(&Cell<'_>, [Reached; 2])> =
        cells.iter().map(|cell| (cell, reached(cell))).filter(|(_, both)| by_target(both).len() > 1).collect();
    let (cell, [theirs, ours]) = differ.first()?;
    let name = |side: &Side, word: &str| format!("{word} ({})", side.name);
    let named = [(name(sides[0], "baseline"), theirs), (name(sides[1], "candidate"), ours)];
    let mut finding = different_targets(&named, changes_more(cell));
    if cells.len() > 1 {
        finding.evidence += &format!(" (in {} of {} comparisons)", differ.len(), cells.len());
    }
    Some(finding)
}

/// Whether the options of the sides differ in more than the location of their files.
fn changes_more(cell: &Cell<'_>) -> bool {
    let [theirs, ours] = &cell.trials;
    let jobs = || theirs.iter().chain(ours).flat_map(|trial| &trial.jobs);
    let options: BTreeSet<&String> = jobs().flat_map(|job| job.options.keys()).gather();
    let values = |trials: &[Trial<'_>], option: &str| -> BTreeSet<String> {
        let jobs = trials.iter().flat_map(|trial| &trial.jobs);
        jobs.map(|job| job.options.get(option).cloned().unwrap_or_else(|| UNSET.to_owned())).gather()
    };
    let says_more = |option: &&&String| {
        let option = option.as_str();
        !NAMES_STORAGE.contains(&option) && !BESIDE_THE_POINT.contains(&option)
    };
    options.iter().filter(says_more).any(|option| values(theirs, option) != values(ours, option))
}
