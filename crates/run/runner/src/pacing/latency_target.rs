//! `latency_target`: the largest queue depth whose latencies stay below a limit.
//!
//! ```text
//!  depth 1, 2, 4, … until one fails (or the whole queue is used), then the middle between the
//!  largest that was good and the smallest that was not, until they are neighbours
//! ```
//!
//! Each depth is tried for a window. A window is bad as soon as more of its operations were slow
//! than the percentile allows for the whole window.

use iolab_plan::LatencyTargetPlan;

use crate::telling::{Teller, ToldKind};

/// The search of one worker.
#[derive(Debug)]
pub(crate) struct LatencyTarget<'a> {
    plan: LatencyTargetPlan,
    most: usize,
    depth: usize,
    /// The largest depth that was good, and the smallest that was not.
    good: usize,
    bad: Option<usize>,
    in_flight: usize,
    operations: u64,
    slow: u64,
    window_begun_ns: Option<u64>,
    is_settled: bool,
    teller: Option<Teller<'a>>,
}

impl<'a> LatencyTarget<'a> {
    /// A search for a queue of `most` operations.
    pub(crate) fn new(plan: LatencyTargetPlan, most: usize) -> LatencyTarget<'a> {
        LatencyTarget {
            plan,
            most: most.max(1),
            depth: 1,
            good: 0,
            bad: None,
            in_flight: 0,
            operations: 0,
            slow: 0,
            window_begun_ns: None,
            is_settled: false,
            teller: None,
        }
    }

    /// Tells of each window.
    pub(crate) fn telling(self, teller: Option<Teller<'a>>) -> LatencyTarget<'a> {
        LatencyTarget { teller, ..self }
    }

    /// Whether one more operation may be sent now.
    pub(crate) fn has_room(&self) -> bool {
        self.in_flight < self.depth
    }

    /// Whether the job is over.
    pub(crate) fn is_over(&self) -> bool {
        self.is_settled && !self.plan.goes_on
    }

    /// The depth that is used now.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn sent(&mut self) {
        self.in_flight += 1;
    }

    pub(crate) fn completed(&mut self, latency_ns: u64, now_ns: u64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let begun_ns = *self.window_begun_ns.get_or_insert(now_ns);
        self.operations += 1;
        self.slow += u64::from(latency_ns > self.plan.target_ns);
        let allowed = (100.0 - self.plan.percentile).max(0.0) / 100.0;
        let is_over = now_ns.saturating_sub(begun_ns) >= self.plan.window_ns;
        if is_over {
            let is_good = self.slow as f64 <= self.operations as f64 * allowed;
            self.judge(is_good, now_ns);
        } else if allowed == 0.0 && self.slow > 0 {
            self.judge(false, now_ns);
        }
    }

    #[cold]
    fn tell(&self, tried: usize, operations: u64, slow: u64) {
        let Some(teller) = &self.teller else { return };
        let share = 100.0 - slow as f64 * 100.0 / operations.max(1) as f64;
        let (target, depth, most) = (self.plan.percentile, self.depth, self.most);
        teller.tell(ToldKind::Rate, &format!("Success rate: {share:.2}% (target {target:.2}%)"));
        let way = if depth < tried { "down" } else { "up" };
        teller.tell(ToldKind::Rate, &format!("Ramped {way}: {tried} {depth} {most}"));
        if self.is_over() {
            teller.tell(ToldKind::Rate, "We are done");
        }
    }

    fn judge(&mut self, is_good: bool, now_ns: u64) {
        let tried = (self.depth, self.operations, self.slow);
        self.decide(is_good, now_ns);
        self.tell(tried.0, tried.1, tried.2);
    }

    fn decide(&mut self, is_good: bool, now_ns: u64) {
        (self.operations, self.slow, self.window_begun_ns) = (0, 0, Some(now_ns));
        if self.is_settled {
            if !is_good && self.depth > 1 {
                // A depth that was good is no longer good: the search begins below it.
                (self.bad, self.good, self.is_settled) = (Some(self.depth), 0, false);
                self.depth /= 2;
            }
            return;
        }
        if is_good {
            self.good = self.depth;
        } else {
            self.bad = Some(self.depth);
        }
        let next = match self.bad {
            None => (self.depth * 2).min(self.most),
            Some(bad) => usize::midpoint(self.good, bad),
        };
        if next <= self.good {
            // If even depth 1 is too slow, it stays at 1.
            self.depth = self.good.max(1);
            self.is_settled = true;
        } else {
            self.depth = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a device whose latency is `each_ns` times the depth. Returns the depth that is
    /// found.
    fn found(each_ns: u64, most: usize, percentile: f64) -> usize {
        let plan = LatencyTargetPlan { target_ns: 10_000, window_ns: 1_000_000, percentile, goes_on: false };
        let (mut target, mut now_ns) = (LatencyTarget::new(plan, most), 0);
        for _ in 0..1_000_000 {
            if target.is_over() {
                return target.depth();
            }
            target.sent();
            now_ns += each_ns;
            target.completed(each_ns * target.depth() as u64, now_ns);
        }
        panic!("the search does not end");
    }

    #[test]
    fn the_largest_depth_below_the_limit_is_found() {
        for percentile in [100.0, 99.0] {
            assert_eq!(found(1_000, 64, percentile), 10);
            assert_eq!(found(3_000, 64, percentile), 3);
            assert_eq!(found(100, 64, percentile), 64, "the whole queue");
            assert_eq!(found(100, 48, percentile), 48);
            assert_eq!(found(20_000, 64, percentile), 1, "never fast enough");
            assert_eq!(found(1_000, 1, percentile), 1);
        }
    }
}
