//! The tasks that write the log. One makes frames as records arrive, at once when an operation
//! waits for durability; the other flushes the device, while frames continue to be written. Syncs
//! that arrive during a flush are all served by the next one.
//!
//! A few frames are on their way at once. Operations wait while the device falls behind, each for
//! about one frame.

use std::collections::VecDeque;
use std::rc::Rc;

use iolab_disk::DeviceError;

use crate::disk::{Transfer, Urgency};
use crate::instance::{Instance, Phase, State, step_aside};
use crate::log::Written;

/// Most frames on their way.
const FRAMES: usize = 4;
/// The same for a device that transfers during submission: operations run in between.
const FRAMES_IN_PLACE: usize = 2;

/// Frames on their way, the oldest first.
type Frames = VecDeque<(Transfer, Written)>;

pub(crate) async fn run(instance: Rc<Instance>) {
    let most = if instance.disk.is_synchronous() { FRAMES_IN_PLACE } else { FRAMES };
    let mut frames = Frames::new();
    loop {
        if frames.is_empty() {
            let has_work = |state: &mut State| (is_due(&instance, state) || is_flush_due(state)).then_some(());
            let Some(()) = instance.wait_for_work(Phase::Closed, has_work).await else { break };
        }
        if let Err(error) = take_turn(&instance, &mut frames, most).await {
            instance.fail(error);
            break;
        }
    }
    instance.task_ended();
}

/// Whether a frame has to be made.
fn is_due(instance: &Instance, state: &State) -> bool {
    let log = &state.log;
    let is_wanted = log.wants_sync() && !state.flush_wanted && !state.flushing && !log.is_framed(log.wanted_ticket);
    is_wanted || !log.is_framed(log.framed_wanted) || log.queued_bytes() >= instance.eager_bytes(state)
}

fn is_flush_due(state: &State) -> bool {
    state.log.waits_for_flush() && !state.flush_wanted && !state.flushing
}

/// Makes frames as far as they are due, and waits for the oldest.
async fn take_turn(instance: &Instance, frames: &mut Frames, most: usize) -> Result<(), DeviceError> {
    while frames.len() < most {
        let composed = {
            let mut state = instance.state.borrow_mut();
            let state = &mut *state;
            if !is_due(instance, state) {
                break;
            }
            // `for_log` reserves clusters so that one is available; a disk that lies about its size
            // can get here.
            state.log.compose(&mut state.clusters).map_err(|_| DeviceError::Failed(28))?
        };
        let Some(frame) = composed else { break };
        instance.state.borrow_mut().activity.frames += 1;
        let write = instance.disk.at(Urgency::Log).write(frame.place, frame.buffer);
        frames.push_back((write, frame.written));
        // Tasks that waited for room in the queue can continue. Making a frame takes a while: let
        // operations run in between.
        instance.progress.notify();
        step_aside().await;
    }
    if let Some((write, written)) = frames.pop_front() {
        write.await?;
        instance.state.borrow_mut().log.written = written;
        instance.progress.notify();
    }
    let mut state = instance.state.borrow_mut();
    if is_flush_due(&state) {
        state.flush_wanted = true;
        drop(state);
        instance.work.notify();
    }
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
