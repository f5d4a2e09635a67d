//! The task that moves small content from memory to the disk before the memory reserved for it is
//! full, so that small writes can stay in memory at first. The content that was written longest ago
//! goes first.
//!
//! It takes no locks. Content is copied and written while its file may change; what has changed by
//! the time the copy is on the disk stays in memory.

use std::rc::Rc;

use crate::Error;
use crate::allocation::Stream;
use crate::cleaner::{Moving, record_sums, relocate, write_slots};
use crate::clusters::Piece;
use crate::disk::Urgency;
use crate::extents::Place;
use crate::instance::{DEMOTION_SIXTEENTHS, Instance, Phase, State, step_aside};
use crate::record::{INLINE, InodeId};
use crate::space::Need;
use crate::tree::Inode;

/// Most bytes moved in one pass.
const PASS_BYTES: u64 = 256 << 10;
/// Most bytes moved in one pass if the device transfers during submission: operations run between
/// two passes, and the device does one request at a time anyway.
const PASS_BYTES_IN_PLACE: u64 = 64 << 10;
/// Most pieces moved in one pass; each needs a record.
const PASS_PIECES: usize = 1_024;
/// Most stretches of a file, in memory or not, that one pass examines.
const LOOKED_AT: u32 = 4_096;
/// Pieces relocated in one step.
const AT_ONCE: usize = 64;

/// Content is moved until this part of the limit on content in memory is left, in sixteenths.
const DOWN_TO: u64 = 12;

pub(crate) async fn run(instance: Rc<Instance>) {
    let limit = instance.inline_limit;
    let mut level = DEMOTION_SIXTEENTHS;
    loop {
        let wanted = |state: &mut State| {
            let rested = state.no_room_at.is_none_or(|ticket| state.log.last_ticket > ticket + 64);
            let level = level.min(state.inline_sixteenths(&instance.layout));
            (rested && state.tree.inline_bytes() > limit / 16 * level).then_some(())
        };
        if instance.wait_for_work(Phase::Closing, wanted).await.is_none() {
            break;
        }
        match pass(&instance).await {
            Ok(()) => instance.state.borrow_mut().no_room_at = None,
            Err(Error::NoSpace | Error::Device(_)) => {
                let mut state = instance.state.borrow_mut();
                state.no_room_at = Some(state.log.last_ticket);
            }
            Err(_) => break,
        }
        let now = instance.state.borrow().tree.inline_bytes();
        level = if now > limit / 16 * DOWN_TO { DOWN_TO } else { DEMOTION_SIXTEENTHS };
        step_aside().await;
    }
    instance.task_ended();
}

/// Moves some content.
async fn pass(instance: &Instance) -> Result<(), Error> {
    let disk = instance.disk.at(Urgency::Background);
    let most_bytes = if disk.is_synchronous() { PASS_BYTES_IN_PLACE } else { PASS_BYTES };
    let (content, moving) = gather(&mut instance.state.borrow_mut(), most_bytes);
    if content.is_empty() {
        return Ok(());
    }
    let length = content.len() as u64;
    let clusters = |state: &State| state.heads.clusters_for(Stream::Moved, length, &instance.layout);
    instance.admit(|state| Need::Clusters(clusters(state))).await?;
    let slots = {
        let mut state = instance.state.borrow_mut();
        let state = &mut *state;
        state
            .heads
            .take(Stream::Moved, length, &mut state.clusters, &instance.layout, state.log.last_ticket)
            .ok_or(Error::NoSpace)?
    };
    let written = write_slots(instance, &disk, &slots, &content).await.map_err(Error::from);
    let mut result = written.and_then(|()| record_sums(instance, &slots, &content));
    for some in moving.chunks(AT_ONCE) {
        result = result.and_then(|()| {
            let unchanged: Vec<Moving> = {
                let state = instance.state.borrow();
                let is_same = |part: &&Moving| is_unchanged(state.tree.get(part.piece.inode), part, &content);
                some.iter().filter(is_same).copied().collect()
            };
            relocate(instance, &slots, &unchanged, &content)
        });
        step_aside().await;
    }
    let mut state = instance.state.borrow_mut();
    let ticket = state.log.last_ticket;
    state.activity.demoted_bytes += if result.is_ok() { length } else { 0 };
    for (place, length) in slots {
        state.clusters.unpin(place, length, ticket);
    }
    result
}

/// Copies the in-memory content of the files at the front of the queue. Files written to since they
/// were queued go to the end.
fn gather(state: &mut State, most_bytes: u64) -> (Vec<u8>, Vec<Moving>) {
    let (mut content, mut moving) = (Vec::new(), Vec::new());
    let mut looked_at = state.inline_queue.len();
    while (content.len() as u64) < most_bytes && moving.len() < PASS_PIECES {
        let Some((ticket, inode)) = state.inline_queue.pop_front() else { break };
        let Some(node) = state.tree.get_mut(inode).filter(|node| node.inline_bytes() > 0) else {
            state.tree.get_mut(inode).into_iter().for_each(|node| node.in_queue = false);
            continue;
        };
        looked_at = looked_at.saturating_sub(1);
        if node.content_at > ticket && looked_at > 0 {
            state.inline_queue.push_back((node.content_at, inode));
            continue;
        }
        copy_out(inode, node, most_bytes, (&mut content, &mut moving));
        // A later pass takes what this one leaves and what is written meanwhile.
        state.inline_queue.push_back((node.content_at, inode));
        if looked_at == 0 {
            break;
        }
    }
    (content, moving)
}

/// Continues through a file where the last pass stopped; after the end of the file, starts over.
fn copy_out(inode: InodeId, node: &mut Inode, most_bytes: u64, (content, moving): (&mut Vec<u8>, &mut Vec<Moving>)) {
    let from = std::mem::take(&mut node.queue_from);
    let (mut looked_at, mut next) = (0, 0);
    for (offset, extent) in node.file().into_iter().flat_map(|file| file.touching(from, u64::MAX)) {
        looked_at += 1;
        let is_enough = content.len() as u64 >= most_bytes || moving.len() >= PASS_PIECES;
        if is_enough || looked_at > LOOKED_AT {
            next = offset;
            break;
        }
        let Place::Inline(bytes) = &extent.place else { continue };
        let piece = Piece { inode, offset, length: extent.length };
        moving.push(Moving { piece, from: INLINE, at: content.len() });
        content.extend_from_slice(bytes);
    }
    node.queue_from = next;
}

/// Whether a piece in memory still equals its copy.
fn is_unchanged(node: Option<&Inode>, part: &Moving, content: &[u8]) -> bool {
    let Some(file) = node.and_then(Inode::file) else { return false };
    let Piece { offset, length, .. } = part.piece;
    let mut at = offset;
    for (start, extent) in file.touching(offset, offset + length) {
        let Place::Inline(bytes) = &extent.place else { return false };
        if start > at {
            return false;
        }
        let stop = (start + extent.length).min(offset + length);
        let copied = &content[part.at + (at - offset) as usize..part.at + (stop - offset) as usize];
        if bytes[(at - start) as usize..(stop - start) as usize] != *copied {
            return false;
        }
        at = stop;
    }
    at == offset + length
}
