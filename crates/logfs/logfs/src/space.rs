//! Space on the disk: what is reserved for the log and for cleaning, what users may fill, and how
//! operations wait for it.

use crate::instance::{Instance, State, step_aside};
use crate::{Error, Layout};

/// Clusters reserved for cleaning.
pub(crate) const FOR_CLEANING: u32 = 3;
/// Changes wait while more of them than this is queued for the log.
const MOST_QUEUED_BYTES: usize = 64 << 10;

/// The space that an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It frees space, and may use what is reserved for the log.
    Nothing,
    /// It needs space: this number of free clusters, and room for its records in all later
    /// checkpoints.
    Clusters(u32),
}

impl State {
    /// Bytes that a checkpoint would take now.
    pub(crate) fn checkpoint_bytes(&self) -> u64 {
        self.tree.cost_bytes() + self.clusters.sums.cost_bytes()
    }

    /// Bytes that a checkpoint would take if all clusters were full of content.
    fn most_checkpoint_bytes(&self, layout: &Layout) -> u64 {
        self.tree.cost_bytes() + u64::from(layout.owned) * layout.sum_bytes()
    }

    /// Fewest clusters that the log needs for the previous checkpoint: those of the checkpoint
    /// itself, with few changes since.
    fn least_kept(&self, layout: &Layout) -> u32 {
        clusters_for(1, self.most_checkpoint_bytes(layout), layout) + 1
    }

    /// Whether checkpoints would make the log shorter: more lies between the last two than the
    /// older one takes itself.
    fn log_can_shrink(&self, layout: &Layout) -> bool {
        let by_changes = self.log.kept_change_bytes() >= u64::from(layout.cluster_bytes) / 2;
        by_changes && self.log.kept_clusters() > self.least_kept(layout)
    }

    /// The length of the log, in clusters, from which a checkpoint is worth while.
    pub(crate) fn checkpoint_at(&self, layout: &Layout) -> u32 {
        clusters_for(2, self.checkpoint_bytes(), layout) + layout.log_slack()
    }

    /// Whether changes have to wait for a checkpoint.
    fn log_is_full(&self, layout: &Layout) -> bool {
        let slack = layout.log_slack();
        let is_full = if self.checkpointing {
            // The checkpoint's own clusters do not count, and changes have their share of the rest.
            // Content that leaves memory meanwhile makes neither the log nor this checkpoint
            // shorter.
            let expected = self.checkpoint_bytes().max(self.checkpoint_pace.begun_bytes);
            let most = clusters_for(3, expected, layout) + 2 * slack + slack / 2 + self.overrun(expected, layout);
            self.log.clusters() >= most || self.log.changes_since_begun() > self.allowance(layout)
        } else {
            self.log.clusters() >= self.checkpoint_at(layout) + slack
        };
        is_full || (self.clusters.free_count() < self.for_growth(layout) && self.log_can_shrink(layout))
    }

    /// Clusters that the checkpoint has taken beyond those expected, because content was written in
    /// front of it, if there is so much space that the log can have them.
    fn overrun(&self, expected_bytes: u64, layout: &Layout) -> u32 {
        let [taken, expected] =
            [self.checkpoint_pace.described_bytes, expected_bytes].map(|bytes| clusters_for(1, bytes, layout));
        let overrun = taken.saturating_sub(expected);
        let is_ample = self.clusters.free_count() > self.for_growth(layout) + overrun + expected;
        if is_ample { overrun } else { 0 }
    }

    /// Bytes that changes may add to the log while a checkpoint is written, depending on its
    /// progress, so that no change has to wait for all of it.
    fn allowance(&self, layout: &Layout) -> u64 {
        let bytes = u64::from(layout.log_slack()) * u64::from(layout.cluster_bytes);
        // Changes take more than their own bytes: frames have headers and end with a partly filled
        // block.
        bytes * self.checkpoint_pace.sixteenths(self.checkpoint_bytes()) / 16
    }

    /// Clusters by which the log may grow until the next checkpoint is done.
    fn for_growth(&self, layout: &Layout) -> u32 {
        let begun = if self.checkpointing { self.checkpoint_pace.begun_bytes } else { 0 };
        let checkpoints = clusters_for(3, self.most_checkpoint_bytes(layout).max(begun), layout);
        (checkpoints + 3 * layout.log_slack()).saturating_sub(self.log.clusters())
    }

    /// Clusters reserved for the growth of the log and for the previous checkpoint.
    pub(crate) fn for_log(&self, layout: &Layout) -> u32 {
        self.for_growth(layout) + self.least_kept(layout).saturating_sub(self.log.kept_clusters())
    }

    /// All clusters that are not for content, now or once the log has grown.
    pub(crate) fn set_aside(&self, layout: &Layout) -> u32 {
        self.for_growth(layout) + self.log.clusters() + self.least_kept(layout) + FOR_CLEANING
    }

    /// Clusters that users may fill.
    pub(crate) fn spendable(&self, layout: &Layout) -> u32 {
        self.clusters.free_count().saturating_sub(self.for_log(layout) + FOR_CLEANING)
    }
}

/// Upper estimate of the clusters that a number of checkpoints of this length take, one after the
/// other in the log, with the clusters at both ends of it that are only partly filled.
pub(crate) fn clusters_for(checkpoints: u32, bytes: u64, layout: &Layout) -> u32 {
    let full = u64::from(checkpoints) * bytes * 5 / 4 / u64::from(layout.cluster_bytes);
    // In small clusters, more is left unused between frames than this estimate has.
    let partly_filled = if layout.has_large_clusters() { (2 * checkpoints).min(3) } else { 2 * checkpoints };
    u32::try_from(full).unwrap_or(u32::MAX / 16).min(u32::MAX / 16) + partly_filled
}

impl Instance {
    /// Waits until there is room for an operation, cleaning if necessary.
    ///
    /// # Errors
    /// [`Error::NoSpace`] when cleaning has nothing left to gain.
    pub(crate) async fn admit(&self, need: impl Fn(&State) -> Need) -> Result<(), Error> {
        if self.state.borrow().log.queued_bytes() >= 2 * self.bulk_bytes() {
            // Let the log write now and then, so that no operation has to wait for all of it.
            self.work.notify();
            step_aside().await;
        }
        let (mut turn, mut has_stepped) = (None, false);
        loop {
            let wait = {
                let mut state = self.state.borrow_mut();
                state.usable()?;
                let (is_next, is_full) = (self.turns.is_next(turn.as_ref()), self.wait_for_log(&mut state));
                if is_next && !is_full {
                    // An operation that waits for space lets others go first: cleaning may be among
                    // them.
                    turn = None;
                    if self.has_space(&mut state, &need)? {
                        return Ok(());
                    }
                }
                // The log has room, and those in front have been woken. With a turn behind them,
                // this operation would make the next one wait, and so on.
                let steps = !is_next && !is_full && turn.is_none() && !std::mem::replace(&mut has_stepped, true);
                if (!is_next || is_full) && !steps {
                    turn.get_or_insert_with(|| self.turns.take(&self.progress));
                }
                self.work.notify();
                (!steps).then(|| self.progress.pass())
            };
            match wait {
                Some(wait) => wait.await,
                None => step_aside().await,
            }
        }
    }

    fn wait_for_log(&self, state: &mut State) -> bool {
        let full = state.log_is_full(&self.layout);
        state.checkpoint_wanted |= full && !state.checkpointing;
        full || state.log.queued_change_bytes() > MOST_QUEUED_BYTES
    }

    fn has_space(&self, state: &mut State, need: &impl Fn(&State) -> Need) -> Result<bool, Error> {
        let Need::Clusters(count) = need(state) else { return Ok(true) };
        self.free_doomed(state);
        if state.clusters.free_count() >= state.for_log(&self.layout) + FOR_CLEANING + count {
            return Ok(true);
        }
        if state.clusters.doomed_count() > 0 {
            // They become free once the log is durable.
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
