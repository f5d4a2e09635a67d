//! One open file system: what its operations and its background tasks share.

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
use crate::log::{Log, Mark};
use crate::open_options::{CleaningSettings, OpenOptions};
use crate::pace::Pace;
use crate::record::{InodeId, Record};
use crate::tree::{Delta, Tree};
use crate::turns::Turns;
use crate::{Disk, Error, Layout};

/// The log is made durable when clusters that only wait for that are more than one in so many of
/// those that are free.
const DOOMED_SHARE: u32 = 4;
/// With its head, and a record more, this fills a frame of 8 KiB: some hundred and fifty records.
const EAGER_BYTES: usize = (8 << 10) - 128;

/// Where in its life an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Running,
    /// No new operations; all tasks end but the one that writes the log.
    Closing,
    /// No changes any more; that task ends too.
    Closed,
}

#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) disk: Disk,
    pub(crate) clock: Clock,
    pub(crate) layout: Layout,
    pub(crate) options: OpenOptions,
    pub(crate) cleaning: CleaningSettings,
    /// Most bytes of small writes that are kept in memory.
    pub(crate) inline_limit: u64,
    pub(crate) verifies_reads: bool,
    pub(crate) locks: Locks,
    /// Of operations that wait for the log.
    pub(crate) turns: Turns,
    pub(crate) state: RefCell<State>,
    /// A background task may have work.
    pub(crate) work: Notify,
    /// Something that somebody may wait for has come about: durability, space, an end.
    pub(crate) progress: Notify,
}

/// Fewer bytes of changes than this are read in no time.
const WORTH_BYTES: u64 = 256 << 10;
/// The part of the limit on content in memory from which on some of it is moved, in sixteenths.
pub(crate) const DEMOTION_SIXTEENTHS: u64 = 14;
/// Clusters that are gathered before the device is told, unless somebody waits for space.
const DISCARDS_GATHERED: u32 = 16;

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) tree: Tree,
    pub(crate) clusters: ClusterTable,
    pub(crate) log: Log,
    pub(crate) heads: Heads,
    pub(crate) anchor: Anchor,
    /// Room for what a change does to clusters; empty between changes.
    pub(crate) deltas: Vec<Delta>,
    pub(crate) failed: Option<DeviceError>,
    pub(crate) phase: Phase,
    /// Background tasks that have not ended.
    pub(crate) tasks: u32,
    pub(crate) checkpoint_wanted: bool,
    /// Whether one is being written.
    pub(crate) checkpointing: bool,
    /// How far that has come.
    pub(crate) checkpoint_pace: Pace,
    /// The log is written as far as somebody wants it durable, and the device is to be flushed.
    pub(crate) flush_wanted: bool,
    /// The device is being flushed.
    pub(crate) flushing: bool,
    /// When the last one began, or opening.
    pub(crate) checkpoint_at_ns: u64,
    pub(crate) cleaning_wanted: bool,
    /// Somebody waits for space that only cleaning can win.
    pub(crate) space_wanted: bool,
    /// Somebody waits for clusters that the device has to be told of.
    pub(crate) discards_wanted: bool,
    /// Files with small content in memory, those first whose content waits for longest, each with
    /// the ticket of its last change when it came here.
    pub(crate) inline_queue: VecDeque<(u64, InodeId)>,
    /// Files that reads found in many pieces.
    pub(crate) scattered: VecDeque<InodeId>,
    /// Bytes that putting files together may move.
    pub(crate) defragment_credit: u64,
    /// The last ticket when there was no room to move such content to.
    pub(crate) no_room_at: Option<u64>,
    /// The last ticket when cleaning found nothing to gain.
    pub(crate) fruitless_at: Option<u64>,
    pub(crate) activity: Activity,
}

impl State {
    /// Whether so much has changed since the last checkpoint that reading it would take a good part
    /// of the time of opening.
    pub(crate) fn is_checkpoint_worth_while(&self) -> bool {
        self.log.tail_bytes() > self.tree.cost_bytes() / 4 + WORTH_BYTES
    }

    /// Whether content in memory has come so close to its limit that some of it has to be moved to
    /// the disk.
    pub(crate) fn is_demotion_wanted(&self, limit_bytes: u64) -> bool {
        self.tree.inline_bytes() > limit_bytes / 16 * DEMOTION_SIXTEENTHS
    }

    /// Whether the device has to be told of free clusters.
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

    /// One change: appended to the log and applied, at once. What it rests on was checked since the
    /// last await.
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
                // Memory contradicts a change that was checked: what was read from the disk had a
                // flaw that opening does not look for. Nothing more may be written from such a
                // memory.
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
        // Looking for clusters to clean takes a look at all of them: not for every change.
        let rested = state.fruitless_at.is_none_or(|ticket| state.log.last_ticket > ticket + 64);
        if rested && self.is_cleaning_due(state) {
            state.cleaning_wanted = true;
        }
        if state.clusters.doomed_count() * DOOMED_SHARE > state.clusters.free_count() {
            // They are free when the log is durable: before anybody has to wait for that.
            state.log.wanted_ticket = state.log.last_ticket;
            self.work.notify();
        }
        let eager = state.log.queued_bytes() >= self.eager_bytes();
        let crowded = state.is_demotion_wanted(self.inline_limit) || state.is_discard_wanted();
        if eager || crowded || state.checkpoint_wanted || state.cleaning_wanted || !state.tree.graveyard.is_empty() {
            self.work.notify();
        }
    }

    /// Frees what was doomed by changes that are durable.
    pub(crate) fn free_doomed(&self, state: &mut State) {
        let freed = state.clusters.durable(state.log.durable_ticket);
        state.activity.freed_clusters += u64::from(freed);
    }

    /// The log is written without being asked when so much waits: little, because operations stand
    /// behind it on devices that do a transfer while they are given it.
    pub(crate) fn eager_bytes(&self) -> usize {
        (self.layout.cluster_bytes as usize / 4).min(EAGER_BYTES)
    }

    /// Who makes much of it waits for the log when so much waits.
    pub(crate) fn bulk_bytes(&self) -> usize {
        (self.layout.cluster_bytes as usize / 4).min(128 << 10)
    }

    /// Holds blocks that were read from `place` on against their checksums.
    ///
    /// # Errors
    /// [`Error::Content`] when one is not what was written; it is counted.
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

    /// The log cannot be written any more.
    pub(crate) fn fail(&self, error: DeviceError) {
        let mut state = self.state.borrow_mut();
        state.failed.get_or_insert(error);
        drop(state);
        self.work.notify();
        self.progress.notify();
    }

    /// Waits for work of a background task that ends in the phase `last`; `None` when it should
    /// end.
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

/// Lets other tasks have a turn.
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
