//! Determines which top-level names have to stay together: those that share an inode, or whose
//! content shares a cluster.

use std::collections::BTreeMap;

use iolab_order::Arrange;

use crate::Error;
use crate::extents::Place;
use crate::record::InodeId;
use crate::recovery::Loaded;

/// The weight of an inode without its content, bytes: its size in a checkpoint and in memory.
const INODE_BYTES: u64 = 256;

/// Groups of inodes, each with its new domain.
#[derive(Debug)]
pub(super) struct Groups {
    /// The group of every inode except the root.
    pub(super) of: BTreeMap<InodeId, usize>,
    /// The new domain of each group.
    pub(super) goal: Vec<u32>,
    /// The size of each in a checkpoint, bytes, including its top-level name.
    pub(super) cost: BTreeMap<InodeId, u64>,
    /// The group that has content in a cluster.
    pub(super) clusters: BTreeMap<u32, usize>,
}

/// Disjoint sets (union-find).
#[derive(Debug, Default)]
struct Sets(Vec<usize>);

impl Sets {
    fn add(&mut self) -> usize {
        self.0.push(self.0.len());
        self.0.len() - 1
    }

    fn find(&mut self, mut set: usize) -> usize {
        while self.0[set] != set {
            self.0[set] = self.0[self.0[set]];
            set = self.0[set];
        }
        set
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        self.0[one.max(other)] = one.min(other);
    }
}

impl Groups {
    pub(super) fn find(loaded: &[Loaded], domains: u32) -> Result<Groups, Error> {
        let (mut sets, mut of, mut clusters) = (Sets::default(), BTreeMap::new(), BTreeMap::new());
        let mut cost = BTreeMap::new();
        for domain in loaded {
            let tops = domain.tree.get(InodeId::ROOT).and_then(|root| root.names());
            for (name, inode, _) in tops.into_iter().flat_map(|names| names.iter()) {
                *cost.entry(inode).or_default() += 16 + name.len() as u64;
            }
            walk(domain, &mut sets, &mut of)?;
            for (inode, node) in domain.tree.iter() {
                *cost.entry(inode).or_default() += node.cost_bytes();
                for (_, extent) in node.file().into_iter().flat_map(|file| file.iter()) {
                    let (Place::Disk(place), Some(set)) = (&extent.place, of.get(&inode)) else { continue };
                    let last = place + extent.length.max(1) - 1;
                    for cluster in domain.layout.locate(*place).0..=domain.layout.locate(last).0 {
                        let first = *clusters.entry(cluster).or_insert(*set);
                        sets.join(first, *set);
                    }
                }
            }
        }
        of.values_mut().chain(clusters.values_mut()).for_each(|set| *set = sets.find(*set));
        let goal = assign(loaded, &of, &clusters, sets.0.len(), domains);
        Ok(Groups { of, goal, cost, clusters })
    }

    pub(super) fn goal_of(&self, inode: InodeId) -> u32 {
        self.of.get(&inode).map_or(0, |group| self.goal[*group])
    }
}

/// Puts every inode of a domain into the set of the top-level name that leads to it.
fn walk(domain: &Loaded, sets: &mut Sets, of: &mut BTreeMap<InodeId, usize>) -> Result<(), Error> {
    let tree = &domain.tree;
    let names = |inode| tree.get(inode).and_then(|node| node.names()).into_iter().flat_map(|names| names.iter());
    for (_, top, _) in names(InodeId::ROOT) {
        let set = sets.add();
        let mut open = vec![top];
        while let Some(inode) = open.pop() {
            match of.insert(inode, set) {
                Some(before) => sets.join(before, set),
                None => open.extend(names(inode).map(|(_, inode, _)| inode)),
            }
        }
    }
    match tree.iter().find(|(inode, _)| *inode != InodeId::ROOT && !of.contains_key(inode)) {
        Some((inode, _)) => Err(Error::Corrupt(format!("no directory entry refers to inode {}", inode.0))),
        None => Ok(()),
    }
}

/// Heaviest first: a group stays in its domain while that is not fuller than the mean; otherwise it
/// goes to the least full one.
fn assign(
    loaded: &[Loaded],
    of: &BTreeMap<InodeId, usize>,
    clusters: &BTreeMap<u32, usize>,
    sets: usize,
    domains: u32,
) -> Vec<u32> {
    let cluster_bytes = loaded.first().map_or(0, |domain| u64::from(domain.layout.cluster_bytes));
    let (mut weight, mut home) = (vec![0; sets], vec![0; sets]);
    clusters.values().for_each(|set| weight[*set] += cluster_bytes);
    for (inode, set) in of {
        weight[*set] += INODE_BYTES;
        home[*set] = inode.domain();
    }
    let mean = weight.iter().sum::<u64>() / u64::from(domains.max(1));
    let mut order: Vec<usize> = (0..sets).filter(|set| weight[*set] > 0).collect();
    order.arrange_by_key(|set| std::cmp::Reverse(weight[*set]));
    let (mut filled, mut goal) = (vec![0; domains as usize], vec![0; sets]);
    for set in order {
        let emptiest = (0..domains).min_by_key(|domain| filled[*domain as usize]).unwrap_or(0);
        let stays = home[set] < domains && filled[home[set] as usize] + weight[set] <= mean + weight[set] / 2;
        goal[set] = if stays { home[set] } else { emptiest };
        filled[goal[set] as usize] += weight[set];
    }
    goal
}
