//! Determines which clusters the new domains own: those with their content, some for their logs,
//! and a fair share of the rest.

use super::super::owners::Owners;
use super::groups::Groups;
use crate::clusters::{ClusterTable, Role};
use crate::space::clusters_for;
use crate::{Error, Layout};

/// Stands for no owner.
const NOBODY: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Shares {
    /// The new map.
    pub(super) owners: Owners,
    /// Clusters that nothing uses before the switch, with the domain whose new log may use them.
    pub(super) for_logs: Owners,
}

/// The new owner of one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Content(u32),
    /// Not in use.
    Free,
    /// In an old log: free after the switch.
    OldLog,
}

impl Shares {
    pub(super) fn plan(
        layout: &Layout,
        domains: u32,
        tables: &[ClusterTable],
        owners: &Owners,
        groups: &Groups,
    ) -> Result<Shares, Error> {
        let uses: Vec<Use> = (1..layout.clusters - 1)
            .map(|cluster| {
                let owner = owners.owner(cluster).and_then(|owner| tables.get(owner as usize));
                match (owner.map(|table| table.role(cluster)), groups.clusters.get(&cluster)) {
                    (_, Some(group)) => Use::Content(groups.goal[*group]),
                    (Some(Role::Log), None) => Use::OldLog,
                    _ => Use::Free,
                }
            })
            .collect();
        let quotas = quotas(layout, domains, &uses, groups)?;
        let mut each = vec![NOBODY; uses.len()];
        let mut for_logs = each.clone();
        // The logs come first: only they need clusters that are free before the switch.
        let mut free = (0..uses.len()).filter(|at| uses[*at] == Use::Free);
        for (quota, domain) in quotas.iter().zip(0..) {
            for _ in 0..quota.log {
                let at = free.next().ok_or(Error::NoSpace)?;
                (each[at], for_logs[at]) = (domain, domain);
            }
        }
        let mut left: Vec<u32> = quotas.iter().map(|quota| quota.rest - quota.log).collect();
        for (at, used) in uses.iter().enumerate().filter(|(at, _)| for_logs[*at] == NOBODY) {
            each[at] = match used {
                Use::Content(domain) => *domain,
                _ => {
                    let next = left.iter().position(|left| *left > 0).unwrap_or(left.len() - 1);
                    left[next] = left[next].saturating_sub(1);
                    next as u32
                }
            };
        }
        Ok(Shares { owners: Owners::of_each(each), for_logs: Owners::of_each(for_logs) })
    }
}

/// A domain's share of the clusters without content.
#[derive(Debug, Clone, Copy)]
struct Quota {
    /// Clusters for its first log.
    log: u32,
    /// All clusters, `log` included.
    rest: u32,
}

/// As equal as the content allows, with at least what each domain needs.
fn quotas(layout: &Layout, domains: u32, uses: &[Use], groups: &Groups) -> Result<Vec<Quota>, Error> {
    let fair = uses.len() as u32 / domains;
    let mut log = vec![0_u64; domains as usize];
    for (inode, group) in &groups.of {
        log[groups.goal[*group] as usize] += groups.cost[inode];
    }
    let share = layout.of_domain(0, fair);
    let mut quotas: Vec<(Quota, u32)> = Vec::new();
    for (cost_bytes, domain) in log.into_iter().zip(0..) {
        let content = uses.iter().filter(|used| **used == Use::Content(domain)).count() as u32;
        // The end of a cluster may stay unused when the next group does not fit.
        let cost_bytes = cost_bytes + u64::from(content) * layout.sum_bytes();
        let least = share.least_clusters() + clusters_for(3, cost_bytes, layout);
        // Two consecutive checkpoints, and the cluster where the log continues.
        let log = clusters_for(2, cost_bytes, layout);
        quotas.push((Quota { log, rest: fair.saturating_sub(content).max(least) }, least));
    }
    let rest = uses.iter().filter(|used| !matches!(used, Use::Content(_))).count() as u32;
    let mut too_much = quotas.iter().map(|(quota, _)| quota.rest).sum::<u32>().saturating_sub(rest);
    // Domains with more than they need give some of it to those whose content exceeds their share.
    for (quota, least) in &mut quotas {
        let given = too_much.min(quota.rest - *least);
        quota.rest -= given;
        too_much -= given;
    }
    if too_much > 0 { Err(Error::NoSpace) } else { Ok(quotas.into_iter().map(|(quota, _)| quota).collect()) }
}
