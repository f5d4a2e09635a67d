//! Writes a new log for a domain: two checkpoints with the same content, and nothing else.

use iolab_disk::DeviceError;

use super::GROUP_BYTES;
use super::describing::Cursor;
use crate::anchor::{Anchor, FramePlace, Generation};
use crate::clusters::ClusterTable;
use crate::log::{Log, LogEnd, Mark};
use crate::record::InodeId;
use crate::recovery::is_whole;
use crate::sums::{SumCursor, Sums};
use crate::tree::Tree;
use crate::{Disk, Error, Layout};

/// Bytes encoded before they are written.
const AT_ONCE_BYTES: usize = 1 << 20;

/// The clusters, already allocated, that a new log begins with, and its epoch.
pub(crate) struct FreshPlace {
    pub(crate) first: u32,
    pub(crate) spare: u32,
    pub(crate) epoch: u64,
}

/// Writes a checkpoint to free clusters, reads it back, and returns the anchor that leads to it,
/// marked as closed. The next flush makes it durable.
pub(crate) async fn write(
    disk: &Disk,
    layout: &Layout,
    tree: &Tree,
    sums: &Sums,
    clusters: &mut ClusterTable,
    place: FreshPlace,
) -> Result<Anchor, Error> {
    let FreshPlace { first: cluster, spare, epoch } = place;
    let next = FramePlace { cluster, offset: 0, sequence: 1, previous: 0 };
    let mut log = Log::resume(
        layout,
        LogEnd { next, spare, chain: [cluster].into(), kept: Vec::new(), changes: 1, tail_bytes: 0 },
        epoch,
    );
    let older = describe(disk, layout, tree, sums, &mut log, clusters).await?;
    let newest = describe(disk, layout, tree, sums, &mut log, clusters).await?;
    let both = Generation { start: older.start, end: newest.end };
    if !is_whole(disk, layout, both, epoch).await? {
        return Err(Error::Device(DeviceError::Failed(5)));
    }
    let (flushed, serial) = (log.last_sequence(), tree.serial);
    Ok(Anchor { number: 1, epoch, newest, before: Some(older), flushed, closed: true, serial, changes: 1 })
}

/// Writes one checkpoint.
async fn describe(
    disk: &Disk,
    layout: &Layout,
    tree: &Tree,
    sums: &Sums,
    log: &mut Log,
    clusters: &mut ClusterTable,
) -> Result<Generation, Error> {
    log.begin(tree.serial);
    let most_bytes = (layout.cluster_bytes as usize / 8).min(GROUP_BYTES);
    let (mut cursor, mut sum_cursor) = (Cursor::new(), SumCursor::default());
    loop {
        let mut group = cursor.describe(tree, InodeId(u64::MAX), most_bytes);
        if group.is_empty() {
            group = sums.describe(&mut sum_cursor, most_bytes);
        }
        if group.is_empty() {
            break;
        }
        log.append_encoded(&group, Mark::Nothing);
        if log.queued_bytes() >= AT_ONCE_BYTES {
            send(disk, log, clusters).await?;
        }
    }
    // Only now is it known in which cluster the checkpoint begins.
    send(disk, log, clusters).await?;
    super::append_end(log, cursor.inodes, most_bytes);
    send(disk, log, clusters).await?;
    let (Some(start), Some(end)) = (log.begun, log.ended) else {
        return Err(Error::Corrupt("a checkpoint that was never written".to_owned()));
    };
    Ok(Generation { start, end })
}

/// Writes the queued groups.
async fn send(disk: &Disk, log: &mut Log, clusters: &mut ClusterTable) -> Result<(), Error> {
    while let Some(frame) = log.compose(clusters).map_err(|_| Error::NoSpace)? {
        disk.write(frame.place, frame.buffer).await?;
    }
    Ok(())
}
