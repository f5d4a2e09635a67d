//! Counts the clusters of an open file system by use.

use crate::LogFs;
use crate::clusters::Role;

/// Clusters by use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Census {
    /// The first and the last cluster, which are never allocated, and those of other domains.
    pub fixed: u32,
    /// Free.
    pub free: u32,
    /// Holding the metadata log.
    pub log: u32,
    /// Being filled with content.
    pub open: u32,
    /// Filled with content.
    pub full: u32,
    /// Holding nothing live; free once the log that says so is durable.
    pub doomed: u32,
    /// Full clusters by the share of them that is live: up to a tenth, up to two tenths, and so on.
    pub full_by_live: [u32; 10],
}

impl Census {
    /// The counts of several domains added up. For each domain, the clusters of the others are
    /// fixed.
    pub fn sum<'a>(parts: impl IntoIterator<Item = &'a Census>, clusters: u32) -> Census {
        let mut sum = Census::default();
        for part in parts {
            sum.free += part.free;
            sum.log += part.log;
            sum.open += part.open;
            sum.full += part.full;
            sum.doomed += part.doomed;
            sum.full_by_live.iter_mut().zip(part.full_by_live).for_each(|(sum, count)| *sum += count);
        }
        sum.fixed = clusters.saturating_sub(sum.free + sum.log + sum.open + sum.full + sum.doomed);
        sum
    }
}

impl LogFs {
    /// Counts all clusters.
    pub fn census(&self) -> Census {
        let state = self.0.state.borrow();
        let mut census = Census::default();
        for number in 0..self.0.layout.clusters {
            let count = match state.clusters.role(number) {
                Role::Fixed => &mut census.fixed,
                Role::Free => &mut census.free,
                Role::Log => &mut census.log,
                Role::Open => &mut census.open,
                Role::Full => &mut census.full,
                Role::Doomed(_) => &mut census.doomed,
            };
            *count += 1;
        }
        let cluster_bytes = u64::from(self.0.layout.cluster_bytes);
        for cluster in state.clusters.uses(0..u32::MAX, state.log.last_ticket) {
            let tenth = (cluster.live_bytes * 10).div_ceil(cluster_bytes).clamp(1, 10);
            census.full_by_live[tenth as usize - 1] += 1;
        }
        census
    }
}
