//! Figures that must agree with each other, whatever was measured.

use iolab_plan::BlockSizes;
use iolab_recording::Severity;
use iolab_text::counted;

use super::{RuleMatch, of_jobs};
use crate::facts::{Facts, Member};
use crate::wording::bytes;

/// Allows for rounding of times and counters.
const TOLERANCE: f64 = 1.05;

/// Rate times latency cannot exceed the queue depth (Little, "A proof for the queuing formula L =
/// λW", 1961).
pub(crate) fn littles_law(facts: &Facts<'_>) -> Vec<RuleMatch> {
    of_jobs(facts, Severity::Invalid, |job| {
        let worst = job.members.iter().find(|member| breaks_littles_law(member))?;
        let depth = worst.mean_depth().unwrap_or(0.0);
        Some(format!(
            "IOPS times mean latency means {depth:.1} operations in flight, but the queue holds at most {}",
            worst.plan.queue.depth
        ))
    })
}

fn breaks_littles_law(member: &Member<'_>) -> bool {
    let Some(sum_ns) = member.lat_sum_ns() else { return false };
    let longest_ns = member.worker.directions.iter().map(|direction| direction.lat.max).max().unwrap_or(0);
    let depth = f64::from(member.plan.queue.depth);
    // Operations in flight when the measured part began include time from before it.
    sum_ns > depth * (TOLERANCE * member.worker.runtime_ns as f64 + longest_ns as f64)
}

/// Bytes must be operations times size.
pub(crate) fn bandwidth(facts: &Facts<'_>) -> Vec<RuleMatch> {
    of_jobs(facts, Severity::Invalid, |job| job.members.iter().find_map(odd_bytes))
}

fn odd_bytes(member: &Member<'_>) -> Option<String> {
    let sizes = &member.plan.workload.block_sizes;
    member.worker.directions.iter().zip(sizes).find_map(|(direction, own)| {
        let several = member.plan.workload.sizes_by_randomness;
        let extreme = |of: fn(&BlockSizes) -> u64, pick: fn(u64, u64) -> u64| {
            sizes.iter().filter(|_| several).map(of).fold(of(own), pick) as f64
        };
        let (least, most) = (extreme(BlockSizes::min, u64::min), extreme(BlockSizes::max, u64::max));
        let (ios, moved) = (direction.ios as f64, direction.bytes as f64);
        // A file's end may leave less than a block, and an operation may have been abandoned half
        // done.
        let parts = (direction.short_ios + direction.dropped_ios) as f64;
        let files = member.plan.files.len().max(1) as f64 * member.plan.limits.loops.max(1) as f64;
        let whole = ios - parts - files - 0.01 * ios;
        let odd = direction.bytes > 0 && (moved > ios * most || moved < whole * least);
        odd.then(|| {
            let ios = counted(direction.ios, "operation");
            format!("{ios} of {} to {} moved {}", bytes(least), bytes(most), bytes(moved))
        })
    })
}
