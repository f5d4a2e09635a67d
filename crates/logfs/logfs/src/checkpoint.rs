//! The task that compacts the metadata log. It writes all inodes into the log while operations
//! continue, writes an anchor that names where the checkpoint began, and frees what lies before it
//! (docs/logfs/format.md, "Checkpoints").

mod describing;
pub(crate) mod fresh;

use std::collections::VecDeque;
use std::rc::Rc;

use iolab_disk::{Buffer, DeviceError};

use crate::Error;
use crate::anchor::{Anchor, Generation};
use crate::disk::Urgency;
use crate::instance::{Instance, Phase, State, step_aside};
use crate::log::{Log, Mark};
use crate::pace::Pace;
use crate::record::{InodeId, Record};
use crate::recovery::is_whole_told;
use crate::sums::SumCursor;
use describing::Cursor;

/// Bytes described in one step, during which no operation runs. Four such groups and the frame
/// header fill a frame.
const GROUP_BYTES: usize = (32 << 10) - 64;
/// A checkpoint up to this length is written whenever a changed file system is closed.
const SMALL_BYTES: u64 = 4 << 20;
/// Most groups of a checkpoint that wait to be written.
const GROUPS_QUEUED: usize = 4;
/// How often a checkpoint that cannot be read back is written again before the device is given up.
const TRIES: u32 = 3;

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

/// Writes one checkpoint, and reads it back before anything older is freed. If one is being written
/// already, that one ends first: both would begin and end in one log.
pub(crate) async fn write(instance: &Instance) -> Result<(), Error> {
    loop {
        let wait = {
            let state = instance.state.borrow();
            if let Some(error) = state.failed {
                return Err(Error::Failed(error));
            }
            if !state.checkpointing {
                break;
            }
            instance.progress.pass()
        };
        wait.await;
    }
    let written = write_alone(instance).await;
    instance.state.borrow_mut().checkpointing = false;
    instance.progress.notify();
    written
}

async fn write_alone(instance: &Instance) -> Result<(), Error> {
    for _ in 0..TRIES {
        describe(instance).await?;
        if is_there(instance).await? {
            return anchor(instance).await;
        }
        // The device does not hold what it was given: try again in another place. The older
        // checkpoints are still there.
        instance.state.borrow_mut().activity.bad_checkpoints += 1;
    }
    let error = DeviceError::Failed(5);
    instance.fail(error);
    Err(Error::Failed(error))
}

/// Writes all of a checkpoint, durably.
async fn describe(instance: &Instance) -> Result<(), Error> {
    let (begin, highest) = {
        let mut state = instance.state.borrow_mut();
        let serial = state.tree.serial;
        let begin = state.log.begin(serial);
        state.checkpointing = true;
        state.checkpoint_pace = Pace { begun_bytes: state.checkpoint_bytes(), ..Pace::default() };
        state.checkpoint_at_ns = instance.clock.now_ns();
        (begin, InodeId(serial))
    };
    let most_bytes = (instance.layout.cluster_bytes as usize / 8).min(GROUP_BYTES);
    let (mut cursor, mut sums) = (Cursor::new(), SumCursor::default());
    let mut queued = VecDeque::new();
    loop {
        let group = {
            let mut state = instance.state.borrow_mut();
            let state = &mut *state;
            let mut group = cursor.describe(&state.tree, highest, most_bytes);
            if group.is_empty() {
                group = state.clusters.sums.describe(&mut sums, most_bytes);
            }
            let is_more = !group.is_empty();
            state.checkpoint_pace.described_bytes += group.len() as u64;
            is_more.then(|| state.log.append_encoded(&group, Mark::Nothing))
        };
        let Some(ticket) = group else { break };
        queued.push_back(ticket);
        if queued.len() == GROUPS_QUEUED
            && let Some(oldest) = queued.pop_front()
        {
            drain(instance, oldest).await?;
        }
        // Let operations run between two groups.
        instance.disk.share().await;
        step_aside().await;
    }
    // Only now is it known in which cluster the checkpoint begins.
    instance.sync_to(begin).await?;
    let end = {
        let mut state = instance.state.borrow_mut();
        append_end(&mut state.log, cursor.inodes, most_bytes)
    };
    instance.sync_to(end).await
}

/// Appends the end of a checkpoint whose beginning is in a frame; returns the ticket of the end.
fn append_end(log: &mut Log, inodes: u64, most_bytes: usize) -> u64 {
    for clusters in log.before_begun().chunks(most_bytes / 4) {
        let mut bytes = Vec::new();
        Record::LogBefore { clusters: clusters.to_vec() }.encode(&mut bytes);
        log.append_encoded(&bytes, Mark::Nothing);
    }
    let mut bytes = Vec::new();
    Record::CheckpointEnd { inodes }.encode(&mut bytes);
    log.append_encoded(&bytes, Mark::End)
}

/// Whether the checkpoint written last can be read.
async fn is_there(instance: &Instance) -> Result<bool, Error> {
    let (generation, epoch) = {
        let state = instance.state.borrow();
        (written(&state)?, state.anchor.epoch)
    };
    let told = |bytes: u64| {
        instance.state.borrow_mut().checkpoint_pace.read_bytes += bytes;
        instance.progress.notify();
    };
    is_whole_told(&instance.disk.at(Urgency::Background), &instance.layout, generation, epoch, told).await
}

/// Where the checkpoint written last is.
fn written(state: &State) -> Result<Generation, Error> {
    let (Some(start), Some(end)) = (state.log.begun, state.log.ended) else {
        return Err(Error::Corrupt("a checkpoint that is durable and was never written".to_owned()));
    };
    Ok(Generation { start, end })
}

/// Whether closing should write a checkpoint. A small one is written after every change, because
/// what is in two checkpoints, or in a checkpoint and the log before it, survives the loss of one.
pub(crate) fn is_wanted_at_end(state: &State) -> bool {
    let is_small = state.tree.cost_bytes() <= SMALL_BYTES;
    state.is_checkpoint_worth_while() || (is_small && state.log.tail_bytes() > 0)
}

/// Waits until a group has been put into a frame, so that memory stays bounded and other tasks get
/// their turn. It does not wait for what other tasks log: such a checkpoint might never end.
async fn drain(instance: &Instance, ticket: u64) -> Result<(), Error> {
    loop {
        let wait = {
            let mut state = instance.state.borrow_mut();
            if let Some(error) = state.failed {
                return Err(Error::Failed(error));
            }
            if state.log.is_framed(ticket) {
                return Ok(());
            }
            state.log.framed_wanted = ticket;
            instance.work.notify();
            instance.progress.pass()
        };
        wait.await;
    }
}

async fn anchor(instance: &Instance) -> Result<(), Error> {
    let anchor = {
        let mut state = instance.state.borrow_mut();
        state.checkpoint_pace.is_read = true;
        let number = state.anchor.number + 1;
        let (serial, flushed) = (state.tree.serial, state.log.flushed);
        let (newest, before) = (written(&state)?, Some(state.anchor.newest));
        Anchor {
            number,
            newest,
            before,
            flushed,
            closed: false,
            serial,
            changes: state.log.flushed_changes,
            ..state.anchor
        }
    };
    if let Err(error) = write_anchor(instance, &anchor).await {
        instance.fail(error);
        return Err(Error::Failed(error));
    }
    let mut state = instance.state.borrow_mut();
    let state = &mut *state;
    state.anchor = anchor;
    state.log.anchored();
    state.activity.checkpoints += 1;
    for cluster in state.log.advance(anchor.newest.start.cluster) {
        state.clusters.free_log(cluster);
        state.activity.freed_clusters += 1;
    }
    Ok(())
}

/// Writes both copies of an anchor one after the other, so that one of them is valid at any time.
pub(crate) async fn write_anchor(instance: &Instance, anchor: &Anchor) -> Result<(), DeviceError> {
    let layout = &instance.layout;
    for place in anchor.places_in_turn(layout) {
        let buffer = Buffer::padded(&anchor.encode(layout), layout.block_bytes as usize);
        instance.disk.write(place, buffer).await?;
        instance.disk.flush().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use iolab_clock::Clock;
    use iolab_disk::RamDisk;
    use iolab_executor::{Executor, ReadyOrder};

    use crate::{Disk, FsckReport, Repair, Runtime, fsck, hostile};

    fn run<T>(disk: &RamDisk, order: ReadyOrder, work: impl AsyncFnOnce(Disk, Runtime) -> T) -> T {
        let mut executor = Executor::new(order);
        let disk = Disk::new(disk.clone());
        let runtime = Runtime { clock: Clock::simulated(5), spawner: executor.spawner() };
        executor.run(&mut disk.clone(), work(disk.clone(), runtime)).expect("no task waits for another for good")
    }

    #[test]
    fn a_repaired_file_system_has_two_good_checkpoints() {
        let mut image = hostile::sample();
        // Beyond the head of the frame in which the newest checkpoint begins.
        let newest = hostile::checkpoint_frames(&image)[0] + crate::frame::HEADER_BYTES + 16;
        image[newest] ^= 0xff;
        for seed in 0..64 {
            let disk = RamDisk::with_contents(image.clone(), 512);
            let repair = async |disk: Disk, runtime| fsck(&disk, Repair::Yes, runtime).await;
            let report = run(&disk, ReadyOrder::Shuffled(seed), repair).unwrap();
            assert!(report.repaired && report.recovery.by_older_checkpoint, "{report:?}");
            let found = run(&disk, ReadyOrder::Fair, async |disk, runtime| fsck(&disk, Repair::No, runtime).await);
            assert!(found.as_ref().is_ok_and(FsckReport::is_sound), "seed {seed}: {found:?}");
        }
    }
}
