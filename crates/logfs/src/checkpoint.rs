//! The task that compacts the metadata log: it writes all inodes into the log, while everything else goes on, then lets an anchor name
//! where that began, and frees what lies before (docs/logfs/format.md, "Checkpoints").

use std::rc::Rc;

use iolab_block::{Buffer, DeviceError};

use crate::Error;
use crate::anchor::Anchor;
use crate::extents::Place;
use crate::instance::{Instance, Phase, State};
use crate::log::Mark;
use crate::record::{InodeId, Record, Stretch};
use crate::tree::{Content, Inode};

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
        state.log.append(&[Record::CheckpointBegin { serial }], Mark::Begin);
        InodeId(serial)
    };
    let (mut last, mut inodes) = (InodeId(0), 0);
    loop {
        let next = {
            let mut state = instance.state.borrow_mut();
            let state = &mut *state;
            // Inodes made since the beginning have all of their records behind it.
            state.tree.after(last).filter(|(inode, _)| *inode <= highest).map(|(inode, node)| {
                for group in describe(inode, node, instance.layout.cluster_bytes as usize / 8) {
                    state.log.append(&group, Mark::Nothing);
                }
                inode
            })
        };
        let Some(inode) = next else { break };
        (last, inodes) = (inode, inodes + 1);
        drain(instance).await?;
    }
    let end = instance.state.borrow_mut().log.append(&[Record::CheckpointEnd { inodes }], Mark::End);
    instance.sync_to(end).await?;
    anchor(instance).await
}

/// Lets the log be written when much waits, so that memory stays bounded and others get their turn.
async fn drain(instance: &Instance) -> Result<(), Error> {
    loop {
        let wait = {
            let state = instance.state.borrow();
            if let Some(error) = state.failed {
                return Err(Error::Failed(error));
            }
            if state.log.queued_bytes() < instance.eager_bytes() {
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

/// An inode as the groups of records that make it, each below `most_bytes` or so.
fn describe(inode: InodeId, node: &Inode, most_bytes: usize) -> Vec<Vec<Record>> {
    let mut groups = vec![vec![Record::Node(node.node(inode))]];
    groups.extend(
        node.extended
            .iter()
            .map(|(name, value)| vec![Record::Extended { inode, name: name.to_vec(), value: value.to_vec() }]),
    );
    match &node.content {
        Content::Symlink(_) | Content::Special(_) => {}
        Content::Directory(names) => {
            let (mut entries, mut bytes) = (Vec::new(), 0);
            for (name, entry, kind) in names.iter() {
                bytes += 10 + name.len();
                entries.push((entry, kind, name.to_vec()));
                if bytes >= most_bytes - 512 {
                    groups.push(vec![Record::Entries { directory: inode, entries: std::mem::take(&mut entries) }]);
                    bytes = 0;
                }
            }
            groups.push(vec![Record::Entries { directory: inode, entries }]);
        }
        Content::File(extents) => {
            let mut stretches = Vec::new();
            for (offset, extent) in extents.iter() {
                match &extent.place {
                    Place::Disk(place) => stretches.push(Stretch { offset, length: extent.length, place: *place }),
                    Place::Inline(content) => {
                        for (number, part) in content.chunks(most_bytes).enumerate() {
                            let offset = offset + (number * most_bytes) as u64;
                            groups.push(vec![Record::Inline { inode, offset, content: part.to_vec() }]);
                        }
                    }
                }
                if stretches.len() * 24 >= most_bytes - 64 {
                    groups.push(vec![Record::Extents { inode, stretches: std::mem::take(&mut stretches) }]);
                }
            }
            if !stretches.is_empty() {
                groups.push(vec![Record::Extents { inode, stretches }]);
            }
        }
    }
    groups
}
