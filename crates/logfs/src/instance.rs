//! One open file system: what its operations and its background tasks share.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::Poll;

use iolab_block::DeviceError;
use iolab_clock::Clock;
use iolab_executor::Event;

use crate::allocation::Heads;
use crate::anchor::Anchor;
use crate::clusters::ClusterTable;
use crate::locks::Locks;
use crate::log::{Log, Mark};
use crate::open::OpenOptions;
use crate::record::{InodeId, Record};
use crate::tree::{Delta, Tree};
use crate::{Disk, Error, Layout, checkpoint, demoter, discarder};

/// Clusters set aside for cleaning.
pub(crate) const FOR_CLEANING: u32 = 3;
/// The log is made durable when clusters that only wait for that are more than one in so many of those that are free.
const DOOMED_SHARE: u32 = 4;
/// Changes wait while more than this is waiting to be written.
const MOST_QUEUED_BYTES: usize = 8 << 20;

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
    pub(crate) locks: Locks,
    pub(crate) state: RefCell<State>,
    /// A background task may have work.
    pub(crate) work: Event,
    /// Something that somebody may wait for has come about: durability, space, an end.
    pub(crate) progress: Event,
}

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
    /// When the last one began, or opening.
    pub(crate) checkpoint_at_ns: u64,
    pub(crate) cleaning_wanted: bool,
    /// Somebody waits for clusters that the device has to be told of.
    pub(crate) discards_wanted: bool,
    /// Files with small content in memory, those first whose content waits for longest, each with the ticket of its last change when it came here.
    pub(crate) inline_queue: VecDeque<(u64, InodeId)>,
    /// The last ticket when there was no room to move such content to.
    pub(crate) no_room_at: Option<u64>,
    /// The last ticket when cleaning found nothing to gain.
    pub(crate) fruitless_at: Option<u64>,
    pub(crate) activity: Activity,
}

/// What went on in the background since opening.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Activity {
    /// Checkpoints that were finished.
    pub checkpoints: u64,
    /// Passes of cleaning that moved something.
    pub cleaning_passes: u64,
    /// Bytes of live content that cleaning moved.
    pub moved_bytes: u64,
    /// Bytes of small content that were moved out of memory.
    pub demoted_bytes: u64,
    /// Clusters that the device was told to be free.
    pub discarded_clusters: u64,
    /// Clusters that became free.
    pub freed_clusters: u64,
    /// Frames of the metadata log.
    pub frames: u64,
    /// Flushes of the device for syncs.
    pub syncs: u64,
    /// Checkpoints that could not be read back.
    pub bad_checkpoints: u64,
    /// Reads that found content other than was written.
    pub content_errors: u64,
}

impl Activity {
    /// What went on in both of two domains.
    pub(crate) fn and(&self, other: &Activity) -> Activity {
        Activity {
            checkpoints: self.checkpoints + other.checkpoints,
            cleaning_passes: self.cleaning_passes + other.cleaning_passes,
            moved_bytes: self.moved_bytes + other.moved_bytes,
            demoted_bytes: self.demoted_bytes + other.demoted_bytes,
            discarded_clusters: self.discarded_clusters + other.discarded_clusters,
            freed_clusters: self.freed_clusters + other.freed_clusters,
            frames: self.frames + other.frames,
            syncs: self.syncs + other.syncs,
            bad_checkpoints: self.bad_checkpoints + other.bad_checkpoints,
            content_errors: self.content_errors + other.content_errors,
        }
    }
}

impl State {
    /// Whether changes are possible at all.
    pub(crate) fn usable(&self) -> Result<(), Error> {
        match (self.failed, self.phase) {
            (Some(error), _) => Err(Error::Failed(error)),
            (None, Phase::Running) => Ok(()),
            (None, _) => Err(Error::Closed),
        }
    }

    /// Clusters that a checkpoint would take.
    fn checkpoint_clusters(&self, layout: &Layout) -> u32 {
        clusters_for(self.tree.cost_bytes() + self.clusters.sums.cost_bytes(), layout)
    }

    /// The same, were all clusters full of content.
    fn most_checkpoint_clusters(&self, layout: &Layout) -> u32 {
        clusters_for(self.tree.cost_bytes() + u64::from(layout.owned) * layout.sum_bytes(), layout)
    }

    /// Clusters that the log takes at least for the checkpoint before the newest: as many as that takes when little happened since.
    fn least_kept(&self, layout: &Layout) -> u32 {
        self.most_checkpoint_clusters(layout) + 1
    }

    /// Whether checkpoints would make the log shorter: between the two last ones lies more than the older one takes.
    fn log_can_shrink(&self, layout: &Layout) -> bool {
        let by_changes = self.log.kept_change_bytes() >= u64::from(layout.cluster_bytes) / 2;
        by_changes && self.log.kept_clusters() > self.least_kept(layout)
    }

    /// From how many clusters of log on a checkpoint is worth while.
    pub(crate) fn checkpoint_at(&self, layout: &Layout) -> u32 {
        2 * self.checkpoint_clusters(layout) + layout.log_slack()
    }

    /// Whether changes have to wait for a checkpoint.
    fn log_is_full(&self, layout: &Layout) -> bool {
        let is_full = self.log.clusters() >= self.checkpoint_at(layout) + layout.log_slack();
        is_full || (self.clusters.free_count() < self.for_growth(layout) && self.log_can_shrink(layout))
    }

    /// Clusters by which the log may grow until the next checkpoint is done.
    fn for_growth(&self, layout: &Layout) -> u32 {
        let checkpoint = self.most_checkpoint_clusters(layout);
        (3 * checkpoint + 3 * layout.log_slack()).saturating_sub(self.log.clusters())
    }

    /// Clusters that nothing may take but the log's growth, and the checkpoint before the newest.
    pub(crate) fn for_log(&self, layout: &Layout) -> u32 {
        self.for_growth(layout) + self.least_kept(layout).saturating_sub(self.log.kept_clusters())
    }

    /// All clusters that are not for content, now or when the log has grown.
    pub(crate) fn set_aside(&self, layout: &Layout) -> u32 {
        self.for_growth(layout) + self.log.clusters() + self.least_kept(layout) + FOR_CLEANING
    }

    /// Clusters that users may fill.
    pub(crate) fn spendable(&self, layout: &Layout) -> u32 {
        self.clusters.free_count().saturating_sub(self.for_log(layout) + FOR_CLEANING)
    }
}

/// Clusters that so many bytes of a checkpoint take, rather too many.
fn clusters_for(bytes: u64, layout: &Layout) -> u32 {
    u32::try_from(bytes * 5 / 4 / u64::from(layout.cluster_bytes)).unwrap_or(u32::MAX / 16) + 2
}

/// What an operation asks of space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It makes things fewer, and may draw on what is set aside for the log.
    Nothing,
    /// It makes things more: so many free clusters, and room for its records in every checkpoint to come.
    Clusters(u32),
}

impl Instance {
    pub(crate) fn now(&self) -> u64 {
        self.clock.unix_ns()
    }

    /// One change: appended to the log and applied, at once. What it rests on was checked since the last await.
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
                // Memory contradicts a change that was checked: what was read from the disk had a flaw that opening does not
                // look for. Nothing more may be written from such a memory.
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
            state.checkpoint_wanted = is_long || (checkpoint::is_worth_while(state) && is_due());
        }
        self.free_doomed(state);
        let low = (self.layout.owned + 2) / 16;
        // Looking for clusters to clean takes a look at all of them: not for every change.
        let rested = state.fruitless_at.is_none_or(|ticket| state.log.last_ticket > ticket + 64);
        if rested && state.spendable(&self.layout) < low {
            state.cleaning_wanted = true;
        }
        if state.clusters.doomed_count() * DOOMED_SHARE > state.clusters.free_count() {
            // They are free when the log is durable: before anybody has to wait for that.
            state.log.wanted_ticket = state.log.last_ticket;
            self.work.notify();
        }
        let eager = state.log.queued_bytes() >= self.eager_bytes();
        let crowded = demoter::is_wanted(state, self.options.inline_bytes) || discarder::is_wanted(state);
        if eager || crowded || state.checkpoint_wanted || state.cleaning_wanted || !state.tree.graveyard.is_empty() {
            self.work.notify();
        }
    }

    /// Frees what was doomed by changes that are durable.
    pub(crate) fn free_doomed(&self, state: &mut State) {
        let freed = state.clusters.durable(state.log.durable_ticket);
        state.activity.freed_clusters += u64::from(freed);
    }

    /// The log is written without being asked when so much waits: little, because operations stand behind it on devices that do a transfer while they are
    /// given it.
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

    /// Waits until there is room for an operation, cleaning if need be.
    ///
    /// # Errors
    /// [`Error::NoSpace`] when cleaning has nothing left to gain.
    pub(crate) async fn admit(&self, need: impl Fn(&State) -> Need) -> Result<(), Error> {
        if self.state.borrow().log.queued_bytes() >= 2 * self.bulk_bytes() {
            // A turn for the log now and then, so that nobody has to wait for all of it.
            self.work.notify();
            step_aside().await;
        }
        loop {
            let wait = {
                let mut state = self.state.borrow_mut();
                state.usable()?;
                if !self.wait_for_log(&mut state) && self.has_space(&mut state, &need)? {
                    return Ok(());
                }
                self.work.notify();
                self.progress.pass()
            };
            wait.await;
        }
    }

    fn wait_for_log(&self, state: &mut State) -> bool {
        let full = state.log_is_full(&self.layout);
        state.checkpoint_wanted |= full && !state.checkpointing;
        full || state.log.queued_bytes() > MOST_QUEUED_BYTES
    }

    fn has_space(&self, state: &mut State, need: &impl Fn(&State) -> Need) -> Result<bool, Error> {
        let Need::Clusters(count) = need(state) else { return Ok(true) };
        self.free_doomed(state);
        if state.clusters.free_count() >= state.for_log(&self.layout) + FOR_CLEANING + count {
            return Ok(true);
        }
        if state.clusters.doomed_count() > 0 {
            // They are free when the log is durable.
            state.log.wanted_ticket = state.log.last_ticket;
        } else if state.log_can_shrink(&self.layout) {
            state.checkpoint_wanted |= !state.checkpointing;
        } else if state.clusters.discards_pending() {
            state.discards_wanted = true;
        } else if state.tree.graveyard.is_empty() {
            if state.fruitless_at == Some(state.log.last_ticket) {
                return Err(Error::NoSpace);
            }
            state.cleaning_wanted = true;
        }
        Ok(false)
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

    /// Waits for work of a background task that ends in the phase `last`; `None` when it should end.
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
