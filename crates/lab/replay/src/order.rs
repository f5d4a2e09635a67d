//! The order of a replay: which operations must precede which.
//!
//! ```text
//!  worker 0   ── write a ──┐        ┌── write c ──          c waits for b: it began when b had ended
//!  worker 1                └─ sync b ┘                      b waits for a: a had ended when b began
//! ```
//! Within a worker, an operation is sent when no more operations are in flight than when it began
//! in the trace. Between workers there is an order only around syncs: operations that had ended
//! when a sync began are complete before it is sent, and operations that began when a sync had
//! ended are sent after it. Both are expressed as gates: the first n operations of that worker. All
//! waits are for earlier operations of the trace, so that they cannot form a cycle.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use iolab_runner::FeedGate;

/// What every worker must know about another.
#[derive(Debug, Default)]
struct Lane {
    /// Operations so far.
    begun: u64,
    /// End times of the operations after the first gap.
    open: VecDeque<u64>,
    /// End times of operations in progress.
    under_way: Vec<u64>,
    /// How many operations must be complete so that all ended syncs are.
    synced: u64,
    /// How many operations of each worker this one has waited for.
    known: Vec<u64>,
    /// The version of the sync state that it has seen.
    seen: u64,
}

impl Lane {
    /// Operations that had ended by then, without a gap.
    fn ended_by(&mut self, now_ns: u64) -> u64 {
        while self.open.front().is_some_and(|end_ns| *end_ns <= now_ns) {
            self.open.pop_front();
        }
        self.begun - self.open.len() as u64
    }

    /// Operations in progress at that time.
    fn count_under_way(&mut self, now_ns: u64) -> u32 {
        self.under_way.retain(|end_ns| *end_ns > now_ns);
        self.under_way.len() as u32
    }
}

/// The order so far.
#[derive(Debug)]
pub(crate) struct Order {
    lanes: Vec<Lane>,
    /// Syncs in progress: when each ends, whose it is, and how many operations that worker had
    /// begun including it.
    syncs: BinaryHeap<Reverse<(u64, usize, u64)>>,
    /// Changes whenever a sync ends.
    version: u64,
    first_worker: u32,
}

impl Order {
    /// An order for this many shares, whose workers are numbered from `first_worker`.
    pub(crate) fn new(shares: usize, first_worker: u32) -> Order {
        let lanes = (0..shares).map(|_| Lane { known: vec![0; shares], ..Lane::default() }).collect();
        Order { lanes, syncs: BinaryHeap::new(), version: 0, first_worker }
    }

    /// An operation of `share` begins at `now_ns`. Returns how many operations of its worker may be
    /// in flight beside it; its other waits are put into `gates`.
    pub(crate) fn begin(&mut self, share: usize, now_ns: u64, is_sync: bool, gates: &mut Vec<FeedGate>) -> u32 {
        gates.clear();
        while let Some(Reverse((end_ns, of, count))) = self.syncs.peek().copied()
            && end_ns <= now_ns
        {
            self.syncs.pop();
            self.lanes[of].synced = self.lanes[of].synced.max(count);
            self.version += 1;
        }
        let beside = self.lanes[share].count_under_way(now_ns);
        if self.lanes.len() == 1 {
            return if is_sync { 0 } else { beside };
        }
        if is_sync || self.lanes[share].seen != self.version {
            self.lanes[share].seen = self.version;
            for other in (0..self.lanes.len()).filter(|other| *other != share) {
                let ended = if is_sync { self.lanes[other].ended_by(now_ns) } else { 0 };
                let operations = ended.max(self.lanes[other].synced);
                let known = &mut self.lanes[share].known[other];
                if operations > *known {
                    *known = operations;
                    gates.push(FeedGate { worker: self.first_worker + other as u32, operations });
                }
            }
        }
        if is_sync { 0 } else { beside }
    }

    /// The operation that began became `parts` operations of the replay, and ended at `end_ns`.
    pub(crate) fn began(&mut self, share: usize, parts: u64, end_ns: u64, is_sync: bool) {
        let several = self.lanes.len() > 1;
        let lane = &mut self.lanes[share];
        lane.begun += parts;
        (0..parts).for_each(|_| lane.under_way.push(end_ns));
        if !several {
            return;
        }
        (0..parts).for_each(|_| lane.open.push_back(end_ns));
        if is_sync {
            self.syncs.push(Reverse((end_ns, share, self.lanes[share].begun)));
        }
        // A late end delays all behind it: no more than this number is remembered.
        const MOST_OPEN: usize = 1 << 16;
        while self.lanes[share].open.len() > MOST_OPEN {
            self.lanes[share].open.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_a_worker_as_many_are_in_flight_as_were() {
        let mut order = Order::new(1, 0);
        let mut gates = Vec::new();
        for (begin_ns, end_ns, is_sync, expected) in
            [(0, 10, false, 0), (5, 20, false, 1), (12, 30, false, 1), (13, 14, true, 0), (40, 41, false, 0)]
        {
            assert_eq!(order.begin(0, begin_ns, is_sync, &mut gates), expected, "at {begin_ns}");
            order.began(0, 1, end_ns, is_sync);
        }
        assert!(gates.is_empty());
    }

    #[test]
    fn around_syncs_workers_wait_for_each_other() {
        let mut order = Order::new(2, 5);
        let mut gates = Vec::new();
        let mut step = |share, begin_ns, end_ns, is_sync| {
            order.begin(share, begin_ns, is_sync, &mut gates);
            order.began(share, 1, end_ns, is_sync);
            gates.clone()
        };
        assert_eq!(step(0, 0, 10, false), []);
        assert_eq!(step(1, 5, 8, false), [], "no order without a sync");
        assert_eq!(step(1, 12, 20, true), [FeedGate { worker: 5, operations: 1 }], "the sync comes after the write");
        assert_eq!(step(0, 15, 16, false), [], "it began while the sync was under way");
        assert_eq!(step(0, 21, 22, false), [FeedGate { worker: 6, operations: 2 }], "it began after the sync");
        assert_eq!(step(0, 23, 24, false), [], "told once");
    }
}
