//! The tasks that win clusters back: one moves what is live out of clusters that hold little of it,
//! one takes apart the extents of deleted files a few at a time, so that deleting never waits for
//! that.

use std::rc::Rc;

use iolab_disk::{Buffer, DeviceError};

use crate::Error;
use crate::allocation::{Slot, Stream};
use crate::checksum::crc32c;
use crate::cleaning::{Budget, reading_plan};
use crate::clusters::{ClusterUse, Piece};
use crate::extents::Place;
use crate::instance::{Instance, Phase, State, step_aside};
use crate::record::{INLINE, Record, Relocate};
use crate::space::{FOR_CLEANING, Need};
use crate::sums::sums_of;

/// Clusters that are looked at in one step.
const LOOKED_AT: u32 = 4_096;
/// Extents of a deleted file that are released before others get a turn.
const RELEASED_AT_ONCE: usize = 256;

/// A piece of content on its way: where it was, and its bytes in the pass's memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moving {
    pub(crate) piece: Piece,
    pub(crate) from: u64,
    pub(crate) at: usize,
}

pub(crate) async fn run(instance: Rc<Instance>) {
    loop {
        let wanted = |state: &mut State| std::mem::take(&mut state.cleaning_wanted).then_some(());
        if instance.wait_for_work(Phase::Closing, wanted).await.is_none() {
            break;
        }
        match pass(&instance).await {
            // There may be more to gain for tasks that still wait.
            Ok(true) => {}
            Ok(false) => {
                let mut state = instance.state.borrow_mut();
                state.fruitless_at = Some(state.log.last_ticket);
            }
            // Content that cannot be read or written stays where it is; there is nothing to gain
            // from trying at once again.
            Err(Error::Device(_)) => {
                let mut state = instance.state.borrow_mut();
                state.fruitless_at = Some(state.log.last_ticket);
            }
            Err(_) => break,
        }
        instance.progress.notify();
    }
    instance.task_ended();
}

/// Cleans some clusters; whether there was something to gain.
async fn pass(instance: &Instance) -> Result<bool, Error> {
    instance.admit(|_| Need::Nothing).await?;
    let candidates = look_around(instance).await;
    let (victims, live_bytes) = {
        let mut state = instance.state.borrow_mut();
        let state = &mut *state;
        let victims = choose(instance, state, candidates);
        for victim in &victims {
            state.clusters.pin(instance.layout.start_of(victim.cluster), 1);
        }
        let live: u64 = victims.iter().map(|victim| victim.live_bytes).sum();
        (victims, live)
    };
    if victims.is_empty() {
        return Ok(false);
    }
    let result = move_out(instance, &victims).await;
    let ticket = {
        let mut state = instance.state.borrow_mut();
        let ticket = state.log.last_ticket;
        for victim in &victims {
            state.clusters.unpin(instance.layout.start_of(victim.cluster), 1, ticket);
        }
        state.fruitless_at = None;
        state.activity.cleaning_passes += u64::from(result.is_ok());
        state.activity.moved_bytes += if result.is_ok() { live_bytes } else { 0 };
        ticket
    };
    result?;
    // The clusters are free when the log says so durably.
    instance.sync_to(ticket).await?;
    Ok(true)
}

/// The best clusters of each part of the disk: a large disk is looked at in parts, with turns for
/// others between them.
async fn look_around(instance: &Instance) -> Vec<u32> {
    let mut found = Vec::new();
    let mut first = 0;
    while first < instance.layout.clusters {
        let end = first.saturating_add(LOOKED_AT);
        {
            let state = instance.state.borrow();
            let uses = state.clusters.uses(first..end, state.log.last_ticket);
            let best = instance.options.policy.choose(uses, &budget(instance, &state));
            found.extend(best.iter().map(|victim| victim.cluster));
        }
        first = end;
        if first < instance.layout.clusters {
            step_aside().await;
        }
    }
    found
}

fn budget(instance: &Instance, state: &State) -> Budget {
    let layout = &instance.layout;
    let cluster_bytes = u64::from(layout.cluster_bytes);
    let free = state.clusters.free_count();
    let urgent = state.spendable(layout) == 0;
    // Cleaning may take what is set aside for it and what is left beyond the log's share.
    let clusters =
        u64::from(free.saturating_sub(state.for_log(layout)).min(if urgent { FOR_CLEANING - 1 } else { free }));
    let room = state.heads.room(Stream::Moved, layout) + clusters * cluster_bytes;
    Budget {
        cluster_bytes,
        move_bytes: room.saturating_sub(u64::from(layout.block_bytes)).min(instance.options.cleaning_bytes),
        free_share: f64::from(free) / f64::from(layout.clusters),
        urgent,
    }
}

fn choose(instance: &Instance, state: &State, candidates: Vec<u32>) -> Vec<ClusterUse> {
    let layout = &instance.layout;
    let cluster_bytes = u64::from(layout.cluster_bytes);
    // As they are now.
    let now = state.log.last_ticket;
    let uses = candidates.into_iter().flat_map(|number| state.clusters.uses(number..number + 1, now));
    let victims = instance.options.policy.choose(uses.collect(), &budget(instance, state));
    let gain: u64 = victims.iter().map(|victim| cluster_bytes - victim.live_bytes).sum();
    // A pass costs a block of padding and some log.
    let least = (cluster_bytes / 32).max(2 * u64::from(layout.block_bytes));
    if gain < least { Vec::new() } else { victims }
}

async fn move_out(instance: &Instance, victims: &[ClusterUse]) -> Result<(), Error> {
    let mut content = Vec::new();
    let mut moving = Vec::new();
    for victim in victims {
        read_live(instance, victim.cluster, &mut content, &mut moving).await?;
    }
    if content.is_empty() {
        return Ok(());
    }
    let slots = {
        let mut state = instance.state.borrow_mut();
        let state = &mut *state;
        let context = (&instance.layout, state.log.last_ticket);
        state.heads.take(Stream::Moved, content.len() as u64, &mut state.clusters, context).ok_or(Error::NoSpace)
    };
    // Somebody else was quicker with the last clusters: the next pass looks at what there is then.
    let Ok(slots) = slots else { return Ok(()) };
    let written = write_slots(instance, &slots, &content).await.map_err(Error::from);
    let proven = written.and_then(|()| record_sums(instance, &slots, &content));
    let committed = proven.and_then(|()| relocate(instance, &slots, &moving, &content));
    let mut state = instance.state.borrow_mut();
    let ticket = state.log.last_ticket;
    for (place, length) in slots {
        state.clusters.unpin(place, length, ticket);
    }
    committed
}

/// Reads what is live in a cluster and appends it to `content`, packed.
async fn read_live(
    instance: &Instance,
    cluster: u32,
    content: &mut Vec<u8>,
    moving: &mut Vec<Moving>,
) -> Result<(), Error> {
    let start = instance.layout.start_of(cluster);
    let pieces = {
        let state = instance.state.borrow();
        let mut pieces = state.clusters.pieces(cluster);
        // What is left of deleted files is on its way out.
        pieces.retain(|(_, piece)| state.tree.get(piece.inode).is_some());
        pieces
    };
    let wanted: Vec<(u32, u32)> = pieces.iter().map(|(at, piece)| (*at, *at + piece.length as u32)).collect();
    let plan = reading_plan(&wanted, instance.layout.block_bytes, instance.options.reading.request_bytes());
    let reads: Vec<_> = plan
        .iter()
        .map(|(from, to)| (*from, instance.disk.read(start + u64::from(*from), (to - from) as usize)))
        .collect();
    let mut buffers = Vec::new();
    for (from, read) in reads {
        buffers.push((from, read.await?));
    }
    let block = instance.layout.block_bytes as usize;
    let before = (content.len(), moving.len());
    for (at, piece) in pieces {
        let (from, to) = (at, at as usize + piece.length as usize);
        let covers = |(start, buffer): &&(u32, Buffer)| *start <= from && to <= *start as usize + buffer.len();
        let Some((first, buffer)) = buffers.iter().find(covers) else { continue };
        // The blocks that it lies in.
        let skipped = (from - first) as usize / block * block;
        let blocks = &buffer[skipped..(to - *first as usize).next_multiple_of(block)];
        if instance.verify(start + (*first as usize + skipped) as u64, blocks).is_err() {
            // It stays where it is, with everything beside it: reading it gives an error, and
            // nothing takes it for valid.
            instance.state.borrow_mut().clusters.spoil(cluster);
            content.truncate(before.0);
            moving.truncate(before.1);
            return Ok(());
        }
        moving.push(Moving { piece, from: start + u64::from(at), at: content.len() });
        content.extend_from_slice(&buffer[(from - first) as usize..to - *first as usize]);
    }
    Ok(())
}

/// Writes `content` to the slots, one after the other.
pub(crate) async fn write_slots(instance: &Instance, slots: &[Slot], content: &[u8]) -> Result<(), DeviceError> {
    let block = instance.layout.block_bytes as usize;
    let mut rest = content;
    let mut writes = Vec::new();
    for (place, length) in slots {
        let (part, more) = rest.split_at(*length as usize);
        rest = more;
        writes.push(instance.disk.write(*place, Buffer::padded(part, block)));
    }
    // Every one is waited for, also behind one that failed: the clusters stay pinned as long as the
    // device may write to them.
    let mut result = Ok(());
    for write in writes {
        result = result.and(write.await.map(drop));
    }
    result
}

/// Records the checksums of what was moved to the slots: before what lies there is named.
pub(crate) fn record_sums(instance: &Instance, slots: &[Slot], content: &[u8]) -> Result<(), Error> {
    let mut rest = content;
    for (place, length) in slots {
        let (part, more) = rest.split_at(*length as usize);
        rest = more;
        let sums = sums_of(part, instance.layout.block_bytes as usize);
        instance.commit(&[Record::Sums { place: *place, sums }])?;
    }
    Ok(())
}

/// Records that pieces lie in the slots now. What has changed in the meantime stays where it is.
pub(crate) fn relocate(instance: &Instance, slots: &[Slot], moving: &[Moving], content: &[u8]) -> Result<(), Error> {
    let mut records = Vec::new();
    let mut slot_at = 0;
    for (place, length) in slots {
        let slot = (slot_at, slot_at + *length as usize);
        for part in moving.iter().filter(|part| part.at < slot.1 && part.at + part.piece.length as usize > slot.0) {
            let from = part.at.max(slot.0);
            let to = (part.at + part.piece.length as usize).min(slot.1);
            let skipped = (from - part.at) as u64;
            records.push(Record::Relocate(Relocate {
                inode: part.piece.inode,
                offset: part.piece.offset + skipped,
                length: (to - from) as u64,
                from: if part.from == INLINE { INLINE } else { part.from + skipped },
                to: place + (from - slot.0) as u64,
                checksum: crc32c(&content[from..to]),
            }));
            if records.len() == 128 {
                instance.commit(&std::mem::take(&mut records))?;
            }
        }
        slot_at = slot.1;
    }
    if records.is_empty() { Ok(()) } else { instance.commit(&records).map(drop) }
}

/// The task that releases what deleted files held.
pub(crate) async fn run_graveyard(instance: Rc<Instance>) {
    let has_work = |state: &mut State| (!state.tree.graveyard.is_empty()).then_some(());
    while instance.wait_for_work(Phase::Closing, has_work).await.is_some() {
        release_some(&instance);
        instance.progress.notify();
        if instance.state.borrow().phase != Phase::Running {
            break;
        }
        step_aside().await;
    }
    instance.task_ended();
}

fn release_some(instance: &Instance) {
    let mut state = instance.state.borrow_mut();
    let state = &mut *state;
    let Some((inode, mut extents)) = state.tree.graveyard.pop_front() else { return };
    let ticket = state.log.last_ticket;
    for _ in 0..RELEASED_AT_ONCE {
        let Some((_, extent)) = extents.pop() else { return };
        if let Place::Disk(place) = extent.place {
            state.clusters.release(inode, place, extent.length, ticket);
        }
    }
    state.tree.graveyard.push_front((inode, extents));
}
