//! The task that compacts the metadata log: it writes all inodes into the log, while everything else goes on, then lets an anchor name
//! where that began, and frees what lies before (docs/logfs/format.md, "Checkpoints").

mod describing;
pub(crate) mod fresh;

use std::rc::Rc;

use iolab_block::{Buffer, DeviceError};

use crate::Error;
use crate::anchor::Anchor;
use crate::instance::{Instance, Phase, State, step_aside};
use crate::log::Mark;
use crate::record::{InodeId, Record};
use crate::sums::SumCursor;
use describing::Cursor;

/// Bytes described in one step, while everything else stands still: four such groups and their frame's head fill a frame.
const GROUP_BYTES: usize = (32 << 10) - 64;
/// Fewer bytes of changes than this are read in no time.
const WORTH_BYTES: u64 = 256 << 10;

pub(crate) async fn run(instance: Rc<Instance>) {
    loop {
        let wanted = |state: &mut State| std::mem::take(&mut state.checkpoint_wanted).then_some(());
        if instance.wait_for_work(Phase::Closing, wanted).await.is_none() {
            break;
        }
        if write(&instance).await.is_err() {
            break;
        }
    }
    instance.task_ended();
}

/// Writes one checkpoint. Only one may be under way at a time.
pub(crate) async fn write(instance: &Instance) -> Result<(), Error> {
    let highest = {
        let mut state = instance.state.borrow_mut();
        let serial = state.tree.serial;
        state.log.begin(serial);
        state.checkpointing = true;
        state.checkpoint_at_ns = instance.clock.now_ns();
        InodeId(serial)
    };
    let most_bytes = (instance.layout.cluster_bytes as usize / 8).min(GROUP_BYTES);
    let (mut cursor, mut sums) = (Cursor::new(), SumCursor::default());
    loop {
        let group = {
            let mut state = instance.state.borrow_mut();
            let state = &mut *state;
            let mut group = cursor.describe(&state.tree, highest, most_bytes);
            if group.is_empty() {
                group = state.clusters.sums.describe(&mut sums, most_bytes);
            }
            let is_more = !group.is_empty();
            is_more.then(|| state.log.append_encoded(&group, Mark::Nothing))
        };
        if group.is_none() {
            break;
        }
        drain(instance).await?;
        // Operations go on between any two groups.
        step_aside().await;
    }
    let end = {
        let mut bytes = Vec::new();
        Record::CheckpointEnd { inodes: cursor.inodes }.encode(&mut bytes);
        instance.state.borrow_mut().log.append_encoded(&bytes, Mark::End)
    };
    instance.sync_to(end).await?;
    anchor(instance).await
}

/// Whether so much has changed since the last checkpoint that reading it would take a good part of the time of opening.
pub(crate) fn is_worth_while(state: &State) -> bool {
    state.log.tail_bytes() > state.tree.cost_bytes() / 4 + WORTH_BYTES
}

/// Lets the log be written when much waits, so that memory stays bounded and others get their turn.
async fn drain(instance: &Instance) -> Result<(), Error> {
    loop {
        let wait = {
            let state = instance.state.borrow();
            if let Some(error) = state.failed {
                return Err(Error::Failed(error));
            }
            if state.log.queued_bytes() < instance.bulk_bytes() {
                return Ok(());
            }
            instance.work.notify();
            instance.progress.pass()
        };
        wait.await;
    }
}

async fn anchor(instance: &Instance) -> Result<(), Error> {
    let anchor = {
        let state = instance.state.borrow();
        let (Some(start), Some(checkpoint_end)) = (state.log.begun, state.log.ended) else {
            return Err(Error::Corrupt("a checkpoint that is durable and was never written".to_owned()));
        };
        let number = state.anchor.number + 1;
        let (serial, flushed) = (state.tree.serial, state.log.flushed);
        Anchor { number, start, checkpoint_end, flushed, closed: false, serial, ..state.anchor }
    };
    if let Err(error) = write_anchor(instance, &anchor).await {
        instance.fail(error);
        return Err(Error::Failed(error));
    }
    let mut state = instance.state.borrow_mut();
    let state = &mut *state;
    state.anchor = anchor;
    state.log.anchored();
    state.checkpointing = false;
    state.activity.checkpoints += 1;
    for cluster in state.log.cut_before(anchor.start.cluster) {
        state.clusters.free_log(cluster);
        state.activity.freed_clusters += 1;
    }
    instance.progress.notify();
    Ok(())
}

pub(crate) async fn write_anchor(instance: &Instance, anchor: &Anchor) -> Result<(), DeviceError> {
    let layout = &instance.layout;
    let buffer = Buffer::padded(&anchor.encode(layout), layout.block_bytes as usize);
    instance.disk.write(anchor.place(layout), buffer).await?;
    instance.disk.flush().await.map(drop)
}
