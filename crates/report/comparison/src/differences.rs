//! Differences between two sides other than their figures, so that no reader compares unlike things
//! unknowingly.

use std::collections::BTreeSet;

use iolab_order::Gather;
use serde::{Deserialize, Serialize};

use crate::row::ComparisonRow;
use crate::side::{UNSET, job_names};
use crate::{LatencyKind, RunSummary, Side};

/// A property that differs between the sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// `job`, `option bs`, `host`, `kernel`, `cpu`, `tool`, `finding …`.
    pub what: String,
    /// All its values on the baseline's side.
    pub baseline: Vec<String>,
    /// All its values on the candidate's side.
    pub candidate: Vec<String>,
}

/// Options whose difference does not affect the load.
pub(crate) const BESIDE_THE_POINT: [&str; 3] = ["name", "description", "randseed"];

/// A fact that a run may have recorded about its machine.
type Fact = fn(&RunSummary) -> Option<&String>;

pub(crate) fn differences(sides: [&Side; 2]) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |what: &str, of: &dyn Fn(&Side) -> BTreeSet<String>| {
        let [baseline, candidate] = sides.map(|side| of(side).into_iter().collect::<Vec<_>>());
        if baseline != candidate {
            found.push(Difference { what: what.to_owned(), baseline, candidate });
        }
    };
    add("job", &|side| job_names(side).into_iter().map(str::to_owned).collect());
    for option in options(sides) {
        add(&format!("option {option}"), &|side| values(side, option));
    }
    let known = |of: Fact| {
        move |side: &Side| -> BTreeSet<String> { side.runs.iter().filter_map(|run| of(&run.summary)).cloned().gather() }
    };
    let facts: [(&str, Fact); 4] = [
        ("host", |run| run.hostname.as_ref()),
        ("kernel", |run| run.kernel.as_ref()),
        ("cpu", |run| run.cpu_model.as_ref()),
        ("tool", |run| Some(&run.tool)),
    ];
    for (what, of) in facts {
        let of = known(of);
        // A property that is unknown on one side cannot be a difference.
        if sides.iter().all(|side| !of(side).is_empty()) {
            add(what, &of);
        }
    }
    for rule in sides.iter().flat_map(|side| rules(side)).gather::<BTreeSet<String>>() {
        add(&format!("finding {rule}"), &|side| counted(side, &rule));
    }
    found
}

fn options<'r>(sides: [&'r Side; 2]) -> BTreeSet<&'r str> {
    let jobs = sides.into_iter().flat_map(|side| &side.runs).flat_map(|run| &run.summary.jobs);
    let options: BTreeSet<&'r str> = jobs.flat_map(|job| job.options.keys()).map(String::as_str).gather();
    options.into_iter().filter(|option| !BESIDE_THE_POINT.contains(option)).gather()
}

fn values(side: &Side, option: &str) -> BTreeSet<String> {
    let jobs = side.runs.iter().flat_map(|run| &run.summary.jobs);
    jobs.map(|job| job.options.get(option).cloned().unwrap_or_else(|| UNSET.to_owned())).gather()
}

fn rules(side: &Side) -> BTreeSet<String> {
    side.runs.iter().flat_map(|run| &run.summary.findings).map(|finding| finding.rule.clone()).gather()
}

fn counted(side: &Side, rule: &str) -> BTreeSet<String> {
    let has = |run: &&crate::ComparedRun| run.summary.findings.iter().any(|finding| finding.rule == rule);
    let count = side.runs.iter().filter(has).count();
    BTreeSet::from([format!("{count} of {}", iolab_text::counted(side.runs.len() as u64, "run"))])
}

/// Remarks about the runs and their figures.
pub(crate) fn notes(sides: [&Side; 2], kind: LatencyKind, rows: &[ComparisonRow]) -> Vec<String> {
    let mut notes = BTreeSet::new();
    for (side, word) in sides.into_iter().zip(["baseline", "candidate"]) {
        notes.extend(side.missing.iter().map(|missing| format!("{word}: missing: {missing}")));
        for run in &side.runs {
            if let Some(flaw) = &run.summary.flaw {
                notes.insert(format!("{word}: {} is excluded: {flaw}", run.summary.name));
            }
            notes.extend(run.summary.notes.iter().map(|note| format!("{word}: {}: {note}", run.summary.name)));
        }
        for rule in rules(side) {
            let counts = counted(side, &rule).into_iter().next().unwrap_or_default();
            let finding = side.runs.iter().flat_map(|run| &run.summary.findings).find(|finding| finding.rule == rule);
            let consequence = finding.map_or("", |finding| finding.consequence.as_str());
            notes.insert(format!("{word}: {rule} in {counts}: {consequence}"));
        }
    }
    if kind == LatencyKind::Completion && rows.iter().any(|row| row.latency.is_some()) {
        notes.insert(
            "compares completion latency (clat), because one side has no percentiles of total latency (fio: lat_percentiles=1)"
                .to_owned(),
        );
    }
    notes.into_iter().collect()
}
