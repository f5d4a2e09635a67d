//! The tasks that write the log. One makes frames as records arrive, at once when an operation
//! waits for durability; the other flushes the device, while frames continue to be written. Syncs
//! that arrive during a flush are all served by the next one.

use std::rc::Rc;

use iolab_disk::DeviceError;

use crate::disk::{Transfer, Urgency};
use crate::instance::{Instance, Phase, State, step_aside};

/// The work of one turn.
struct Turn {
    /// Write groups up to this ticket.
    until: u64,
    /// Have the device flushed afterwards.
    sync: bool,
}

pub(crate) async fn run(instance: Rc<Instance>) {
    loop {
        let turn = instance.wait_for_work(Phase::Closed, |state| {
            let log = &state.log;
            let sync = log.wants_sync() && !state.flush_wanted && !state.flushing;
            (sync || log.queued_bytes() >= instance.eager_bytes(state)).then_some(Turn { until: log.last_ticket, sync })
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
            // `for_log` reserves clusters so that one is available; a disk that lies about its size
            // can get here.
            state.log.compose(turn.until, &mut state.clusters).map_err(|_| DeviceError::Failed(28))?
        };
        let Some(frame) = composed else { break };
        instance.state.borrow_mut().activity.frames += 1;
        writes.push(instance.disk.at(Urgency::Log).write(frame.place, frame.buffer));
        // Making a frame takes a while: let operations run in between.
        step_aside().await;
    }
    // Tasks that waited for room in the queue can continue.
    instance.progress.notify();
    let mut result = Ok(());
    for write in writes {
        result = result.and(write.await.map(drop));
    }
    result?;
    let mut state = instance.state.borrow_mut();
    // Only this task makes frames, so all that exist have been written.
    state.log.now_written(turn.until);
    state.flush_wanted |= turn.sync;
    drop(state);
    if turn.sync {
        instance.work.notify();
    }
    instance.progress.notify();
    Ok(())
}

/// The task that flushes the device.
pub(crate) async fn run_flushes(instance: Rc<Instance>) {
    let wanted = |state: &mut State| std::mem::take(&mut state.flush_wanted).then_some(());
    while instance.wait_for_work(Phase::Closed, wanted).await.is_some() {
        let written = {
            let mut state = instance.state.borrow_mut();
            state.flushing = true;
            state.log.written
        };
        if let Err(error) = instance.disk.at(Urgency::Log).flush().await {
            instance.fail(error);
            break;
        }
        {
            let mut state = instance.state.borrow_mut();
            let state = &mut *state;
            state.flushing = false;
            state.log.now_durable(written);
            state.activity.syncs += 1;
            instance.consider(state);
        }
        // Syncs may have been requested during the flush.
        instance.work.notify();
        instance.progress.notify();
    }
    instance.task_ended();
}
