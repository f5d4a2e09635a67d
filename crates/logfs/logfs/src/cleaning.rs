//! Policies that choose which clusters to clean, as functions of how much of a cluster is live and
//! how old it is.

use std::fmt;
use std::str::FromStr;

use iolab_order::Arrange;

/// What a cleaning policy knows of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterUse {
    /// Number of the cluster.
    pub cluster: u32,
    /// Bytes of it that belong to files.
    pub live_bytes: u64,
    /// Changes to the file system since this cluster last changed.
    pub age: u64,
}

/// How clusters are chosen for cleaning, and when cleaning starts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Policy {
    /// Candidates are the clusters with live / size below `k`, as in section 2.5.1 of the thesis on
    /// SeastarFS. With X candidates, cleaning starts when (X + 1) · k ≥ M, where M is the memory
    /// for cleaning in clusters, however much space is left; it cleans all candidates. With k = 0,
    /// only clusters with nothing live become free.
    Threshold {
        /// From 0 to 1.
        k: f64,
    },
    /// As `Threshold` with k = min(free clusters / all clusters, `cap`), in 256 steps of `cap`: the
    /// fewer clusters are free, the less is moved for each.
    Dynamic {
        /// From 0 to 1.
        cap: f64,
    },
    /// By (1 - u) · age / (1 + u), highest first, where u is live / size (Rosenblum and Ousterhout,
    /// "The design and implementation of a log-structured file system", 3.6). Old clusters are
    /// cleaned at a higher share of live content than young ones, whose content is likely to be
    /// overwritten soon. Cleaning starts when less than a sixteenth of the clusters can be filled.
    #[default]
    CostBenefit,
    /// The clusters with the least live content first. Cleaning starts as with cost-benefit.
    Greedy,
}

/// The limits of a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Bytes of a cluster.
    pub cluster_bytes: u64,
    /// Most live bytes that may be held in memory at once and for which there is free space.
    pub move_bytes: u64,
    /// Clusters with fewer live bytes are candidates.
    pub limit_bytes: u64,
    /// Whether space has run out; then the clusters with the least live content come first.
    pub urgent: bool,
}

impl Policy {
    /// The highest possible `k`; `None` for a policy that cleans when space becomes short.
    pub fn highest_k(&self) -> Option<f64> {
        match *self {
            Policy::Threshold { k } => Some(k),
            Policy::Dynamic { cap } => Some(cap),
            Policy::CostBenefit | Policy::Greedy => None,
        }
    }

    /// The `k` for this share of free clusters.
    pub fn k(&self, free_share: f64) -> Option<f64> {
        match *self {
            Policy::Dynamic { cap } => Some(free_share.min(cap)),
            _ => self.highest_k(),
        }
    }

    /// Whether this policy moves content at all.
    pub(crate) fn moves(&self) -> bool {
        self.highest_k().is_none_or(|k| k > 0.0)
    }

    /// Clusters to clean in one pass, best first; their live content fits the budget.
    pub fn choose(&self, mut clusters: Vec<ClusterUse>, budget: &Budget) -> Vec<ClusterUse> {
        clusters.retain(|candidate| candidate.live_bytes < budget.limit_bytes);
        match self {
            Policy::CostBenefit if !budget.urgent => {
                let worth = |candidate: &ClusterUse| {
                    let u = candidate.live_bytes as f64 / budget.cluster_bytes as f64;
                    (1.0 - u) * candidate.age as f64 / (1.0 + u)
                };
                clusters.arrange_by(|a, b| worth(b).total_cmp(&worth(a)).then(a.cluster.cmp(&b.cluster)));
            }
            _ => clusters.arrange_by_key(|candidate| (candidate.live_bytes, candidate.cluster)),
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

impl fmt::Display for Policy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Threshold { k } => write!(out, "threshold:{k}"),
            Policy::Dynamic { cap } => write!(out, "dynamic:{cap}"),
            Policy::CostBenefit => out.write_str("cost-benefit"),
            Policy::Greedy => out.write_str("greedy"),
        }
    }
}

/// A text that does not name a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownPolicy {
    /// The value of `k` or `cap`.
    #[error("`{0}` is not a number from 0 to 1")]
    Share(String),
    /// The name of the policy.
    #[error("expected threshold:K, dynamic:CAP, cost-benefit or greedy (threshold:0.3), got `{0}`")]
    Name(String),
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Policy, UnknownPolicy> {
        let share = |number: &str| {
            let share = number.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
            share.ok_or_else(|| UnknownPolicy::Share(number.to_owned()))
        };
        match (text, text.split_once(':')) {
            ("cost-benefit", _) => Ok(Policy::CostBenefit),
            ("greedy", _) => Ok(Policy::Greedy),
            (_, Some(("threshold", k))) => Ok(Policy::Threshold { k: share(k)? }),
            (_, Some(("dynamic", cap))) => Ok(Policy::Dynamic { cap: share(cap)? }),
            _ => Err(UnknownPolicy::Name(text.to_owned())),
        }
    }
}

/// Whether cleaning by threshold starts, given the number of candidates and how many clusters of
/// live content fit in memory.
pub fn threshold_reached(candidates: u32, k: f64, memory_clusters: f64) -> bool {
    candidates > 0 && (f64::from(candidates) + 1.0) * k >= memory_clusters
}

/// The cost of reading from a device: a part for each request, and a part for its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadingCost {
    /// Cost of a request of any length, ns.
    pub request_ns: u64,
    /// Cost of each KiB, ns.
    pub kib_ns: u64,
}

impl Default for ReadingCost {
    /// Measured on a loop device over a virtual disk on flash, with direct reads: ranges of 16 KiB,
    /// all of a cluster's at once, and whole clusters of 1 MiB.
    fn default() -> ReadingCost {
        ReadingCost { request_ns: 13_000, kib_ns: 1_100 }
    }
}

impl ReadingCost {
    /// The cost model in which a request costs as much as this number of bytes.
    pub fn of_bytes(request_bytes: u64) -> ReadingCost {
        ReadingCost { request_ns: request_bytes, kib_ns: 1024 }
    }

    /// The number of bytes that cost as much as one more request.
    pub fn request_bytes(&self) -> u32 {
        u32::try_from(self.request_ns.saturating_mul(1024) / self.kib_ns.max(1)).unwrap_or(u32::MAX)
    }

    /// The time to read these ranges one after the other, ns.
    pub fn of(&self, plan: &[(u32, u32)]) -> u64 {
        let bytes: u64 = plan.iter().map(|(from, to)| u64::from(to - from)).sum();
        (plan.len() as u64).saturating_mul(self.request_ns).saturating_add(bytes.saturating_mul(self.kib_ns) / 1024)
    }
}

/// How an image is cleaned if the caller that opens it does not say; stored in the bootstrap
/// record.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CleaningDefaults {
    /// How clusters are chosen; cost-benefit by default.
    pub policy: Option<Policy>,
    /// Most bytes of live content that one pass holds in memory; 8 MiB by default.
    pub memory_bytes: Option<u64>,
    /// The cost of reading from the device.
    pub reading: Option<ReadingCost>,
}

/// Returns ranges to read that cover all `wanted` ranges (sorted, of one cluster). Neighbours are
/// merged, with the gap between them, when the gap costs less than one more request, which costs as
/// much as `request_bytes`.
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
        let limit = policy.k(0.5).filter(|_| !urgent).unwrap_or(1.0) * 100.0;
        let budget = Budget { cluster_bytes: 100, move_bytes: 150, limit_bytes: limit as u64, urgent };
        let clusters =
            uses.iter().zip(0..).map(|(&(live_bytes, age), cluster)| ClusterUse { cluster, live_bytes, age });
        policy.choose(clusters.collect(), &budget).iter().map(|candidate| candidate.cluster).collect()
    }

    #[test]
    fn policies_choose_by_their_formula() {
        let uses = [(90, 9), (10, 1), (60, 100), (100, 1000), (70, 1)];
        for (policy, urgent, expected) in [
            (Policy::Threshold { k: 0.65 }, false, vec![1, 2]),
            (Policy::Threshold { k: 0.05 }, false, vec![]),
            (Policy::Threshold { k: 0.05 }, true, vec![1, 2, 4]),
            // k = min(0.5, 0.8), and k limited by the cap.
            (Policy::Dynamic { cap: 0.8 }, false, vec![1]),
            (Policy::Dynamic { cap: 0.1 }, false, vec![]),
            (Policy::Greedy, false, vec![1, 2, 4]),
            // Values: 0.47, 0.82, 25, none, 0.18; a cluster that does not fit is skipped.
            (Policy::CostBenefit, false, vec![2, 1, 4]),
        ] {
            assert_eq!(chosen(policy, urgent, &uses), expected, "{policy:?} {urgent}");
        }
    }

    #[test]
    fn policies_read_as_they_are_written() {
        for text in ["threshold:0.3", "threshold:0", "dynamic:1", "dynamic:0.25", "cost-benefit", "greedy"] {
            assert_eq!(text.parse::<Policy>().map(|policy| policy.to_string()).as_deref(), Ok(text));
        }
        for text in ["threshold:1.1", "dynamic:-1", "threshold:k"] {
            assert!(matches!(text.parse::<Policy>(), Err(UnknownPolicy::Share(_))), "{text}");
        }
        for text in ["", "greedy:0.5", "oldest", "threshold"] {
            assert!(matches!(text.parse::<Policy>(), Err(UnknownPolicy::Name(_))), "{text}");
        }
    }

    #[test]
    fn cleaning_by_threshold_starts_when_one_more_candidate_might_not_fit_memory() {
        // k = 0.3 and room for 256 clusters: the figures of the thesis.
        assert!(!threshold_reached(852, 0.3, 256.0) && threshold_reached(853, 0.3, 256.0));
        // Nothing to clean; k = 0; room for less than a cluster.
        assert!(!threshold_reached(0, 1.0, 0.5) && !threshold_reached(9, 0.0, 1.0) && threshold_reached(1, 0.3, 0.5));
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
