//! The tasks that reclaim clusters. One moves live content out of clusters that hold little of it.
//! The other releases the extents of deleted files a few at a time, so that deleting a file does
//! not wait for that.

mod moving;

use std::rc::Rc;

use crate::allocation::Stream;
use crate::cleaning::{Budget, ClusterUse, Policy, threshold_reached};
use crate::disk::Urgency;
use crate::extents::Place;
use crate::instance::{Instance, Phase, State, step_aside};
use crate::space::{FOR_CLEANING, Need};
use crate::{Error, Layout};
use moving::move_out;
pub(crate) use moving::{Moving, record_sums, relocate, write_slots};

/// Clusters examined in one step.
const LOOKED_AT: u32 = 4_096;
/// Most bytes moved in a pass that does not go by threshold, unless one cluster has more: clusters
/// become free at the end of the pass, and operations may wait for them.
const PASS_BYTES: u64 = 2 << 20;
/// Extents of a deleted file released before other tasks get a turn.
const RELEASED_AT_ONCE: usize = 256;

pub(crate) async fn run(instance: Rc<Instance>) {
    loop {
        let wanted = |state: &mut State| std::mem::take(&mut state.cleaning_wanted).then_some(());
        if instance.wait_for_work(Phase::Closing, wanted).await.is_none() {
            break;
        }
        match pass(&instance).await {
            // Tasks may still wait for space, and there may be more to gain.
            Ok(true) => {}
            Ok(false) => {
                let mut state = instance.state.borrow_mut();
                state.fruitless_at = Some(state.log.last_ticket);
            }
            // Content that cannot be read or written stays where it is; an immediate retry would
            // gain nothing.
            Err(Error::Device(_)) => {
                let mut state = instance.state.borrow_mut();
                state.fruitless_at = Some(state.log.last_ticket);
            }
            Err(_) => break,
        }
        instance.progress.notify();
    }
    instance.task_ended();
}

impl Instance {
    /// Whether to clean now although no operation waits for space.
    pub(crate) fn is_cleaning_due(&self, state: &mut State) -> bool {
        let (layout, cleaning) = (&self.layout, &self.cleaning);
        if !cleaning.moves() {
            return false;
        }
        let spendable = state.spendable(layout);
        let Some(highest) = cleaning.policy.highest_k() else { return spendable < (layout.owned + 2) / 16 };
        let k = cleaning.policy.k(free_share(self, state)).unwrap_or(highest);
        if k < highest || matches!(cleaning.policy, Policy::Dynamic { .. }) {
            state.clusters.set_k_share(k / highest);
        }
        let memory_clusters = cleaning.memory_bytes as f64 / f64::from(layout.cluster_bytes);
        spendable < urgent_below(layout) || threshold_reached(state.clusters.candidate_count(), k, memory_clusters)
    }

    /// Whether a pass is for space, so that any cluster that gains some is cleaned. A policy with a
    /// threshold does not look at free space; this starts cleaning before space has run out.
    fn is_cleaning_urgent(&self, state: &State) -> bool {
        let spendable = state.spendable(&self.layout);
        let is_low = || state.space_wanted || spendable < urgent_below(&self.layout);
        spendable == 0 || (self.cleaning.policy.highest_k().is_some() && is_low())
    }
}

/// With fewer free clusters than this, cleaning by threshold becomes urgent.
fn urgent_below(layout: &Layout) -> u32 {
    (layout.owned / 64).max(1)
}

fn free_share(instance: &Instance, state: &State) -> f64 {
    f64::from(state.clusters.free_count()) / f64::from(instance.layout.owned.max(1))
}

/// Cleans some clusters; returns whether there was anything to gain.
async fn pass(instance: &Instance) -> Result<bool, Error> {
    if !instance.cleaning.moves() {
        return Ok(false);
    }
    instance.admit(|_| Need::Nothing).await?;
    let urgent = {
        let mut state = instance.state.borrow_mut();
        let urgent = instance.is_cleaning_urgent(&state);
        state.space_wanted = false;
        urgent
    };
    let candidates = look_around(instance, urgent).await;
    let (victims, live_bytes) = {
        let mut state = instance.state.borrow_mut();
        let state = &mut *state;
        let victims = choose(instance, state, candidates, urgent);
        for victim in &victims {
            state.clusters.pin(instance.layout.start_of(victim.cluster), 1);
        }
        let live: u64 = victims.iter().map(|victim| victim.live_bytes).sum();
        (victims, live)
    };
    if victims.is_empty() {
        return Ok(false);
    }
    // Operations wait for an urgent pass.
    let urgency = if urgent { Urgency::User } else { Urgency::Background };
    let result = move_out(instance, &instance.disk.at(urgency), &victims).await;
    let ticket = {
        let mut state = instance.state.borrow_mut();
        let ticket = state.log.last_ticket;
        for victim in &victims {
            state.clusters.unpin(instance.layout.start_of(victim.cluster), 1, ticket);
        }
        state.fruitless_at = None;
        let (passes, bytes) = if result.is_ok() { (1, live_bytes) } else { (0, 0) };
        state.activity.cleaning_passes += passes;
        state.activity.moved_bytes += bytes;
        state.activity.urgent_passes += if urgent { passes } else { 0 };
        state.activity.urgent_bytes += if urgent { bytes } else { 0 };
        ticket
    };
    result?;
    // The clusters become free once this is durable.
    instance.sync_to(ticket).await?;
    Ok(true)
}

/// The best clusters of each part of the disk. A large disk is examined in parts, and other tasks
/// run in between.
async fn look_around(instance: &Instance, urgent: bool) -> Vec<u32> {
    let mut found = Vec::new();
    let mut first = 0;
    while first < instance.layout.clusters {
        let end = first.saturating_add(LOOKED_AT);
        {
            let state = instance.state.borrow();
            let uses = state.clusters.uses(first..end, state.log.last_ticket);
            let best = instance.cleaning.policy.choose(uses, &budget(instance, &state, urgent));
            found.extend(best.iter().map(|victim| victim.cluster));
        }
        first = end;
        if first < instance.layout.clusters {
            step_aside().await;
        }
    }
    found
}

fn budget(instance: &Instance, state: &State, urgent: bool) -> Budget {
    let (layout, cleaning) = (&instance.layout, &instance.cleaning);
    let cluster_bytes = u64::from(layout.cluster_bytes);
    let free = state.clusters.free_count();
    let has_run_out = state.spendable(layout) == 0;
    // Cleaning may use the clusters reserved for it, and those left beyond the log's reserve.
    let clusters =
        u64::from(free.saturating_sub(state.for_log(layout)).min(if has_run_out { FOR_CLEANING - 1 } else { free }));
    let room = state.heads.room(Stream::Moved, layout) + clusters * cluster_bytes;
    let by_threshold = cleaning.policy.highest_k().is_some() && !urgent;
    // An urgent pass may move at least one cluster, whatever the memory limit.
    let least = if urgent { cluster_bytes } else { 0 };
    let most = if by_threshold { u64::MAX } else { PASS_BYTES.max(cluster_bytes) };
    let memory = cleaning.memory_bytes.clamp(least, most);
    Budget {
        cluster_bytes,
        move_bytes: room.saturating_sub(u64::from(layout.block_bytes)).min(memory),
        limit_bytes: if by_threshold { state.clusters.candidate_limit_bytes() } else { cluster_bytes },
        urgent,
    }
}

fn choose(instance: &Instance, state: &State, candidates: Vec<u32>, urgent: bool) -> Vec<ClusterUse> {
    let layout = &instance.layout;
    let cluster_bytes = u64::from(layout.cluster_bytes);
    // Look at the victims again: they may have changed since.
    let now = state.log.last_ticket;
    let uses = candidates.into_iter().flat_map(|number| state.clusters.uses(number..number + 1, now));
    let victims = instance.cleaning.policy.choose(uses.collect(), &budget(instance, state, urgent));
    let gain: u64 = victims.iter().map(|victim| cluster_bytes - victim.live_bytes).sum();
    // A pass costs a block of padding and some log space.
    let least = (cluster_bytes / 32).max(2 * u64::from(layout.block_bytes));
    if gain < least { Vec::new() } else { victims }
}

/// The task that releases the content of deleted files.
pub(crate) async fn run_graveyard(instance: Rc<Instance>) {
    let has_work = |state: &mut State| (!state.tree.graveyard.is_empty()).then_some(());
    while instance.wait_for_work(Phase::Closing, has_work).await.is_some() {
        release_some(&instance);
        instance.progress.notify();
        if instance.state.borrow().phase != Phase::Running {
            break;
        }
        step_aside().await;
    }
    instance.task_ended();
}

fn release_some(instance: &Instance) {
    let mut state = instance.state.borrow_mut();
    let state = &mut *state;
    let Some((inode, mut extents)) = state.tree.graveyard.pop_front() else { return };
    let ticket = state.log.last_ticket;
    for _ in 0..RELEASED_AT_ONCE {
        let Some((_, extent)) = extents.pop() else { return };
        if let Place::Disk(place) = extent.place {
            state.clusters.release(inode, place, extent.length, ticket);
        }
    }
    state.tree.graveyard.push_front((inode, extents));
}
