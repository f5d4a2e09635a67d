//! Moves content: out of clusters that are being cleaned, and to its new place.
//!
//! The pieces of one file are written next to each other, by offset, whichever clusters they come
//! from. What a file has in the clusters of one pass becomes one contiguous stretch.

use std::collections::VecDeque;

use iolab_checksum::crc32c;
use iolab_disk::{Buffer, DeviceError};
use iolab_order::Arrange;

use crate::Error;
use crate::allocation::{Slot, Stream};
use crate::cleaning::{ClusterUse, reading_plan};
use crate::clusters::Piece;
use crate::disk::{Disk, Transfer};
use crate::instance::{Instance, step_aside};
use crate::record::{INLINE, Record, Relocate};
use crate::space::Need;
use crate::sums::sums_of;

/// Pieces relocated before other tasks get a turn.
const AT_ONCE: usize = 64;
/// Concurrent writes of a pass; each holds a copy in memory.
const WRITES: usize = 4;

/// A piece of content being moved: where it was, and where its bytes are in the pass's memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moving {
    pub(crate) piece: Piece,
    pub(crate) from: u64,
    pub(crate) at: usize,
}

/// Moves live content out of pinned clusters.
pub(super) async fn move_out(instance: &Instance, disk: &Disk, victims: &[ClusterUse]) -> Result<(), Error> {
    let (mut moving, mut ends) = (Vec::new(), Vec::new());
    for victim in victims {
        list_live(instance, victim.cluster, &mut moving);
        ends.push(moving.len());
        step_aside().await;
    }
    let length = group_by_file(&mut moving);
    let mut content = vec![0; length];
    let mut first = 0;
    for (victim, end) in victims.iter().zip(ends) {
        read_live(instance, disk, victim.cluster, &mut moving[first..end], &mut content).await?;
        first = end;
    }
    moving.retain(|part| part.at != NOWHERE);
    if moving.is_empty() {
        return Ok(());
    }
    moving.sort_unstable_by_key(|part| part.at);
    let slots = {
        let mut state = instance.state.borrow_mut();
        let state = &mut *state;
        state
            .heads
            .take(Stream::Moved, content.len() as u64, &mut state.clusters, &instance.layout, state.log.last_ticket)
            .ok_or(Error::NoSpace)
    };
    // Another task took the last clusters; the next pass starts from the new state.
    let Ok(slots) = slots else { return Ok(()) };
    let mut result = write_slots(instance, disk, &slots, &content).await.map_err(Error::from);
    let mut rest = &content[..];
    for slot in &slots {
        let (part, more) = rest.split_at(slot.1 as usize);
        rest = more;
        result = result.and_then(|()| record_sums(instance, std::slice::from_ref(slot), part));
        step_aside().await;
    }
    for some in moving.chunks(AT_ONCE) {
        if result.is_ok() {
            // A large pass makes many records, so it waits for the log as operations do.
            result = instance.admit(|_| Need::Nothing).await;
        }
        result = result.and_then(|()| relocate(instance, &slots, some, &content));
        step_aside().await;
    }
    let mut state = instance.state.borrow_mut();
    let ticket = state.log.last_ticket;
    for (place, length) in slots {
        state.clusters.unpin(place, length, ticket);
    }
    result
}

/// Stands for the place in memory of a piece that stays where it is on the disk.
const NOWHERE: usize = usize::MAX;

/// Lists the live pieces of a cluster, by their offset in it.
fn list_live(instance: &Instance, cluster: u32, moving: &mut Vec<Moving>) {
    let start = instance.layout.start_of(cluster);
    let state = instance.state.borrow();
    let pieces = state.clusters.pieces(cluster).into_iter();
    // Content of deleted files is being released anyway.
    let live = pieces.filter(|(_, piece)| state.tree.get(piece.inode).is_some());
    moving.extend(live.map(|(at, piece)| Moving { piece, from: start + u64::from(at), at: NOWHERE }));
}

/// Assigns each piece a place in memory, by file and offset; returns the number of bytes.
fn group_by_file(moving: &mut [Moving]) -> usize {
    let mut order: Vec<usize> = (0..moving.len()).collect();
    order.arrange_by_key(|number| (moving[*number].piece.inode, moving[*number].piece.offset));
    let mut length = 0;
    for number in order {
        moving[number].at = length;
        length += moving[number].piece.length as usize;
    }
    length
}

/// Reads the pieces of a cluster, in the order of the list, to their places in `content`.
async fn read_live(
    instance: &Instance,
    disk: &Disk,
    cluster: u32,
    parts: &mut [Moving],
    content: &mut [u8],
) -> Result<(), Error> {
    let layout = &instance.layout;
    let start = layout.start_of(cluster);
    let within = |part: &Moving| ((part.from - start) as usize, (part.from - start + part.piece.length) as usize);
    let wanted: Vec<(u32, u32)> = parts.iter().map(within).map(|(from, to)| (from as u32, to as u32)).collect();
    let plan = reading_plan(&wanted, layout.block_bytes, instance.cleaning.reading.request_bytes());
    let reads: Vec<_> = plan
        .iter()
        .map(|(from, to)| (*from, disk.read_in_pieces(start + u64::from(*from), (to - from) as usize)))
        .collect();
    let mut buffers = Vec::new();
    let mut result = Ok(());
    for (from, read) in reads {
        match read.done().await {
            Ok(buffer) => buffers.push((from as usize, buffer)),
            Err(error) => result = Err(error),
        }
    }
    result?;
    let block = layout.block_bytes as usize;
    for number in 0..parts.len() {
        let (from, to) = within(&parts[number]);
        let covers = |(start, buffer): &&(usize, Buffer)| *start <= from && to <= *start + buffer.len();
        let Some((first, buffer)) = buffers.iter().find(covers) else {
            parts[number].at = NOWHERE;
            continue;
        };
        // The blocks that contain the piece.
        let skipped = (from - first) / block * block;
        let blocks = &buffer[skipped..(to - first).next_multiple_of(block)];
        if instance.verify(start + (first + skipped) as u64, blocks).is_err() {
            // The piece stays where it is, with everything else in its cluster. Reading it returns
            // an error, and it never gets a valid checksum.
            instance.state.borrow_mut().clusters.spoil(cluster);
            parts.iter_mut().for_each(|part| part.at = NOWHERE);
            return Ok(());
        }
        let at = parts[number].at;
        content[at..at + (to - from)].copy_from_slice(&buffer[from - first..to - first]);
    }
    Ok(())
}

/// Writes `content` to the slots, in order.
pub(crate) async fn write_slots(
    instance: &Instance,
    disk: &Disk,
    slots: &[Slot],
    content: &[u8],
) -> Result<(), DeviceError> {
    let block = instance.layout.block_bytes as usize;
    let mut rest = content;
    let mut writes = VecDeque::new();
    let mut result = Ok(());
    for (place, length) in slots {
        let (part, more) = rest.split_at(*length as usize);
        rest = more;
        let mut at = *place;
        for piece in part.chunks(disk.piece_bytes()) {
            if result.is_err() {
                break;
            }
            if writes.len() == WRITES
                && let Some(write) = writes.pop_front()
            {
                result = wait_for(write).await;
            }
            writes.push_back(disk.write(at, Buffer::padded(piece, block)));
            at += piece.len() as u64;
        }
    }
    // Wait for every write, also after one has failed: the clusters stay pinned as long as the
    // device may write to them.
    for write in writes {
        result = result.and(wait_for(write).await);
    }
    result
}

async fn wait_for(write: Transfer) -> Result<(), DeviceError> {
    write.await.map(drop)
}

/// Records the checksums of the content moved to the slots. Must come before any record that refers
/// to it.
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

/// Records that pieces, in the order of memory, now lie in the slots. A piece that has changed in
/// the meantime keeps its old place.
pub(crate) fn relocate(instance: &Instance, slots: &[Slot], moving: &[Moving], content: &[u8]) -> Result<(), Error> {
    let mut records = Vec::new();
    let mut slot_at = 0;
    for (place, length) in slots {
        let slot = (slot_at, slot_at + *length as usize);
        // They are sorted by their places in memory.
        let first = moving.partition_point(|part| part.at + part.piece.length as usize <= slot.0);
        for part in moving[first..].iter().take_while(|part| part.at < slot.1) {
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
