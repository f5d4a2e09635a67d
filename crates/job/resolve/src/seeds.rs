//! Seeds: derives one independent number per purpose from the job's seed, the worker's number and
//! its rank.
//!
//! As in fio, `randseed` is the base, `randrepeat=0` without `randseed` takes entropy instead,
//! and each worker's stream is derived from the base and its number in the run.

use iolab_random::mix;

use crate::job::Job;

/// What a derived seed is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    Stream = 1,
    Buffers = 2,
    Pacing = 3,
    FileSizes = 4,
    StartDelay = 5,
    Verify = 6,
}

/// The seed of one purpose of this worker.
pub(crate) fn derive(job: &Job<'_>, purpose: Purpose) -> u64 {
    let base = base(job);
    let rank = u64::from(job.request.overrides.rank_among_others().unwrap_or(0));
    mix(mix(mix(base) ^ u64::from(job.number) ^ (rank << 32)) ^ purpose as u64)
}

/// The seed of one purpose that all workers with the same `randseed` share, on all ranks.
pub(crate) fn derive_for_all(job: &Job<'_>, purpose: Purpose) -> u64 {
    mix(mix(base(job)) ^ purpose as u64)
}

/// A number within `low..=high` that depends only on the seed and `index`.
pub(crate) fn between(seed: u64, index: u64, low: u64, high: u64) -> u64 {
    let span = u128::from(high - low) + 1;
    low + (u128::from(mix(seed ^ mix(index))) % span) as u64
}

fn base(job: &Job<'_>) -> u64 {
    let repeat = job.on("randrepeat");
    let seed = job.integer("randseed") as u64;
    if repeat || job.has("randseed") { seed } else { job.request.overrides.entropy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_stays_within_and_varies() {
        let drawn: Vec<u64> = (0..100).map(|index| between(7, index, 10, 20)).collect();
        assert!(drawn.iter().all(|value| (10..=20).contains(value)));
        assert!(drawn.contains(&10) && drawn.contains(&20));
        assert_eq!(between(7, 3, 5, 5), 5);
        assert!(between(1, 1, 0, u64::MAX) > 0);
    }
}
