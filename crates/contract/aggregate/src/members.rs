//! Which workers count, and what is reported as one.

use std::collections::BTreeMap;

use iolab_plan::WorkerPlan;
use iolab_recording::{Recording, WorkerRecording};

/// A worker: its plan and its results.
pub type Member<'a> = (&'a WorkerPlan, &'a WorkerRecording);

/// The workers that count, in the order of the recording: those that the plan knows and `stats=0`
/// does not hide.
pub fn members(recording: &Recording) -> Vec<Member<'_>> {
    let planned = |worker| Some((plan_of(recording, worker)?, worker));
    recording.workers.iter().filter_map(planned).filter(|(plan, _)| plan.measurement.stats).collect()
}

fn plan_of<'a>(recording: &'a Recording, worker: &WorkerRecording) -> Option<&'a WorkerPlan> {
    let plans = &recording.plan.workers;
    // Nearly always a worker stands at the place of its number.
    let there = plans.get(worker.number as usize).filter(|plan| plan.number == worker.number);
    there.or_else(|| plans.iter().find(|plan| plan.number == worker.number))
}

/// The workers that count, split into what is reported as one: every worker for itself, or all of a
/// group that asked for that, on each server of a client by itself.
pub(crate) fn reported(recording: &Recording) -> Vec<Vec<Member<'_>>> {
    let mut entries: Vec<Vec<Member<'_>>> = Vec::new();
    let mut groups: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    let by_host = recording.is_of_servers();
    for (plan, worker) in members(recording) {
        if !plan.group_reporting {
            entries.push(vec![(plan, worker)]);
            continue;
        }
        let entry = (plan.group, if by_host { plan.host } else { 0 });
        let place = *groups.entry(entry).or_insert(entries.len());
        match entries.get_mut(place) {
            Some(entry) => entry.push((plan, worker)),
            None => entries.push(vec![(plan, worker)]),
        }
    }
    entries
}

/// Why a run does not count: it was interrupted, or a worker failed. `None` if it counts.
pub fn flaw(recording: &Recording) -> Option<String> {
    if recording.interrupted {
        return Some("it was interrupted".to_owned());
    }
    let failed = recording.workers.iter().find(|worker| worker.outcome.errno() != 0)?;
    Some(format!("worker {} failed: {}", failed.number, failed.outcome.reason()))
}
