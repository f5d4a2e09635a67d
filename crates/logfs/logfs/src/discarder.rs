//! The task that discards free clusters on the device before they are used again, several at a
//! time.
//!
//! A cluster is queued here once the change that freed it is durable, so that nothing refers to it
//! after a crash. It is not allocated until its discard has completed, so that a discard can never
//! overtake a write. The result of a discard is ignored: a discard is advice.

use std::rc::Rc;

use crate::instance::{Instance, Phase, State};

/// Most clusters discarded in one turn.
const AT_ONCE: usize = 256;

pub(crate) async fn run(instance: Rc<Instance>) {
    loop {
        let turn = instance.wait_for_work(Phase::Closing, |state: &mut State| {
            state.is_discard_wanted().then(|| state.clusters.take_undiscarded(AT_ONCE))
        });
        let Some(runs) = turn.await else { break };
        let layout = &instance.layout;
        let discards: Vec<_> = runs
            .iter()
            .map(|run| instance.disk.discard(layout.start_of(run.start), layout.start_of(run.end - run.start)))
            .collect();
        for discard in discards {
            let _advice = discard.await;
        }
        let mut state = instance.state.borrow_mut();
        for run in runs {
            state.activity.discarded_clusters += u64::from(run.end - run.start);
            state.clusters.discarded(run);
        }
        state.discards_wanted = false;
        // With more clusters, cleaning may gain what it could not before.
        state.fruitless_at = None;
        drop(state);
        instance.progress.notify();
    }
    instance.task_ended();
}
