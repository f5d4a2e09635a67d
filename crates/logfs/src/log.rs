//! The end of the metadata log: groups of records that wait to be written, and the frames they become.
//!
//! Every group has a ticket, counted up from 1 for as long as the file system is open. Tickets say what is written and what is durable; the
//! device is somebody else's business ([`crate::flusher`]).

use std::collections::VecDeque;

use iolab_block::Buffer;

use crate::Layout;
use crate::anchor::FramePlace;
use crate::clusters::{ClusterTable, Role};
use crate::frame::{HEADER_BYTES, Header, seal};
use crate::record::Record;

/// Frames are cut at this length, so that the first ones are on their way while others are made, and so that a device that does a transfer while
/// it is given it does not keep operations waiting for long.
const FRAME_BYTES: usize = 32 << 10;

/// Groups that matter to the checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Nothing,
    /// Begins a frame of its own, whose place is noted.
    Begin,
    /// The sequence of its frame is noted.
    End,
}

#[derive(Debug)]
struct Group {
    ticket: u64,
    length: usize,
    mark: Mark,
}

#[derive(Debug)]
pub(crate) struct Log {
    layout: Layout,
    queue: VecDeque<Group>,
    /// What the groups hold, one after the other, from `framed` on.
    bytes: Vec<u8>,
    framed: usize,
    /// Of the last group appended.
    pub(crate) last_ticket: u64,
    /// Everything up to here is durable.
    pub(crate) durable_ticket: u64,
    /// Everything up to here shall be made durable.
    pub(crate) wanted_ticket: u64,
    /// Where the next frame goes.
    next: FramePlace,
    /// Where the log goes on when its cluster is full.
    spare: u32,
    epoch: u64,
    /// Last frame known to be durable.
    pub(crate) flushed: u64,
    /// The clusters of the log, from the anchor's on.
    chain: VecDeque<u32>,
    /// Bytes of all changes appended, and of those before the last checkpoint began, and before the one that the anchor names.
    changed_bytes: u64,
    begun_at: u64,
    anchored_at: u64,
    /// Where the frame of the last [`Mark::Begin`] is.
    pub(crate) begun: Option<FramePlace>,
    /// Which frame holds the last [`Mark::End`].
    pub(crate) ended: Option<u64>,
}

/// Where a log that was read goes on.
#[derive(Debug)]
pub(crate) struct LogEnd {
    pub(crate) next: FramePlace,
    pub(crate) spare: u32,
    pub(crate) chain: VecDeque<u32>,
    /// Bytes of changes behind the checkpoint.
    pub(crate) tail_bytes: u64,
}

impl LogEnd {
    /// The clusters of the log, the one included that it goes on in.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = u32> {
        self.chain.iter().copied().chain([self.spare])
    }
}

/// A frame to be written.
#[derive(Debug)]
pub(crate) struct Composed {
    pub(crate) place: u64,
    pub(crate) buffer: Buffer,
}

/// There was no cluster for the log to go on in, though some are set aside for it.
#[derive(Debug)]
pub(crate) struct NoCluster;

impl Log {
    /// A log that goes on at `next`, all of whose frames are durable.
    pub(crate) fn resume(layout: &Layout, end: LogEnd, epoch: u64) -> Log {
        let LogEnd { next, spare, chain, tail_bytes } = end;
        Log {
            layout: *layout,
            queue: VecDeque::new(),
            bytes: Vec::new(),
            framed: 0,
            last_ticket: 0,
            durable_ticket: 0,
            wanted_ticket: 0,
            next,
            spare,
            epoch,
            flushed: next.sequence - 1,
            chain,
            changed_bytes: tail_bytes,
            begun_at: 0,
            anchored_at: 0,
            begun: None,
            ended: None,
        }
    }

    /// Appends a group; returns its ticket.
    pub(crate) fn append(&mut self, records: &[Record], mark: Mark) -> u64 {
        let before = self.bytes.len();
        records.iter().for_each(|record| record.encode(&mut self.bytes));
        let length = self.bytes.len() - before;
        self.changed_bytes += length as u64;
        self.close_group(length, mark)
    }

    /// Appends a group that is encoded already, of the checkpoint.
    pub(crate) fn append_encoded(&mut self, bytes: &[u8], mark: Mark) -> u64 {
        self.bytes.extend_from_slice(bytes);
        self.close_group(bytes.len(), mark)
    }

    /// The last so many bytes are a group.
    fn close_group(&mut self, length: usize, mark: Mark) -> u64 {
        let most = self.layout.cluster_bytes as usize / 2;
        assert!(length <= most, "a group of {length} bytes, {most} are promised");
        self.last_ticket += 1;
        self.queue.push_back(Group { ticket: self.last_ticket, length, mark });
        self.last_ticket
    }

    /// A checkpoint begins here.
    pub(crate) fn begin(&mut self, serial: u64) {
        self.begun_at = self.changed_bytes;
        let mut bytes = Vec::new();
        Record::CheckpointBegin { serial }.encode(&mut bytes);
        self.append_encoded(&bytes, Mark::Begin);
    }

    /// An anchor names what began last.
    pub(crate) fn anchored(&mut self) {
        self.anchored_at = self.begun_at;
    }

    /// Bytes of changes since the checkpoint that the anchor names: what opening has to apply one by one.
    pub(crate) fn tail_bytes(&self) -> u64 {
        self.changed_bytes - self.anchored_at
    }

    /// Bytes that wait to be written.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.bytes.len() - self.framed
    }

    /// Clusters of the log, with the one that it goes on in.
    pub(crate) fn clusters(&self) -> u32 {
        self.chain.len() as u32 + 1
    }

    /// Whether a sync waits for what is not durable yet.
    pub(crate) fn wants_sync(&self) -> bool {
        self.wanted_ticket > self.durable_ticket
    }

    /// Where the next frame will go, and the last one's sequence.
    pub(crate) fn last_sequence(&self) -> u64 {
        self.next.sequence - 1
    }

    /// Makes the next frame of groups up to ticket `until`.
    pub(crate) fn compose(&mut self, until: u64, clusters: &mut ClusterTable) -> Result<Option<Composed>, NoCluster> {
        let Some(first) = self.queue.front().filter(|group| group.ticket <= until) else { return Ok(None) };
        let (first_bytes, begins) = (first.length, first.mark == Mark::Begin);
        if self.layout.blocks((HEADER_BYTES + first_bytes) as u64) > self.room() {
            let spare = clusters.allocate(Role::Log).ok_or(NoCluster)?;
            self.next.cluster = std::mem::replace(&mut self.spare, spare);
            self.next.offset = 0;
            self.chain.push_back(self.next.cluster);
        }
        if begins {
            self.begun = Some(self.next);
        }
        let payload_bytes = self.fitting(until);
        let mut buffer = Buffer::zeroed(self.layout.blocks((HEADER_BYTES + payload_bytes) as u64) as usize);
        let payload = &self.bytes[self.framed..self.framed + payload_bytes];
        buffer[HEADER_BYTES..HEADER_BYTES + payload_bytes].copy_from_slice(payload);
        self.forget(payload_bytes);
        Ok(Some(self.close_frame(buffer, payload_bytes)))
    }

    /// So many bytes are in a frame. What is left moves to the front when it is less than what is gone.
    fn forget(&mut self, bytes: usize) {
        self.framed += bytes;
        if self.framed >= self.bytes.len() - self.framed {
            self.bytes.drain(..self.framed);
            self.framed = 0;
        }
    }

    fn room(&self) -> u64 {
        u64::from(self.layout.cluster_bytes - self.next.offset)
    }

    /// Takes the groups of one frame off the queue, the first in any case, others as they fit; how many bytes they are.
    fn fitting(&mut self, until: u64) -> usize {
        let most = (self.room() as usize).min(FRAME_BYTES);
        let (mut count, mut bytes) = (0, 0);
        for group in self.queue.iter().take_while(|group| group.ticket <= until) {
            let fits = HEADER_BYTES + bytes + group.length <= most && group.mark != Mark::Begin;
            if count > 0 && !fits {
                break;
            }
            (count, bytes) = (count + 1, bytes + group.length);
        }
        for group in self.queue.drain(..count) {
            if group.mark == Mark::End {
                self.ended = Some(self.next.sequence);
            }
        }
        bytes
    }

    fn close_frame(&mut self, mut buffer: Buffer, payload_bytes: usize) -> Composed {
        let header = Header {
            sequence: self.next.sequence,
            epoch: self.epoch,
            flushed: self.flushed,
            previous: self.next.previous,
            next_cluster: self.spare,
        };
        let checksum = seal(&mut buffer, payload_bytes, &header, &self.layout);
        let place = self.layout.start_of(self.next.cluster) + u64::from(self.next.offset);
        self.next = FramePlace {
            cluster: self.next.cluster,
            offset: self.next.offset + buffer.len() as u32,
            sequence: self.next.sequence + 1,
            previous: checksum,
        };
        Composed { place, buffer }
    }

    /// The clusters before `cluster`, which no anchor leads to any more.
    pub(crate) fn cut_before(&mut self, cluster: u32) -> Vec<u32> {
        let kept = self.chain.iter().position(|number| *number == cluster).unwrap_or(0);
        self.chain.drain(..kept).collect()
    }
}
