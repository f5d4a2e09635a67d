//! The cost of each cleaning policy: a simulated disk of clusters is overwritten block by block,
//! and the blocks that cleaning has to move are counted. `docs/logfs/cleaning.md` shows the figures
//! that this prints:
//! `IOLAB_LOGFS_TEST_SCALE=2 cargo test -p iolab-logfs --test volume policies:: -- --nocapture`.

#![allow(clippy::print_stdout, reason = "figures for the reader")]

use iolab_logfs::{Budget, ClusterUse, Policy};

use crate::rig::{Random, scale};

const CLUSTERS: u32 = 200;
const BLOCKS: u64 = 64;
/// Cleaning keeps up this number of free clusters.
const LOW: usize = 6;

/// The place of each block of content, and what is live in each cluster.
struct Disk {
    places: Vec<(u32, u64)>,
    live: Vec<u64>,
    touched: Vec<u64>,
    slots: Vec<Vec<Option<usize>>>,
    free: Vec<u32>,
    /// Open clusters for writes and for moved content.
    heads: [(u32, u64); 2],
    now: u64,
    moved: u64,
}

impl Disk {
    fn new(content: usize) -> Disk {
        let mut free: Vec<u32> = (0..CLUSTERS).rev().collect();
        let heads = [(free.pop().unwrap(), 0), (free.pop().unwrap(), 0)];
        let slots = vec![vec![None; BLOCKS as usize]; CLUSTERS as usize];
        let (live, touched) = (vec![0; CLUSTERS as usize], vec![0; CLUSTERS as usize]);
        let mut disk =
            Disk { places: vec![(u32::MAX, 0); content], live, touched, slots, free, heads, now: 0, moved: 0 };
        (0..content).for_each(|block| disk.put(block, 0));
        disk
    }

    fn put(&mut self, block: usize, head: usize) {
        let (old, at) = self.places[block];
        if old != u32::MAX {
            self.slots[old as usize][at as usize] = None;
            self.live[old as usize] -= 1;
            self.touched[old as usize] = self.now;
            let is_open = self.heads.iter().any(|(cluster, _)| *cluster == old);
            if self.live[old as usize] == 0 && !is_open {
                self.free.push(old);
            }
        }
        if self.heads[head].1 == BLOCKS {
            self.heads[head] = (self.free.pop().expect("cleaning keeps clusters free"), 0);
        }
        let (cluster, at) = self.heads[head];
        self.heads[head].1 += 1;
        self.slots[cluster as usize][at as usize] = Some(block);
        self.live[cluster as usize] += 1;
        self.touched[cluster as usize] = self.now;
        self.places[block] = (cluster, at);
    }

    fn write(&mut self, block: usize, policy: Policy, move_clusters: u64) {
        self.now += 1;
        let mut fruitless = 0;
        while self.free.len() < LOW && fruitless < 2 {
            let urgent = fruitless > 0 || self.free.len() < 3;
            fruitless = if self.clean(policy, move_clusters, urgent) { 0 } else { fruitless + 1 };
        }
        self.put(block, 0);
    }

    fn clean(&mut self, policy: Policy, move_clusters: u64, urgent: bool) -> bool {
        let is_free = |cluster: &u32| self.free.contains(cluster) || self.heads.iter().any(|head| head.0 == *cluster);
        let uses = (0..CLUSTERS).filter(|cluster| !is_free(cluster)).map(|cluster| ClusterUse {
            cluster,
            live_bytes: self.live[cluster as usize],
            age: self.now - self.touched[cluster as usize],
        });
        let most = move_clusters.min(self.free.len() as u64 - 1) * BLOCKS;
        let k = policy.k(self.free.len() as f64 / f64::from(CLUSTERS)).filter(|_| !urgent).unwrap_or(1.0);
        let limit_bytes = (k * BLOCKS as f64).ceil() as u64;
        let budget = Budget { cluster_bytes: BLOCKS, move_bytes: most, limit_bytes, urgent };
        let victims = policy.choose(uses.collect(), &budget);
        for victim in &victims {
            let blocks: Vec<usize> = self.slots[victim.cluster as usize].iter().flatten().copied().collect();
            self.moved += blocks.len() as u64;
            blocks.into_iter().for_each(|block| self.put(block, 1));
        }
        !victims.is_empty()
    }
}

/// Blocks written to the disk for each one that a user wrote: the fraction `hot` of the content
/// gets 1 - `hot` of the writes.
fn amplification(policy: Policy, move_clusters: u64, full: f64, hot: f64) -> f64 {
    let content = (f64::from(CLUSTERS) * BLOCKS as f64 * full) as usize;
    let mut disk = Disk::new(content);
    let mut random = Random(7);
    let hot_blocks = (content as f64 * hot) as u64;
    let mut block = || {
        let is_hot = random.below(1_000) as f64 >= hot * 1_000.0;
        (if is_hot { random.below(hot_blocks) } else { hot_blocks + random.below(content as u64 - hot_blocks) })
            as usize
    };
    let writes = if scale() > 1 { 4 } else { 1 } * content;
    (0..writes).for_each(|_| disk.write(block(), policy, move_clusters));
    disk.moved = 0;
    (0..writes).for_each(|_| disk.write(block(), policy, move_clusters));
    1.0 + disk.moved as f64 / writes as f64
}

#[test]
fn policies_cost_what_they_are_said_to_cost() {
    let policies = [
        ("fixed k = 0.6", Policy::Threshold { k: 0.6 }),
        ("fixed k = 0.8", Policy::Threshold { k: 0.8 }),
        ("fixed k = 0.95", Policy::Threshold { k: 0.95 }),
        ("dynamic k <= 0.95", Policy::Dynamic { cap: 0.95 }),
        ("greedy", Policy::Greedy),
        ("cost-benefit", Policy::CostBenefit),
    ];
    println!("| policy, M | 60 % even | 80 % even | 80 % 10/90 | 90 % 10/90 |");
    let mut hot = Vec::new();
    for (name, policy) in policies {
        for move_clusters in [1, 4] {
            let loads = [(0.6, 0.5), (0.8, 0.5), (0.8, 0.1), (0.9, 0.1)];
            let costs = loads.map(|(full, share)| amplification(policy, move_clusters, full, share));
            let [a, b, c, d] = costs;
            println!("| {name}, {move_clusters} | {a:.2} | {b:.2} | {c:.2} | {d:.2} |");
            assert!(costs.iter().all(|cost| (1.0..30.0).contains(cost)), "{name}: {costs:?}");
            assert!(a < b, "{name}: a fuller disk costs more");
            hot.push((name, move_clusters, c));
        }
    }
    let of = |wanted: &str| hot.iter().find(|(name, clusters, _)| *name == wanted && *clusters == 1).map(|hot| hot.2);
    // Old clusters first: content that will soon be overwritten is not moved.
    assert!(of("cost-benefit") < of("fixed k = 0.95"), "{hot:?}");
}
