//! The task that writes the log: frames as they fill, and at once when somebody waits for
//! durability. Whoever comes while a flush is under way is served by the next one, all together.

use std::rc::Rc;

use iolab_disk::DeviceError;

use crate::disk::Transfer;
use crate::instance::{Instance, Phase, step_aside};

/// What one turn has to do.
struct Turn {
    /// Write groups up to this ticket.
    until: u64,
    /// Flush afterwards.
    sync: bool,
}

pub(crate) async fn run(instance: Rc<Instance>) {
    let eager = instance.eager_bytes();
    loop {
        let turn = instance.wait_for_work(Phase::Closed, |state| {
            let log = &state.log;
            let sync = log.wants_sync();
            (sync || log.queued_bytes() >= eager).then_some(Turn { until: log.last_ticket, sync })
        });
        let Some(turn) = turn.await else { break };
        if let Err(error) = take_turn(&instance, turn).await {
            instance.fail(error);
            break;
        }
    }
    instance.task_ended();
}

async fn take_turn(instance: &Instance, turn: Turn) -> Result<(), DeviceError> {
    let mut writes: Vec<Transfer> = Vec::new();
    loop {
        let composed = {
            let mut state = instance.state.borrow_mut();
            let state = &mut *state;
            // That a cluster is there is what `for_log` sets clusters aside for; a disk that lies
            // about its size comes here.
            state.log.compose(turn.until, &mut state.clusters).map_err(|_| DeviceError::Failed(28))?
        };
        let Some(frame) = composed else { break };
        instance.state.borrow_mut().activity.frames += 1;
        writes.push(instance.disk.write(frame.place, frame.buffer));
        // Making a frame takes a while: operations go on in between.
        step_aside().await;
    }
    let mut result = Ok(());
    for write in writes {
        result = result.and(write.await.map(drop));
    }
    result?;
    if turn.sync {
        instance.disk.flush().await?;
        now_durable(instance, turn.until);
    }
    instance.progress.notify();
    Ok(())
}

/// Only this task makes frames, so all that exist had been written when the flush was sent.
fn now_durable(instance: &Instance, ticket: u64) {
    let mut state = instance.state.borrow_mut();
    let state = &mut *state;
    state.log.durable_ticket = ticket;
    state.log.now_flushed();
    state.activity.syncs += 1;
    instance.consider(state);
}
