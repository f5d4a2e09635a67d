//! The cluster table: what each cluster is used for, its live content with the owners, and which
//! clusters are free.
//!
//! ```text
//!  free ─▶ open ─▶ full ─▶ doomed ─▶ free          free ─▶ log ─▶ free
//!            written  live = 0   when the log that killed its last byte is durable
//! ```
//!
//! A pinned cluster (being read, or written with the record still to come) is never doomed, even if
//! nothing in it is live.

mod candidates;
mod pieces;

use std::collections::VecDeque;
use std::ops::Range;

use candidates::{Candidates, NO_STEP};
pub(crate) use pieces::Piece;
use pieces::Pieces;

use crate::Layout;
use crate::cleaning::ClusterUse;
use crate::domains::Owners;
use crate::record::{InodeId, Stretch};
use crate::sums::Sums;
use crate::tree::Delta;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The first and the last cluster, and those of other domains.
    Fixed,
    Free,
    Log,
    /// Being filled.
    Open,
    /// Filled with content.
    Full,
    /// Holding nothing live; free when this ticket is durable.
    Doomed(u64),
}

#[derive(Debug)]
struct Cluster {
    role: Role,
    pins: u32,
    pieces: Pieces,
    /// Whether some of its content has failed its checksum. Its content stays where it is, so that
    /// bad content is never copied as if it were good.
    damaged: bool,
    /// Ticket of the last change, from which the age follows.
    touched: u64,
    /// The candidate step that it is counted in.
    step: u16,
}

impl Cluster {
    fn is_movable(&self) -> bool {
        self.role == Role::Full && self.pins == 0 && !self.damaged
    }
}

#[derive(Debug)]
pub(crate) struct ClusterTable {
    layout: Layout,
    clusters: Vec<Cluster>,
    free: VecDeque<u32>,
    doomed: VecDeque<(u64, u32)>,
    /// Whether free clusters are discarded on the device before they are used again.
    pub(crate) discards: bool,
    /// Freed, but not discarded on the device yet.
    undiscarded: VecDeque<u32>,
    /// Number of clusters whose discard is in progress.
    discarding: u32,
    /// Checksums of the content blocks.
    pub(crate) sums: Sums,
    candidates: Candidates,
}

impl ClusterTable {
    /// All clusters of the layout's domain are free, the others fixed.
    pub(crate) fn new(layout: &Layout, owners: &Owners) -> ClusterTable {
        let role = |number| if owners.owner(number) == Some(layout.domain) { Role::Free } else { Role::Fixed };
        let cluster = |number| Cluster {
            role: role(number),
            pins: 0,
            pieces: Pieces::default(),
            damaged: false,
            touched: 0,
            step: NO_STEP,
        };
        let free = owners.of(layout.domain).collect();
        let clusters = (0..layout.clusters).map(cluster).collect();
        ClusterTable {
            layout: *layout,
            clusters,
            free,
            doomed: VecDeque::new(),
            discards: false,
            undiscarded: VecDeque::new(),
            discarding: 0,
            sums: Sums::new(layout),
            candidates: Candidates::off(),
        }
    }

    /// From now on, counts the clusters whose share of live content is below `k`, or below a lower
    /// share set later.
    pub(crate) fn count_candidates(&mut self, k: f64) {
        self.candidates = Candidates::up_to(k, self.layout.cluster_bytes);
        for number in 0..self.layout.clusters {
            self.clusters[number as usize].step = NO_STEP;
            self.recount(number);
        }
    }

    /// Sets the current `k`, as a share of the one passed to `count_candidates`.
    pub(crate) fn set_k_share(&mut self, share: f64) {
        self.candidates.set_share(share);
    }

    /// Number of clusters below the current `k` that can be cleaned.
    pub(crate) fn candidate_count(&self) -> u32 {
        self.candidates.count()
    }

    /// A cluster with fewer live bytes is a candidate.
    pub(crate) fn candidate_limit_bytes(&self) -> u64 {
        self.candidates.limit_bytes()
    }

    /// Updates the candidate count after a cluster has changed.
    fn recount(&mut self, number: u32) {
        if !self.candidates.are_counted() {
            return;
        }
        let cluster = &mut self.clusters[number as usize];
        let live_bytes = cluster.pieces.live_bytes();
        let counts = cluster.is_movable() && live_bytes > 0;
        let step = if counts { self.candidates.step_of(live_bytes) } else { NO_STEP };
        self.candidates.change(std::mem::replace(&mut cluster.step, step), step);
    }

    /// Takes the checksums read from the log, for blocks that hold content. To be called after
    /// claiming.
    pub(crate) fn adopt(&mut self, sums: Sums) {
        self.sums = sums;
        let clusters = &self.clusters;
        self.sums.retain(|number| clusters.get(number as usize).is_some_and(|cluster| cluster.role == Role::Full));
    }

    pub(crate) fn role(&self, cluster: u32) -> Role {
        self.clusters.get(cluster as usize).map_or(Role::Fixed, |cluster| cluster.role)
    }

    pub(crate) fn free_count(&self) -> u32 {
        self.free.len() as u32
    }

    pub(crate) fn doomed_count(&self) -> u32 {
        self.doomed.len() as u32
    }

    pub(crate) fn live_bytes(&self) -> u64 {
        self.clusters.iter().map(|cluster| cluster.pieces.live_bytes()).sum()
    }

    pub(crate) fn allocate(&mut self, role: Role) -> Option<u32> {
        let number = self.free.pop_front()?;
        self.clusters[number as usize].role = role;
        Some(number)
    }

    /// Takes a given free cluster for the log while a file system is opened; returns false when it
    /// is not free. [`ClusterTable::settle`] must follow.
    pub(crate) fn claim_for_log(&mut self, number: u32) -> bool {
        let was_free = self.role(number) == Role::Free;
        if was_free {
            self.clusters[number as usize].role = Role::Log;
        }
        was_free
    }

    /// As [`ClusterTable::claim_for_log`] for several clusters: all or none.
    pub(crate) fn claim_all_for_log(&mut self, numbers: &[u32]) -> bool {
        let taken = numbers.iter().take_while(|number| self.claim_for_log(**number)).count();
        if taken < numbers.len() {
            numbers[..taken].iter().for_each(|number| self.clusters[*number as usize].role = Role::Free);
        }
        taken == numbers.len()
    }

    /// Takes clusters out of the free ones for content that recovery found; returns false when
    /// content overlaps or lies outside of the domain's clusters.
    pub(crate) fn claim_for_content(&mut self, inode: InodeId, stretch: Stretch) -> bool {
        if !self.layout.holds(stretch.place, stretch.length) {
            return false;
        }
        parts(self.layout, stretch).all(|(number, offset, part)| {
            let cluster = &mut self.clusters[number as usize];
            if !matches!(cluster.role, Role::Free | Role::Full) {
                return false;
            }
            cluster.role = Role::Full;
            cluster.pieces.insert(offset, Piece { inode, offset: part.offset, length: part.length })
        })
    }

    /// After claiming: rebuilds the list of free clusters from those not claimed.
    pub(crate) fn settle(&mut self) {
        let clusters = &self.clusters;
        self.free.retain(|&number| clusters[number as usize].role == Role::Free);
    }

    /// Frees a log cluster that no anchor leads to any more.
    pub(crate) fn free_log(&mut self, number: u32) {
        assert!(self.role(number) == Role::Log, "cluster {number} is freed as log and is none");
        self.give_back(number);
    }

    fn give_back(&mut self, number: u32) {
        self.sums.forget(number);
        self.clusters[number as usize].damaged = false;
        self.clusters[number as usize].role = Role::Free;
        if self.discards {
            self.undiscarded.push_back(number);
        } else {
            // Reuse it first: on a sparse file or a thinly provisioned device its space is already
            // allocated.
            self.free.push_front(number);
        }
    }

    /// Free clusters that must be discarded before they can be allocated.
    pub(crate) fn undiscarded_count(&self) -> u32 {
        self.undiscarded.len() as u32
    }

    /// Whether clusters are free, or will be once pending discards have completed.
    pub(crate) fn discards_pending(&self) -> bool {
        self.discarding > 0 || !self.undiscarded.is_empty()
    }

    /// Takes some undiscarded clusters, as runs of neighbours.
    pub(crate) fn take_undiscarded(&mut self, most: usize) -> Vec<Range<u32>> {
        let count = most.min(self.undiscarded.len());
        let mut taken: Vec<u32> = self.undiscarded.drain(..count).collect();
        self.discarding += count as u32;
        taken.sort_unstable();
        let mut runs: Vec<Range<u32>> = Vec::new();
        for number in taken {
            match runs.last_mut() {
                Some(run) if run.end == number => run.end += 1,
                _ => runs.push(number..number + 1),
            }
        }
        runs
    }

    /// A run has been discarded.
    pub(crate) fn discarded(&mut self, run: Range<u32>) {
        self.discarding -= run.end - run.start;
        self.free.extend(run);
    }

    pub(crate) fn pin(&mut self, place: u64, length: u64) {
        for number in self.numbers(place, length) {
            self.clusters[number as usize].pins += 1;
            self.recount(number);
        }
    }

    pub(crate) fn unpin(&mut self, place: u64, length: u64, ticket: u64) {
        for number in self.numbers(place, length) {
            self.clusters[number as usize].pins -= 1;
            self.doom_if_dead(number, ticket);
        }
    }

    /// Content of a cluster is damaged: cleaning leaves the cluster alone.
    pub(crate) fn spoil(&mut self, number: u32) {
        self.clusters[number as usize].damaged = true;
        self.recount(number);
    }

    /// Closes an open cluster: nothing more will be written to it.
    pub(crate) fn seal(&mut self, number: u32, ticket: u64) {
        self.clusters[number as usize].role = Role::Full;
        self.doom_if_dead(number, ticket);
    }

    pub(crate) fn apply(&mut self, deltas: &[Delta], ticket: u64) {
        for delta in deltas {
            match *delta {
                Delta::Placed { inode, stretch } => {
                    for (number, offset, part) in parts(self.layout, stretch) {
                        let cluster = &mut self.clusters[number as usize];
                        let piece = Piece { inode, offset: part.offset, length: part.length };
                        assert!(
                            cluster.pieces.insert(offset, piece),
                            "content put over live content of cluster {number}"
                        );
                        cluster.touched = ticket;
                        self.recount(number);
                    }
                }
                Delta::Released { inode, place, length } => self.release(inode, place, length, ticket),
            }
        }
    }

    /// Releases only what belongs to `inode`: the extents of a deleted file may name places that
    /// have been reallocated.
    pub(crate) fn release(&mut self, inode: InodeId, place: u64, length: u64, ticket: u64) {
        for (number, offset, part) in parts(self.layout, Stretch { offset: 0, length, place }) {
            self.clusters[number as usize].pieces.remove(inode, offset, part.length);
            self.clusters[number as usize].touched = ticket;
            self.doom_if_dead(number, ticket);
        }
    }

    fn doom_if_dead(&mut self, number: u32, ticket: u64) {
        let cluster = &mut self.clusters[number as usize];
        if cluster.role == Role::Full && cluster.pins == 0 && cluster.pieces.live_bytes() == 0 {
            cluster.role = Role::Doomed(ticket);
            self.doomed.push_back((ticket, number));
        }
        self.recount(number);
    }

    /// The log is durable up to `ticket`; returns how many clusters become free.
    pub(crate) fn durable(&mut self, ticket: u64) -> u32 {
        let mut freed = 0;
        while let Some((_, number)) = self.doomed.front().copied().filter(|(doom, _)| *doom <= ticket) {
            self.doomed.pop_front();
            self.give_back(number);
            freed += 1;
        }
        freed
    }

    /// The full clusters in a range that may be cleaned, with their live bytes and age.
    pub(crate) fn uses(&self, range: Range<u32>, now: u64) -> Vec<ClusterUse> {
        let end = range.end.min(self.clusters.len() as u32);
        let some = self.clusters[range.start.min(end) as usize..end as usize].iter().zip(range.start..);
        some.filter(|(cluster, _)| cluster.is_movable())
            .map(|(cluster, number)| ClusterUse {
                cluster: number,
                live_bytes: cluster.pieces.live_bytes(),
                age: now.saturating_sub(cluster.touched),
            })
            .collect()
    }

    /// The live pieces of a cluster, each with its offset in the cluster.
    pub(crate) fn pieces(&self, number: u32) -> Vec<(u32, Piece)> {
        self.clusters.get(number as usize).map(|cluster| cluster.pieces.iter().collect()).unwrap_or_default()
    }

    fn numbers(&self, place: u64, length: u64) -> std::ops::RangeInclusive<u32> {
        let last = place.saturating_add(length.max(1) - 1);
        self.layout.locate(place).0..=self.layout.locate(last).0
    }
}

/// Splits a stretch at cluster boundaries: cluster, offset in it, part.
fn parts(layout: Layout, stretch: Stretch) -> impl Iterator<Item = (u32, u32, Stretch)> {
    let mut rest = stretch;
    std::iter::from_fn(move || {
        if rest.length == 0 {
            return None;
        }
        let (number, within) = layout.locate(rest.place);
        let length = rest.length.min(u64::from(layout.cluster_bytes - within));
        let part = Stretch { length, ..rest };
        rest = Stretch { offset: rest.offset + length, length: rest.length - length, place: rest.place + length };
        Some((number, within, part))
    })
}
