//! The task that tells the device which clusters are free, before they are used again, several at a
//! time.
//!
//! A cluster comes here when what freed it is durable: whatever a crash leaves, nothing leads to
//! it. Until its discard has completed it is not given away, so that a discard can never overtake a
//! write. What the device answers is not looked at: a discard is advice.

use std::rc::Rc;

use crate::instance::{Instance, Phase, State};

/// Most clusters in one turn.
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
        // With more clusters cleaning may gain what it could not.
        state.fruitless_at = None;
        drop(state);
        instance.progress.notify();
    }
    instance.task_ended();
}
