//! The end of the metadata log: queued groups of records, and the frames made from them.
//!
//! Every group has a ticket, counted from 1 for as long as the file system is open. Tickets say
//! what is written and what is durable; [`crate::flusher`] does the device I/O.

use std::collections::VecDeque;

use iolab_disk::Buffer;

use crate::Layout;
use crate::anchor::FramePlace;
use crate::clusters::{ClusterTable, Role};
use crate::frame::{HEADER_BYTES, Header, seal};
use crate::record::Record;

/// Frames are cut at this length. The first ones are then on their way while others are made, and a
/// device that does a transfer during submission does not hold up operations for long.
pub(crate) const FRAME_BYTES: usize = 32 << 10;

/// Marks groups that matter to the checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Nothing,
    /// Starts a frame of its own, whose place is noted.
    Begin,
    /// The sequence of its frame is noted.
    End,
}

#[derive(Debug)]
struct Group {
    ticket: u64,
    length: usize,
    /// Records that are changes.
    changes: u32,
    mark: Mark,
}

#[derive(Debug)]
pub(crate) struct Log {
    layout: Layout,
    queue: VecDeque<Group>,
    /// The bytes of the groups from `framed` on.
    bytes: Vec<u8>,
    framed: usize,
    /// How many of the queued bytes are changes; the others are a checkpoint's.
    queued_change_bytes: usize,
    /// Ticket of the last group appended.
    pub(crate) last_ticket: u64,
    /// Groups up to this ticket are durable.
    pub(crate) durable_ticket: u64,
    /// Groups up to this ticket are to be made durable.
    pub(crate) wanted_ticket: u64,
    /// Groups up to this ticket are to be put into frames.
    pub(crate) framed_wanted: u64,
    /// What has been written.
    pub(crate) written: Written,
    /// Where the next frame goes.
    next: FramePlace,
    /// The cluster where the log continues when its current one is full.
    spare: u32,
    epoch: u64,
    /// Last frame known to be durable.
    pub(crate) flushed: u64,
    /// Changes up to the frame `flushed`.
    pub(crate) flushed_changes: u32,
    /// The clusters of the log, from the newest checkpoint on.
    chain: VecDeque<u32>,
    /// The clusters before `chain`, from the previous checkpoint on.
    kept: Vec<u32>,
    /// Changes in all frames so far.
    changes: u32,
    /// Bytes of all changes appended; of those before the last checkpoint began; of those before
    /// the checkpoint that the anchor names.
    changed_bytes: u64,
    begun_at: u64,
    anchored_at: u64,
    kept_change_bytes: u64,
    /// Place of the frame of the last [`Mark::Begin`].
    pub(crate) begun: Option<FramePlace>,
    /// Sequence of the frame that holds the last [`Mark::End`].
    pub(crate) ended: Option<u64>,
}

/// How much of the log has been written: durable with the next flush.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Written {
    ticket: u64,
    sequence: u64,
    changes: u32,
}

/// Where a log that was read continues.
#[derive(Debug)]
pub(crate) struct LogEnd {
    pub(crate) next: FramePlace,
    pub(crate) spare: u32,
    pub(crate) chain: VecDeque<u32>,
    /// Clusters of the older part of the log, which the previous checkpoint needs.
    pub(crate) kept: Vec<u32>,
    /// Changes in all frames.
    pub(crate) changes: u32,
    /// Bytes of changes after the checkpoint.
    pub(crate) tail_bytes: u64,
}

impl LogEnd {
    /// The clusters of the log, including the one where it continues.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = u32> {
        self.chain.iter().copied().chain([self.spare])
    }
}

/// A frame to be written.
#[derive(Debug)]
pub(crate) struct Composed {
    pub(crate) place: u64,
    pub(crate) buffer: Buffer,
    /// What has been written when this frame and all before it have been.
    pub(crate) written: Written,
}

/// There was no free cluster for the log, although some are reserved for it.
#[derive(Debug)]
pub(crate) struct NoCluster;

impl Log {
    /// A log that continues at `next`; all its frames are durable.
    pub(crate) fn resume(layout: &Layout, end: LogEnd, epoch: u64) -> Log {
        let LogEnd { next, spare, chain, kept, changes, tail_bytes } = end;
        Log {
            layout: *layout,
            queue: VecDeque::new(),
            bytes: Vec::new(),
            framed: 0,
            queued_change_bytes: 0,
            last_ticket: 0,
            durable_ticket: 0,
            wanted_ticket: 0,
            framed_wanted: 0,
            written: Written::default(),
            next,
            spare,
            epoch,
            flushed: next.sequence - 1,
            flushed_changes: changes.max(1),
            chain,
            kept,
            changes: changes.max(1),
            changed_bytes: tail_bytes,
            begun_at: 0,
            anchored_at: 0,
            // Unknown after opening: assume that the kept part was long enough to be worth a
            // checkpoint.
            kept_change_bytes: u64::MAX / 2,
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
        self.queued_change_bytes += length;
        self.close_group(length, records.len() as u32, mark)
    }

    /// Appends an encoded group of the checkpoint.
    pub(crate) fn append_encoded(&mut self, bytes: &[u8], mark: Mark) -> u64 {
        self.bytes.extend_from_slice(bytes);
        self.close_group(bytes.len(), 0, mark)
    }

    /// The last `length` bytes queued become a group.
    fn close_group(&mut self, length: usize, changes: u32, mark: Mark) -> u64 {
        let most = self.layout.cluster_bytes as usize / 2;
        assert!(length <= most, "a group of {length} bytes, {most} are promised");
        self.last_ticket += 1;
        self.queue.push_back(Group { ticket: self.last_ticket, length, changes, mark });
        self.last_ticket
    }

    /// Begins a checkpoint; returns the ticket of its first group.
    pub(crate) fn begin(&mut self, serial: u64) -> u64 {
        self.begun_at = self.changed_bytes;
        let mut bytes = Vec::new();
        Record::CheckpointBegin { serial }.encode(&mut bytes);
        self.append_encoded(&bytes, Mark::Begin)
    }

    /// The clusters between the checkpoint that the anchor names and the one that began last, if
    /// that is in a frame.
    pub(crate) fn before_begun(&self) -> Vec<u32> {
        let begun = self.begun.map_or(0, |begun| begun.cluster);
        self.chain.iter().copied().take_while(|cluster| *cluster != begun).collect()
    }

    /// An anchor now names the checkpoint that began last.
    pub(crate) fn anchored(&mut self) {
        self.kept_change_bytes = self.begun_at - self.anchored_at;
        self.anchored_at = self.begun_at;
    }

    /// Bytes of changes since the checkpoint that the anchor names: opening has to apply these one
    /// by one.
    pub(crate) fn tail_bytes(&self) -> u64 {
        self.changed_bytes - self.anchored_at
    }

    /// Length of the group appended last, or 0 if it is in a frame.
    pub(crate) fn last_group_bytes(&self) -> usize {
        self.queue.back().map_or(0, |group| group.length)
    }

    /// Bytes queued for writing.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.bytes.len() - self.framed
    }

    /// Bytes of changes queued for writing.
    pub(crate) fn queued_change_bytes(&self) -> usize {
        self.queued_change_bytes
    }

    /// Number of clusters of the log, including the one where it continues.
    pub(crate) fn clusters(&self) -> u32 {
        self.chain.len() as u32 + 1
    }

    /// Lower bound of the bytes of changes between the previous checkpoint and the newest.
    pub(crate) fn kept_change_bytes(&self) -> u64 {
        self.kept_change_bytes
    }

    /// Number of clusters kept for the previous checkpoint.
    pub(crate) fn kept_clusters(&self) -> u32 {
        self.kept.len() as u32
    }

    /// Whether a sync waits for something that is not durable yet.
    pub(crate) fn wants_sync(&self) -> bool {
        self.wanted_ticket > self.durable_ticket
    }

    /// The sequence of the last frame made.
    pub(crate) fn last_sequence(&self) -> u64 {
        self.next.sequence - 1
    }

    /// Whether a sync waits only for the device to be flushed.
    pub(crate) fn waits_for_flush(&self) -> bool {
        self.wants_sync() && self.written.ticket >= self.wanted_ticket
    }

    /// What had been submitted at that time is durable.
    pub(crate) fn now_durable(&mut self, written: Written) {
        self.durable_ticket = written.ticket;
        (self.flushed, self.flushed_changes) = (written.sequence, written.changes);
    }

    /// Whether a group is in a frame.
    pub(crate) fn is_framed(&self, ticket: u64) -> bool {
        self.queue.front().is_none_or(|group| group.ticket > ticket)
    }

    /// Bytes of changes since the last checkpoint began.
    pub(crate) fn changes_since_begun(&self) -> u64 {
        self.changed_bytes - self.begun_at
    }

    /// Makes the next frame; nothing when no group is queued.
    pub(crate) fn compose(&mut self, clusters: &mut ClusterTable) -> Result<Option<Composed>, NoCluster> {
        let Some(first) = self.queue.front() else { return Ok(None) };
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
        let (ticket, payload_bytes, changes) = self.fitting();
        let mut buffer = Buffer::zeroed(self.layout.blocks((HEADER_BYTES + payload_bytes) as u64) as usize);
        let payload = &self.bytes[self.framed..self.framed + payload_bytes];
        buffer[HEADER_BYTES..HEADER_BYTES + payload_bytes].copy_from_slice(payload);
        self.forget(payload_bytes);
        let (place, buffer) = self.close_frame(buffer, payload_bytes, changes);
        let written = Written { ticket, sequence: self.last_sequence(), changes: self.changes };
        Ok(Some(Composed { place, buffer, written }))
    }

    /// Drops bytes that are in a frame. The rest moves to the front when it is smaller than the
    /// dropped part.
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

    /// Takes the groups of one frame off the queue: the first in any case, others as they fit.
    /// Returns the ticket of the last one, and their bytes and changes.
    fn fitting(&mut self) -> (u64, usize, u32) {
        let most = (self.room() as usize).min(FRAME_BYTES);
        let (mut count, mut bytes) = (0, 0);
        for group in &self.queue {
            let fits = HEADER_BYTES + bytes + group.length <= most && group.mark != Mark::Begin;
            if count > 0 && !fits {
                break;
            }
            (count, bytes) = (count + 1, bytes + group.length);
        }
        let (mut ticket, mut changes) = (0, 0_u32);
        for group in self.queue.drain(..count) {
            ticket = group.ticket;
            self.queued_change_bytes -= if group.changes > 0 { group.length } else { 0 };
            changes = changes.wrapping_add(group.changes);
            if group.mark == Mark::End {
                self.ended = Some(self.next.sequence);
            }
        }
        (ticket, bytes, changes)
    }

    fn close_frame(&mut self, mut buffer: Buffer, payload_bytes: usize, changes: u32) -> (u64, Buffer) {
        let header = Header {
            sequence: self.next.sequence,
            epoch: self.epoch,
            flushed: self.flushed,
            previous: self.next.previous,
            next_cluster: self.spare,
            changes: self.changes,
        };
        self.changes = count_on(self.changes, changes);
        let checksum = seal(&mut buffer, payload_bytes, &header, &self.layout);
        let place = self.layout.start_of(self.next.cluster) + u64::from(self.next.offset);
        self.next = FramePlace {
            cluster: self.next.cluster,
            offset: self.next.offset + buffer.len() as u32,
            sequence: self.next.sequence + 1,
            previous: checksum,
        };
        (place, buffer)
    }

    /// An anchor names the checkpoint that begins in `cluster`: keeps what lies between the
    /// previous one and it, and returns what was kept until now.
    pub(crate) fn advance(&mut self, cluster: u32) -> Vec<u32> {
        let older = self.chain.iter().position(|number| *number == cluster).unwrap_or(0);
        let kept = self.chain.drain(..older).collect();
        std::mem::replace(&mut self.kept, kept)
    }
}

/// Adds to a number of changes. The result is never 0, which stands for an unknown number.
pub(crate) fn count_on(changes: u32, more: u32) -> u32 {
    changes.wrapping_add(more).max(1)
}
