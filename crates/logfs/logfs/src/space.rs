//! Room on the disk: what is set aside for the log and for cleaning, what users may fill, and how
//! operations wait for it.

use crate::instance::{Instance, State, step_aside};
use crate::{Error, Layout};

/// Clusters set aside for cleaning.
pub(crate) const FOR_CLEANING: u32 = 3;
/// Changes wait while more than this is waiting to be written: no longer than writing that takes.
const MOST_QUEUED_BYTES: usize = 256 << 10;

/// What an operation asks of space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It makes things fewer, and may draw on what is set aside for the log.
    Nothing,
    /// It makes things more: so many free clusters, and room for its records in every checkpoint to
    /// come.
    Clusters(u32),
}

impl State {
    /// Clusters that a checkpoint would take.
    fn checkpoint_clusters(&self, layout: &Layout) -> u32 {
        clusters_for(self.tree.cost_bytes() + self.clusters.sums.cost_bytes(), layout)
    }

    /// The same, were all clusters full of content.
    fn most_checkpoint_clusters(&self, layout: &Layout) -> u32 {
        clusters_for(self.tree.cost_bytes() + u64::from(layout.owned) * layout.sum_bytes(), layout)
    }

    /// Clusters that the log takes at least for the checkpoint before the newest: as many as that
    /// takes when little happened since.
    fn least_kept(&self, layout: &Layout) -> u32 {
        self.most_checkpoint_clusters(layout) + 1
    }

    /// Whether checkpoints would make the log shorter: between the two last ones lies more than the
    /// older one takes.
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
        let slack = layout.log_slack();
        let is_full = if self.checkpointing {
            // What it takes itself does not count, and changes have their share of the rest.
            let most = self.checkpoint_at(layout) + self.checkpoint_clusters(layout) + slack + slack / 2;
            self.log.clusters() >= most || self.log.changes_since_begun() > self.allowance(layout)
        } else {
            self.log.clusters() >= self.checkpoint_at(layout) + slack
        };
        is_full || (self.clusters.free_count() < self.for_growth(layout) && self.log_can_shrink(layout))
    }

    /// Bytes that changes may add to the log while a checkpoint is written, as far as it has come:
    /// nobody has to wait for all of it.
    fn allowance(&self, layout: &Layout) -> u64 {
        let bytes = u64::from(layout.log_slack()) * u64::from(layout.cluster_bytes);
        let expected = self.tree.cost_bytes() + self.clusters.sums.cost_bytes();
        // Frames have heads and end with a block that is not full: changes take more than their
        // bytes.
        bytes * self.checkpoint_pace.sixteenths(expected) / 16
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

impl Instance {
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
        let mut turn = None;
        loop {
            let wait = {
                let mut state = self.state.borrow_mut();
                state.usable()?;
                if !self.turns.is_next(turn.as_ref()) || self.wait_for_log(&mut state) {
                    turn.get_or_insert_with(|| self.turns.take(&self.progress));
                } else {
                    // Who waits for space lets others go before: cleaning may be among them.
                    turn = None;
                    if self.has_space(&mut state, &need)? {
                        return Ok(());
                    }
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
            state.space_wanted = true;
        }
        Ok(false)
    }
}
