//! Which workers count, and what is reported as one.

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
    recording.plan.workers.iter().find(|plan| plan.number == worker.number)
}

/// The workers that count, split into what is reported as one: every worker for itself, or all of a
/// group that asked for that, on each server of a client by itself.
pub(crate) fn reported(recording: &Recording) -> Vec<Vec<Member<'_>>> {
    let mut entries: Vec<Vec<Member<'_>>> = Vec::new();
    let by_host = recording.is_of_servers();
    for (plan, worker) in members(recording) {
        let same = entries.iter_mut().find(|entry| {
            let first = entry[0].0;
            let together = !by_host || first.host == plan.host;
            plan.group_reporting && first.group_reporting && first.group == plan.group && together
        });
        match same {
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
