//! Finds the beginning of the log of a domain that no anchor leads to any more: searches every
//! cluster that the domain owns for frames of its log, and starts reading at the newest whole
//! checkpoint.
//!
//! For repairs only. Anyone who can write files and knows the file system's id can make blocks that
//! look like frames; only an anchor distinguishes the log from them.

use iolab_order::Arrange;

use super::How;
use super::reader::Reader;
use super::whole::is_whole;
use crate::anchor::{Anchor, FramePlace, Generation};
use crate::bytes::Take;
use crate::domains::Owners;
use crate::frame::{Frame, Header, Search};
use crate::record::{Record, split_head};
use crate::{Disk, Error, Layout};

/// Most checkpoints tried, the newest first.
const MOST_TRIES: usize = 16;
/// The code of the record that begins a checkpoint, the first in its frame.
const CHECKPOINT_BEGIN: u8 = 0x01;

/// Position of a frame in the order of all frames: epoch and sequence. A new log begins with an
/// epoch above all others, and sequences from 1 on.
type Order = (u64, u64);

/// The frames found.
#[derive(Debug, Default)]
struct Frames {
    begins: Vec<(Order, FramePlace)>,
    ends: Vec<Order>,
    /// Of every frame, its position and the last frame it knew to be flushed.
    flushed: Vec<(Order, u64)>,
}

impl Frames {
    fn add(&mut self, cluster: u32, offset: u32, frame: &Frame<'_>) {
        let Header { sequence, epoch, flushed, previous, .. } = frame.header;
        let order = (epoch, sequence);
        self.flushed.push((order, flushed));
        let mut take = Take(frame.payload);
        let codes: Vec<u8> = std::iter::from_fn(|| split_head(&mut take).map(|(code, _)| code)).collect();
        if codes.first() == Some(&CHECKPOINT_BEGIN) {
            self.begins.push((order, FramePlace { cluster, offset, sequence, previous }));
        }
        if codes.contains(&Record::CHECKPOINT_END) {
            self.ends.push(order);
        }
    }

    /// The checkpoints whose beginnings and ends were found, the newest first. A checkpoint that
    /// began and did not end is followed by another beginning.
    fn checkpoints(&self) -> impl Iterator<Item = (Order, Generation)> {
        let mut ends = self.ends.clone();
        ends.arrange_by(|one, other| other.cmp(one));
        ends.dedup();
        ends.into_iter().filter_map(|end| {
            let before = self.begins.iter().filter(|((epoch, sequence), _)| *epoch <= end.0 && *sequence <= end.1);
            let (order, start) = before.max_by_key(|(order, _)| *order)?;
            Some((*order, Generation { start: *start, end: end.1 }))
        })
    }
}

/// An anchor that leads to the newest whole checkpoint; `None` when there is none.
pub(super) async fn anchor(disk: &Disk, layout: &Layout, owners: &Owners) -> Result<Option<Anchor>, Error> {
    let mut reader = Reader::new(disk, layout, How::AcrossGaps);
    let mut frames = Frames::default();
    for cluster in owners.of(layout.domain) {
        let bytes = reader.read(cluster).await?;
        Search::new(&bytes, 0, layout).for_each(|(offset, frame)| frames.add(cluster, offset, &frame));
    }
    let epoch = frames.flushed.iter().map(|((epoch, _), _)| *epoch).max().unwrap_or(0);
    for (begin, newest) in frames.checkpoints().take(MOST_TRIES) {
        if !is_whole(disk, layout, newest, epoch).await? {
            continue;
        }
        let since = frames.flushed.iter().filter(|((epoch, sequence), _)| *epoch >= begin.0 && *sequence >= begin.1);
        let flushed = since.map(|(_, flushed)| *flushed).max().unwrap_or(0).max(newest.end);
        // The log itself gives the rest: the numbers assigned, and the number of changes.
        return Ok(Some(Anchor {
            number: 1,
            epoch,
            newest,
            before: None,
            flushed,
            closed: false,
            serial: 0,
            changes: 0,
        }));
    }
    Ok(None)
}
