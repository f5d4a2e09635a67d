//! Seeds: from what the job says and the worker's number, one independent number per purpose.
//!
//! As in fio, `randseed` (137 unless told) is the base, `randrepeat=0` without `randseed` takes entropy instead,
//! and each worker's stream is derived from the base and its number in the run.

use crate::job::Job;

/// fio's default `randseed`.
const DEFAULT_SEED: u64 = 0x89;

/// What a derived seed is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    Stream = 1,
    Buffers = 2,
    Pacing = 3,
    FileSizes = 4,
    StartDelay = 5,
}

/// The seed of one purpose of this worker.
pub(crate) fn derive(job: &Job<'_>, purpose: Purpose) -> u64 {
    let base = base(job);
    mix(mix(mix(base) ^ u64::from(job.number)) ^ purpose as u64)
}

/// A number within `low..=high` that depends on the seed and `index` alone.
pub(crate) fn between(seed: u64, index: u64, low: u64, high: u64) -> u64 {
    let span = u128::from(high - low) + 1;
    low + (u128::from(mix(seed ^ mix(index))) % span) as u64
}

fn base(job: &Job<'_>) -> u64 {
    let repeat = job.flag("randrepeat").unwrap_or(true);
    let seed = job.integer("randseed");
    match seed {
        Some(seed) => seed as u64,
        None if repeat => DEFAULT_SEED,
        None => job.request.overrides.entropy,
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014), after one step of its counter.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
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
