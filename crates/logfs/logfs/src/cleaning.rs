//! Which clusters to clean: policies, as functions of what is live and how old it is.

use crate::clusters::ClusterUse;

/// How clusters are chosen for cleaning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Policy {
    /// Those with live / size below `k`, least live first.
    Greedy {
        /// From 0 to 1.
        k: f64,
    },
    /// The same with a `k` that grows as free clusters become few: `most` when none is free, 0 when
    /// all are.
    Dynamic {
        /// From 0 to 1.
        most: f64,
    },
    /// By (1 - u) · age / (1 + u), highest first, u being live / size (Rosenblum and Ousterhout,
    /// "The design and implementation of a log-structured file system", 3.6). Old clusters are
    /// cleaned at a higher share of live content than young ones, whose content will die by itself.
    CostBenefit,
}

/// What a pass has to work with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Bytes of a cluster.
    pub cluster_bytes: u64,
    /// Most live bytes that may be held in memory at once, and that there is room for.
    pub move_bytes: u64,
    /// Free clusters / all clusters.
    pub free_share: f64,
    /// Whether somebody waits for space: then everything with something to gain is a candidate.
    pub urgent: bool,
}

impl Policy {
    /// Clusters to clean in one pass, best first: what is live in them fits the budget.
    pub fn choose(&self, mut clusters: Vec<ClusterUse>, budget: &Budget) -> Vec<ClusterUse> {
        let share = |candidate: &ClusterUse| candidate.live_bytes as f64 / budget.cluster_bytes as f64;
        let limit = match *self {
            _ if budget.urgent => 1.0,
            Policy::Greedy { k } => k,
            Policy::Dynamic { most } => most * (1.0 - budget.free_share),
            Policy::CostBenefit => 1.0,
        };
        clusters.retain(|candidate| share(candidate) < limit);
        match self {
            Policy::CostBenefit if !budget.urgent => {
                let worth = |candidate: &ClusterUse| {
                    let u = share(candidate);
                    (1.0 - u) * candidate.age as f64 / (1.0 + u)
                };
                clusters.sort_by(|a, b| worth(b).total_cmp(&worth(a)).then(a.cluster.cmp(&b.cluster)));
            }
            _ => clusters.sort_by_key(|candidate| (candidate.live_bytes, candidate.cluster)),
        }
        let mut held = 0;
        clusters.retain(|candidate| {
            let fits = held + candidate.live_bytes <= budget.move_bytes;
            held += if fits { candidate.live_bytes } else { 0 };
            fits
        });
        clusters
    }
}

/// The cost of reading on a device: a part for each request, and a part for its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadingCost {
    /// A request, however short, ns.
    pub request_ns: u64,
    /// Each KiB, ns.
    pub kib_ns: u64,
}

impl Default for ReadingCost {
    /// As measured with direct reads of ranges of 16 KiB, all of a cluster's at once, and of whole
    /// clusters of 1 MiB, of a loop device over a virtual disk on flash.
    fn default() -> ReadingCost {
        ReadingCost { request_ns: 13_000, kib_ns: 1_100 }
    }
}

impl ReadingCost {
    /// As many bytes cost as much as one more request.
    pub fn request_bytes(&self) -> u32 {
        u32::try_from(self.request_ns.saturating_mul(1024) / self.kib_ns.max(1)).unwrap_or(u32::MAX)
    }

    /// What reading these ranges takes, one after the other, ns.
    pub fn of(&self, plan: &[(u32, u32)]) -> u64 {
        let bytes: u64 = plan.iter().map(|(from, to)| u64::from(to - from)).sum();
        (plan.len() as u64).saturating_mul(self.request_ns).saturating_add(bytes.saturating_mul(self.kib_ns) / 1024)
    }
}

/// Ranges to read so that all `wanted` ranges (in order, of one cluster) are covered: neighbours
/// are read together with what lies between them when that costs less than one more request, which
/// is taken to cost as much as `request_bytes` do.
pub fn reading_plan(wanted: &[(u32, u32)], block_bytes: u32, request_bytes: u32) -> Vec<(u32, u32)> {
    let mut plan: Vec<(u32, u32)> = Vec::new();
    for &(from, to) in wanted {
        let (from, to) = (from - from % block_bytes, to.next_multiple_of(block_bytes));
        match plan.last_mut() {
            Some((_, end)) if from <= end.saturating_add(request_bytes) => *end = to.max(*end),
            _ => plan.push((from, to)),
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(policy: Policy, urgent: bool, uses: &[(u64, u64)]) -> Vec<u32> {
        let budget = Budget { cluster_bytes: 100, move_bytes: 150, free_share: 0.5, urgent };
        let clusters =
            uses.iter().zip(0..).map(|(&(live_bytes, age), cluster)| ClusterUse { cluster, live_bytes, age });
        policy.choose(clusters.collect(), &budget).iter().map(|candidate| candidate.cluster).collect()
    }

    #[test]
    fn policies_choose_by_their_formula() {
        let uses = [(90, 9), (10, 1), (60, 100), (100, 1000), (70, 1)];
        for (policy, urgent, expected) in [
            (Policy::Greedy { k: 0.65 }, false, vec![1, 2]),
            (Policy::Greedy { k: 0.05 }, false, vec![]),
            (Policy::Greedy { k: 0.05 }, true, vec![1, 2, 4]),
            // k = 0.8 * 0.5
            (Policy::Dynamic { most: 0.8 }, false, vec![1]),
            // Worth: 0.47, 0.82, 25, nothing, 0.18; what does not fit is passed over.
            (Policy::CostBenefit, false, vec![2, 1, 4]),
        ] {
            assert_eq!(chosen(policy, urgent, &uses), expected, "{policy:?} {urgent}");
        }
    }

    #[test]
    fn no_other_way_to_read_a_cluster_costs_less() {
        const CLUSTER: u32 = 64 << 10;
        let mut seed = 3_u64;
        let mut random = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) % limit) as u32
        };
        let (mut whole, mut alone, mut between) = (0, 0, 0);
        for round in 0..600 {
            let request_ns = u64::from(random([400, 8_000, 20_000][round % 3]));
            let cost = ReadingCost { request_ns, kib_ns: 850 };
            let (mut wanted, mut at) = (Vec::new(), random(8_000));
            while at < CLUSTER - 2_000 {
                let length = random(2_000) + 1;
                wanted.push((at, at + length));
                at += length + random(9_000);
            }
            let plan = reading_plan(&wanted, 512, cost.request_bytes());
            assert!(wanted.iter().all(|(from, to)| plan.iter().any(|(start, end)| start <= from && to <= end)));
            let each = reading_plan(&wanted, 512, 0);
            assert!(cost.of(&plan) <= cost.of(&[(0, CLUSTER)]) && cost.of(&plan) <= cost.of(&each));
            match plan.len() {
                1 => whole += 1,
                count if count == each.len() => alone += 1,
                _ => between += 1,
            }
        }
        assert!(whole > 20 && alone > 20 && between > 20, "{whole}, {alone}, {between}");
    }

    #[test]
    fn near_ranges_are_read_together() {
        for (wanted, expected) in [
            (vec![], vec![]),
            (vec![(10, 20)], vec![(0, 512)]),
            (vec![(0, 600), (1500, 1600)], vec![(0, 2048)]),
            (vec![(0, 600), (4096, 5000)], vec![(0, 1024), (4096, 5120)]),
        ] {
            assert_eq!(reading_plan(&wanted, 512, 1024), expected, "{wanted:?}");
        }
    }
}
