//! The state of one open file system, shared by its operations and its background tasks.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::Poll;

use iolab_clock::Clock;
use iolab_disk::DeviceError;
use iolab_executor::Notify;

use crate::activity::Activity;
use crate::allocation::Heads;
use crate::anchor::Anchor;
use crate::clusters::ClusterTable;
use crate::locks::Locks;
use crate::log::FRAME_BYTES;
use crate::log::{Log, Mark};
use crate::open_options::{CleaningSettings, OpenOptions};
use crate::pace::Pace;
use crate::record::{InodeId, Record};
use crate::tree::{Delta, Tree};
use crate::turns::Turns;
use crate::{Disk, Error, Layout};

/// The log is made durable when there are more doomed clusters than one for this number of free
/// ones.
const DOOMED_SHARE: u32 = 4;
/// With the header and one more record, this fills a frame of 8 KiB: about 150 records.
const EAGER_BYTES: usize = (8 << 10) - 128;
/// Long groups, such as writes of a block each, are written when this many are queued: a frame ends
/// with a partly filled block, which would otherwise be a third of it.
const EAGER_GROUPS: usize = 7;

/// The phase of an instance's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Running,
    /// No new operations; all tasks end except the one that writes the log.
    Closing,
    /// No more changes; the task that writes the log ends too.
    Closed,
}

#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) disk: Disk,
    pub(crate) clock: Clock,
    pub(crate) layout: Layout,
    pub(crate) options: OpenOptions,
    pub(crate) cleaning: CleaningSettings,
    /// Most bytes of small writes kept in memory.
    pub(crate) inline_limit: u64,
    pub(crate) verifies_reads: bool,
    pub(crate) locks: Locks,
    /// Turns of operations that wait for the log.
    pub(crate) turns: Turns,
    pub(crate) state: RefCell<State>,
    /// A background task may have work.
    pub(crate) work: Notify,
    /// Something that a task may wait for has happened: durability, space, an end.
    pub(crate) progress: Notify,
}

/// Fewer bytes of changes than this are read so quickly that a checkpoint is not worth while.
const WORTH_BYTES: u64 = 256 << 10;
/// Content in memory is moved to the disk when it exceeds this part of its limit, in sixteenths.
pub(crate) const DEMOTION_SIXTEENTHS: u64 = 14;
/// The same before a checkpoint, which would contain all of it: what is moved first is written once
/// instead of twice.
const BEFORE_CHECKPOINT_SIXTEENTHS: u64 = 2;
/// Clusters collected before they are discarded, unless an operation waits for space.
const DISCARDS_GATHERED: u32 = 16;

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) tree: Tree,
    pub(crate) clusters: ClusterTable,
    pub(crate) log: Log,
    pub(crate) heads: Heads,
    pub(crate) anchor: Anchor,
    /// Reused buffer for what a change does to clusters; empty between changes.
    pub(crate) deltas: Vec<Delta>,
    pub(crate) failed: Option<DeviceError>,
    pub(crate) phase: Phase,
    /// Background tasks that have not ended.
    pub(crate) tasks: u32,
    pub(crate) checkpoint_wanted: bool,
    /// Whether a checkpoint is being written.
    pub(crate) checkpointing: bool,
    /// Progress of that checkpoint.
    pub(crate) checkpoint_pace: Pace,
    /// The log has been written as far as an operation wants it durable; the device must be
    /// flushed.
    pub(crate) flush_wanted: bool,
    /// The device is being flushed.
    pub(crate) flushing: bool,
    /// When the last checkpoint began, or the time of opening.
    pub(crate) checkpoint_at_ns: u64,
    pub(crate) cleaning_wanted: bool,
    /// An operation waits for space that only cleaning can free.
    pub(crate) space_wanted: bool,
    /// An operation waits for clusters that have to be discarded first.
    pub(crate) discards_wanted: bool,
    /// Files with small content in memory, the longest waiting first, each with the ticket of its
    /// last change when it was queued.
    pub(crate) inline_queue: VecDeque<(u64, InodeId)>,
    /// Files that reads found scattered.
    pub(crate) scattered: VecDeque<InodeId>,
    /// Bytes that automatic defragmentation may move.
    pub(crate) defragment_credit: u64,
    /// The last ticket at the time when there was no room to move small content to.
    pub(crate) no_room_at: Option<u64>,
    /// The last ticket at the time when cleaning found nothing to gain.
    pub(crate) fruitless_at: Option<u64>,
    pub(crate) activity: Activity,
}

impl State {
    /// Whether so much has changed since the last checkpoint that reading the changes would take a
    /// good part of the time to open.
    pub(crate) fn is_checkpoint_worth_while(&self) -> bool {
        self.log.tail_bytes() > self.tree.cost_bytes() / 4 + WORTH_BYTES
    }

    /// The part of its limit that content in memory may have now, in sixteenths.
    pub(crate) fn inline_sixteenths(&self, layout: &Layout) -> u64 {
        let is_near = self.log.clusters() * 4 >= self.checkpoint_at(layout) * 3;
        if is_near { BEFORE_CHECKPOINT_SIXTEENTHS } else { DEMOTION_SIXTEENTHS }
    }

    /// Whether free clusters have to be discarded now.
    pub(crate) fn is_discard_wanted(&self) -> bool {
        let waiting = self.clusters.undiscarded_count();
        waiting >= DISCARDS_GATHERED || (waiting > 0 && self.discards_wanted)
    }

    /// Whether changes are possible at all.
    pub(crate) fn usable(&self) -> Result<(), Error> {
        match (self.failed, self.phase) {
            (Some(error), _) => Err(Error::Failed(error)),
            (None, Phase::Running) => Ok(()),
            (None, _) => Err(Error::Closed),
        }
    }
}

impl Instance {
    pub(crate) fn now(&self) -> u64 {
        self.clock.unix_ns()
    }

    /// One change: appended to the log and applied atomically. Its preconditions were checked since
    /// the last await.
    pub(crate) fn commit(&self, records: &[Record]) -> Result<u64, Error> {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        if let Some(error) = state.failed {
            return Err(Error::Failed(error));
        }
        if state.phase == Phase::Closed {
            return Err(Error::Closed);
        }
        let ticket = state.log.append(records, Mark::Nothing);
        let mut deltas = std::mem::take(&mut state.deltas);
        for record in records {
            state.clusters.sums.follow(record);
            if let Err(contradiction) = state.tree.apply(record, &mut deltas) {
                // The state in memory contradicts a change that was checked: what was read from the
                // disk had a fault that opening does not detect. Nothing more may be written from
                // this state.
                state.failed = Some(DeviceError::Failed(117));
                self.progress.notify();
                return Err(Error::Corrupt(contradiction.0));
            }
            let is_attributes = record.is_attributes();
            for inode in record.touches().into_iter().flatten() {
                if let Some(node) = state.tree.get_mut(inode) {
                    node.changed_at = ticket;
                    node.content_at = if is_attributes { node.content_at } else { ticket };
                    if node.inline_bytes() > 0 && !std::mem::replace(&mut node.in_queue, true) {
                        state.inline_queue.push_back((ticket, inode));
                    }
                }
            }
        }
        state.clusters.apply(&deltas, ticket);
        deltas.clear();
        state.deltas = deltas;
        self.consider(state);
        Ok(ticket)
    }

    /// Wakes background tasks that have something to do now.
    pub(crate) fn consider(&self, state: &mut State) {
        if !state.checkpointing && !state.checkpoint_wanted {
            let is_due =
                || self.clock.now_ns().saturating_sub(state.checkpoint_at_ns) >= self.options.checkpoint_interval_ns;
            let is_long = state.log.clusters() >= state.checkpoint_at(&self.layout);
            state.checkpoint_wanted = is_long || (state.is_checkpoint_worth_while() && is_due());
        }
        self.free_doomed(state);
        // Choosing clusters to clean scans all of them: do not do so for every change.
        let rested = state.fruitless_at.is_none_or(|ticket| state.log.last_ticket > ticket + 64);
        if rested && self.is_cleaning_due(state) {
            state.cleaning_wanted = true;
        }
        if state.clusters.doomed_count() * DOOMED_SHARE > state.clusters.free_count() {
            // They are free once the log is durable: start before an operation has to wait for
            // that.
            state.log.wanted_ticket = state.log.last_ticket;
            self.work.notify();
        }
        let eager = state.log.queued_bytes() >= self.eager_bytes(state);
        // The lower level is compared first: it is exceeded rarely, and the other is computed.
        let is_demotion_wanted = || {
            let has_more_than = |level: u64| state.tree.inline_bytes() > self.inline_limit / 16 * level;
            has_more_than(BEFORE_CHECKPOINT_SIXTEENTHS) && has_more_than(state.inline_sixteenths(&self.layout))
        };
        let crowded = state.is_discard_wanted() || is_demotion_wanted();
        if eager || crowded || state.checkpoint_wanted || state.cleaning_wanted || !state.tree.graveyard.is_empty() {
            self.work.notify();
        }
    }

    /// Frees clusters that were doomed by changes that are now durable.
    pub(crate) fn free_doomed(&self, state: &mut State) {
        let freed = state.clusters.durable(state.log.durable_ticket);
        state.activity.freed_clusters += u64::from(freed);
    }

    /// The log is written without a request when this many bytes are queued. The number is small
    /// because operations wait behind the write on devices that do a transfer during submission.
    pub(crate) fn eager_bytes(&self, state: &State) -> usize {
        let groups = state.log.last_group_bytes() * EAGER_GROUPS;
        groups.clamp(EAGER_BYTES, FRAME_BYTES).min(self.layout.cluster_bytes as usize / 4)
    }

    /// Operations that queue many bytes wait for the log from this amount on.
    pub(crate) fn bulk_bytes(&self) -> usize {
        (self.layout.cluster_bytes as usize / 4).min(128 << 10)
    }

    /// Compares blocks that were read from `place` on with their checksums.
    ///
    /// # Errors
    /// [`Error::Content`] when a block does not match; the error is counted.
    pub(crate) fn verify(&self, place: u64, bytes: &[u8]) -> Result<(), Error> {
        let mismatch = self.state.borrow().clusters.sums.mismatch(place, bytes);
        let Some(place) = mismatch else { return Ok(()) };
        self.state.borrow_mut().activity.content_errors += 1;
        Err(Error::Content { place })
    }

    /// Waits until everything up to `ticket` is durable.
    pub(crate) async fn sync_to(&self, ticket: u64) -> Result<(), Error> {
        loop {
            let wait = {
                let mut state = self.state.borrow_mut();
                if let Some(error) = state.failed {
                    return Err(Error::Failed(error));
                }
                if state.log.durable_ticket >= ticket {
                    return Ok(());
                }
                if state.phase == Phase::Closed {
                    return Err(Error::Closed);
                }
                state.log.wanted_ticket = state.log.wanted_ticket.max(ticket);
                self.work.notify();
                self.progress.pass()
            };
            wait.await;
        }
    }

    /// Notes that the log cannot be written any more.
    pub(crate) fn fail(&self, error: DeviceError) {
        let mut state = self.state.borrow_mut();
        state.failed.get_or_insert(error);
        drop(state);
        self.work.notify();
        self.progress.notify();
    }

    /// Waits for work of a background task that ends in the phase `last`; returns `None` when the
    /// task should end.
    pub(crate) async fn wait_for_work<T>(
        &self,
        last: Phase,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        let turn = self.work.until(|_| {
            let mut state = self.state.borrow_mut();
            if state.failed.is_some() {
                return Some(None);
            }
            let work = look(&mut state);
            match work {
                Some(work) => Some(Some(work)),
                None if state.phase >= last => Some(None),
                None => None,
            }
        });
        turn.await
    }

    /// A background task has ended.
    pub(crate) fn task_ended(&self) {
        self.state.borrow_mut().tasks -= 1;
        self.progress.notify();
    }
}

/// Yields to other tasks.
pub(crate) async fn step_aside() {
    let mut stepped = false;
    poll_fn(|context| {
        if stepped {
            return Poll::Ready(());
        }
        stepped = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
