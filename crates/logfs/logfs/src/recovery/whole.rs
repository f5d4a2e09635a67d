//! Checks whether all frames of a part of the log are there and in their places, without applying
//! them.

use super::How;
use super::reader::Reader;
use crate::anchor::{FramePlace, Generation};
use crate::frame::{self, HEADER_BYTES};
use crate::{Disk, Error, Layout};

/// Reads the frames of a checkpoint.
pub(crate) async fn is_whole(disk: &Disk, layout: &Layout, generation: Generation, epoch: u64) -> Result<bool, Error> {
    is_whole_told(disk, layout, generation, epoch, |_| ()).await
}

/// As [`is_whole`]; also calls `told` with the bytes of each frame.
pub(crate) async fn is_whole_told(
    disk: &Disk,
    layout: &Layout,
    generation: Generation,
    epoch: u64,
    mut told: impl FnMut(u64),
) -> Result<bool, Error> {
    let mut reader = Reader::new(disk, layout, How::AcrossGaps);
    let (mut place, mut spare, mut least) = (generation.start, 0, 0);
    while place.sequence <= generation.end {
        let mut next = None;
        for place in [place, FramePlace { cluster: spare, offset: 0, ..place }] {
            let fits = u64::from(place.offset) + HEADER_BYTES as u64 <= u64::from(layout.cluster_bytes);
            if !layout.is_usable(place.cluster) || !fits {
                continue;
            }
            let bytes = reader.read(place.cluster).await?;
            let found = frame::parse(&bytes[place.offset as usize..], layout);
            let found = found.filter(|found| frame::belongs(&found.header, &place, least..=epoch));
            if let Some(found) = found {
                (spare, least) = (found.header.next_cluster, found.header.epoch);
                let offset = place.offset + found.disk_bytes(layout);
                told(u64::from(found.disk_bytes(layout)));
                let (sequence, previous) = (place.sequence + 1, found.checksum);
                next = Some(FramePlace { cluster: place.cluster, offset, sequence, previous });
                break;
            }
        }
        let Some(next) = next else { return Ok(false) };
        place = next;
    }
    Ok(true)
}
