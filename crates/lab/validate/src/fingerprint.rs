//! The characteristics of a load, in the same terms for a program and for a job.

use std::collections::BTreeMap;

use iolab_histogram::SparseHistogram;
use iolab_order::Arrange;
use iolab_synthesize::ProgramModel;

/// The fingerprint of a trace.
#[derive(Debug, Clone, Default)]
pub struct Fingerprint {
    /// Reads, writes and syncs a second.
    pub operations_per_s: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Commits per second: syncs of the section with the most, divided by the syncs per commit.
    pub commits_per_s: Option<f64>,
    /// Share of syncs among all operations.
    pub sync_share: f64,
    /// Sizes of reads and of writes, bytes, and how many of each.
    pub sizes: [BTreeMap<u64, u64>; 2],
    /// Reads, ns.
    pub reads: SparseHistogram,
    /// Writes, ns.
    pub writes: SparseHistogram,
    /// Syncs, ns.
    pub syncs: SparseHistogram,
}

impl Fingerprint {
    /// The fingerprint of a model's data.
    pub fn of(model: &ProgramModel, commits_per_sync: f64) -> Fingerprint {
        let seconds = model.stretch.length_ns().max(1) as f64 / 1e9;
        let mut print = Fingerprint::default();
        let (mut transfers, mut syncs, mut bytes) = (0, 0, 0);
        for section in &model.sections {
            let seen = &section.seen;
            transfers += seen.all_transfers();
            syncs += seen.all_syncs();
            bytes += seen.bytes();
            print.syncs.merge(&seen.sync_durations.to_sparse());
            let latencies = [&mut print.reads, &mut print.writes];
            for ((sum, sizes), of) in latencies.into_iter().zip(&mut print.sizes).zip(&seen.transfers) {
                sum.merge(&of.durations.to_sparse());
                of.sizes.iter().for_each(|(size, count)| *sizes.entry(*size).or_default() += count);
            }
        }
        print.operations_per_s = (transfers + syncs) as f64 / seconds;
        print.bytes_per_s = bytes as f64 / seconds;
        print.sync_share = syncs as f64 / (transfers + syncs).max(1) as f64;
        print.commits_per_s = model.leader().map(|leader| leader.syncs_per_s * commits_per_sync);
        print
    }
}

/// The largest difference between two distributions of sizes (the distance of Kolmogorov and
/// Smirnov); `None` where one of them is empty.
pub fn kolmogorov_smirnov(one: &BTreeMap<u64, u64>, other: &BTreeMap<u64, u64>) -> Option<f64> {
    let sums = [one, other].map(|sizes| sizes.values().sum::<u64>() as f64);
    if sums.contains(&0.0) {
        return None;
    }
    let mut all: Vec<u64> = one.keys().chain(other.keys()).copied().collect();
    all.arrange();
    all.dedup();
    let (mut below, mut distance) = ([0.0; 2], 0.0_f64);
    for size in all {
        for (sum, sizes) in below.iter_mut().zip([one, other]) {
            *sum += sizes.get(&size).copied().unwrap_or(0) as f64;
        }
        distance = distance.max((below[0] / sums[0] - below[1] / sums[1]).abs());
    }
    Some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let sizes = |list: &[(u64, u64)]| -> BTreeMap<u64, u64> { list.iter().copied().collect() };
        let distance = |one: &[(u64, u64)], other: &[(u64, u64)]| kolmogorov_smirnov(&sizes(one), &sizes(other));
        assert_eq!(distance(&[(8192, 5)], &[(8192, 50)]), Some(0.0));
        assert_eq!(distance(&[(8192, 5)], &[(4096, 50)]), Some(1.0));
        assert_eq!(distance(&[(8192, 3), (16384, 1)], &[(8192, 1), (16384, 1)]), Some(0.25));
        assert_eq!(distance(&[], &[(8192, 1)]), None);
    }
}
