//! The log of a domain that begins anew: a checkpoint and nothing else.

use super::GROUP_BYTES;
use super::describing::Cursor;
use crate::anchor::{Anchor, FramePlace, Generation};
use crate::clusters::ClusterTable;
use crate::log::{Log, LogEnd, Mark};
use crate::record::{InodeId, Record};
use crate::sums::{SumCursor, Sums};
use crate::tree::Tree;
use crate::{Disk, Error, Layout};

/// So much is encoded before it is written.
const AT_ONCE_BYTES: usize = 1 << 20;

/// Writes it to the clusters given, the first two of which are taken already, and answers the anchor that leads to it, closed clean. What is written
/// is durable with the next flush.
pub(crate) async fn write(
    disk: &Disk,
    layout: &Layout,
    (tree, sums): (&Tree, &Sums),
    (clusters, [cluster, spare], epoch): (&mut ClusterTable, [u32; 2], u64),
) -> Result<Anchor, Error> {
    let next = FramePlace { cluster, offset: 0, sequence: 1, previous: 0 };
    let mut log = Log::resume(
        layout,
        LogEnd { next, spare, chain: [cluster].into(), kept: Vec::new(), changes: 1, tail_bytes: 0 },
        epoch,
    );
    log.begin(tree.serial);
    let most_bytes = (layout.cluster_bytes as usize / 8).min(GROUP_BYTES);
    let (mut cursor, mut sum_cursor) = (Cursor::new(), SumCursor::default());
    loop {
        let mut group = cursor.describe(tree, InodeId(u64::MAX), most_bytes);
        if group.is_empty() {
            group = sums.describe(&mut sum_cursor, most_bytes);
        }
        let is_last = group.is_empty();
        if is_last {
            let mut end = Vec::new();
            Record::CheckpointEnd { inodes: cursor.inodes }.encode(&mut end);
            log.append_encoded(&end, Mark::End);
        } else {
            log.append_encoded(&group, Mark::Nothing);
        }
        if is_last || log.queued_bytes() >= AT_ONCE_BYTES {
            while let Some(frame) = log.compose(u64::MAX, clusters).map_err(|_| Error::NoSpace)? {
                disk.write(frame.place, frame.buffer).await?;
            }
        }
        if is_last {
            break;
        }
    }
    let (Some(start), Some(end)) = (log.begun, log.ended) else {
        return Err(Error::Corrupt("a checkpoint that was never written".to_owned()));
    };
    let flushed = log.last_sequence();
    let newest = Generation { start, end };
    Ok(Anchor { number: 1, epoch, newest, before: None, flushed, closed: true, serial: tree.serial, changes: 1 })
}
